package broken

import (
	"context"
	"sync/atomic"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// releaseWaits waits in a release until its renewals have stopped. If a renewal returns an error, they end without a word, and the release waits
// for ever. It needs an error of a renewal.
var releaseWaits = clients.Lock{
	Name:  "watchdog-release-waits",
	About: "watchdog, whose release waits for ever if a renewal has failed",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			var failed atomic.Bool
			locker := parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
				renew := l.Renew
				l.Renew = func(ctx context.Context) (bool, error) {
					ours, err := renew(ctx)
					if err != nil {
						failed.Store(true)
					}
					return ours, err
				}
			})(env)
			lease, err := locker.Acquire(ctx, name, ttl)
			if err != nil {
				return nil, err
			}
			return &waitsLease{lease.(*parts.Renewed), &failed}, nil
		})
	},
}

type waitsLease struct {
	*parts.Renewed
	failed *atomic.Bool
}

func (l *waitsLease) Release(ctx context.Context) error {
	if l.failed.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return l.Renewed.Release(ctx)
}
