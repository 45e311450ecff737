package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// releaseToldOK ignores the reply of its release script: who outlives its TTL is told that it has released the lock, and does not
// learn that somebody else was in meanwhile. It needs a holder that outlives its lease.
var releaseToldOK = clients.Lock{
	Name:  "single-release-told-ok",
	About: "single, whose release succeeds although the lock was lost",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &releaseToldOKLease{lease}, nil
		})
	},
}

type releaseToldOKLease struct{ *parts.Lease }

func (l *releaseToldOKLease) Release(ctx context.Context) error {
	_, err := parts.ReleaseOn(ctx, l.Env.Nodes[0], l.Name, l.Token)
	return err
}
