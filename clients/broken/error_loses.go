package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// errorLoses counts an error that the node replies with to a renewal as a lost key, and does not release a lease that is lost. It needs a
// node that refuses to write for a while, as one does that writes only with a replica: the key stays until it expires, although its client
// has released it.
var errorLoses = clients.Lock{
	Name:  "watchdog-error-loses",
	About: "watchdog that takes an error of the node in reply to a renewal for a lost key, which it does not release",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		watchdog := parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
			renew := l.Renew
			l.Renew = func(ctx context.Context) (bool, error) {
				ours, err := renew(ctx)
				if replied(err) {
					return false, nil
				}
				return ours, err
			}
		})(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := watchdog.Acquire(ctx, name, ttl)
			if err != nil {
				return nil, err
			}
			return &unlessLost{lease.(*parts.Renewed)}, nil
		})
	},
}

type unlessLost struct{ *parts.Renewed }

func (l *unlessLost) Release(ctx context.Context) error {
	select {
	case <-l.Lost():
		return l.Ended(clients.ErrNotHeld)
	default:
		return l.Renewed.Release(ctx)
	}
}
