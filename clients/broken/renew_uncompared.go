package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewUncompared renews by PEXPIRE, whose key it takes for its own: who has lost the lock in a pause goes on renewing that of the
// next holder, for itself. It needs a pause beyond the TTL, or a node that loses the key.
var renewUncompared = clients.Lock{
	Name:  "watchdog-uncompared",
	About: "watchdog that renews by PEXPIRE",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			l := parts.NewRenewed(ctx, lease, ttl)
			l.Renew = func(ctx context.Context) (bool, error) { return env.Nodes[0].PExpire(ctx, name, ttl).Result() }
			return l.Start(), nil
		})
	},
}
