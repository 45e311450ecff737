package broken

import (
	"context"
	"errors"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// releaseForce answers an error of its release by DEL, without comparing. It needs a release whose reply is lost, after which another
// client gets the lock.
var releaseForce = clients.Lock{
	Name:  "single-release-force",
	About: "single, which deletes the key whatever it holds if the release got no reply",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &forcedLease{lease}, nil
		})
	},
}

type forcedLease struct{ *parts.Lease }

func (l *forcedLease) Release(ctx context.Context) error {
	err := l.Lease.Release(ctx)
	if err == nil || errors.Is(err, clients.ErrNotHeld) {
		return err
	}
	return l.Env.Nodes[0].Del(ctx, l.Name).Err()
}
