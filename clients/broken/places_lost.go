package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// placesLost lets a client have four leases at once. A release that fails does not give its place back. It needs four such releases.
var placesLost = clients.Lock{
	Name:  "single-places-lost",
	About: "single, which counts its leases, and goes on counting those whose release failed",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		places := make(chan struct{}, 4)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			select {
			case places <- struct{}{}:
			default:
				return nil, fmt.Errorf("%w: all places are taken", clients.ErrNotAcquired)
			}
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				<-places
				return nil, err
			}
			return &placed{lease, places}, nil
		})
	},
}

type placed struct {
	*parts.Lease
	places chan struct{}
}

func (l *placed) Release(ctx context.Context) error {
	err := l.Lease.Release(ctx)
	if err == nil {
		<-l.places
	}
	return err
}
