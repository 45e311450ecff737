package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// collects keeps the nodes that have granted it the lock from one try to the next, and asks only the others again. It counts the
// TTL from the try that completes a majority, but the first keys were set up to several hundred milliseconds before. It needs a try
// that gets only some of the nodes, and a contender when the first keys expire.
var collects = clients.Lock{
	Name:  "redlock-collects",
	About: "Redlock that adds up the nodes of its tries, and counts the TTL from the last",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease := &parts.RedlockLease{Redlock: r, Name: name, Token: parts.Token(env.Rand)}
			has := make([]bool, len(env.Nodes))
			granted, err := r.Retry(ctx, func() (clients.Lease, error) {
				start := env.Clock.Now()
				errs := r.Ask(ctx, func(ctx context.Context, i int, node *redis.Client) error {
					if has[i] {
						return nil
					}
					return parts.Set(name, lease.Token, ttl)(ctx, i, node)
				})
				for i, err := range errs {
					has[i] = err == nil
				}
				granted, _ := parts.Count(errs)
				until, left := r.Validity(start, ttl)
				if granted < r.Quorum() || !left {
					return nil, r.Few(granted)
				}
				lease.End = until
				return lease, nil
			})
			if err != nil {
				lease.Release(context.WithoutCancel(ctx))
			}
			return granted, err
		})
	},
}
