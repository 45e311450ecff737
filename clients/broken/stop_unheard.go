package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// stopUnheard has a goroutine for each lease, which a release stops by sending to it. It needs a client that releases twice, or
// that acquires again before it releases: nobody receives what the release sends, so it waits for ever.
var stopUnheard = clients.Lock{
	Name:  "single-stop-unheard",
	About: "single, whose release waits until a goroutine has received its stop signal",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			stop := make(chan struct{})
			go func() {
				select {
				case <-stop:
				case <-ctx.Done():
				}
			}()
			return &stoppedLease{lease, stop}, nil
		})
	},
}

type stoppedLease struct {
	*parts.Lease
	stop chan<- struct{}
}

func (l *stoppedLease) Release(ctx context.Context) error {
	select {
	case l.stop <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	return l.Lease.Release(ctx)
}
