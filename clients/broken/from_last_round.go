package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// fromLastRound keeps the keys that it has got, and asks the other nodes up to twice more before it gives up. Its lease counts from the last
// request. To be caught, it needs a node that grants the lock only at a later request.
var fromLastRound = clients.Lock{
	Name:  "redlock-from-last-round",
	About: "Redlock that asks again where it did not get the key, and counts its lease from the last request",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Retry(ctx, func() (clients.Lease, error) {
				lease := &parts.RedlockLease{Redlock: r, Name: name, Token: parts.Token(env.Rand)}
				has := make([]bool, len(env.Nodes))
				set := parts.Set(name, lease.Token, ttl)
				for round := range 3 {
					if round > 0 {
						env.Clock.Sleep(100 * time.Millisecond)
					}
					start := env.Clock.Now()
					errs := r.Ask(ctx, func(ctx context.Context, i int, node *redis.Client) error {
						if has[i] {
							return nil
						}
						return set(ctx, i, node)
					})
					for i, err := range errs {
						has[i] = err == nil
					}
					var left bool
					lease.Granted, _ = parts.Count(errs)
					lease.End, left = r.Validity(start, ttl)
					if lease.Granted >= r.Quorum() && left {
						return lease, nil
					}
				}
				lease.Release(context.WithoutCancel(ctx))
				return nil, r.Few(lease.Granted)
			})
		})
	},
}
