package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewIgnored compares when it renews, but ignores the result: any reply prolongs its lease, and it never learns that it has lost
// the lock. It needs a pause beyond the TTL, or a node that loses the key.
var renewIgnored = clients.Lock{
	Name:  "watchdog-reply-ignored",
	About: "watchdog that takes every reply for a renewal",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			l := parts.NewRenewed(ctx, lease, ttl)
			l.Renew = func(ctx context.Context) (bool, error) {
				_, err := parts.ExtendOn(ctx, env.Nodes[0], name, lease.Token, ttl)
				return true, err
			}
			return l.Start(), nil
		})
	},
}
