package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// leastPeriod renews every third of the TTL, but at most every five seconds, to spare the nodes. A shorter lease is over before
// its first renewal. It needs a short TTL, and work that takes longer.
var leastPeriod = clients.Lock{
	Name:  "watchdog-least-period",
	About: "watchdog that renews every 5 s at most, whatever the TTL",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			l := parts.NewRenewed(ctx, lease, ttl)
			l.Every = max(l.Every, 5*time.Second)
			return l.Start(), nil
		})
	},
}
