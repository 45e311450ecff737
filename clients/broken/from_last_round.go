package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// fromLastRound keeps what it has, and asks the other nodes up to two times more before a try fails. Its lease counts from the last time. It needs
// a node that does not grant the lock at once, and then does.
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
