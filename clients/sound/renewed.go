package sound

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewed renews itself by the script that compares, twice in a TTL instead of three times. It goes on after a renewal without a
// reply, as long as its lease lasts, and whatever the outcome of the release, it ends with that.
var renewed = clients.Lock{
	Name:  "watchdog-renewed",
	About: "watchdog that renews at half the TTL, and tries again after an error",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			l := parts.NewRenewed(ctx, lease, ttl)
			l.Every, l.Persist = ttl/2, true
			return l.Start(), nil
		})
	},
}
