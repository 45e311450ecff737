package broken

import (
	"context"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// releaseOnce sends the release of a lease once, and returns its result each time after that. It needs a first release that does not
// arrive: nobody gets the lock until the key expires, however often the holder tries again.
var releaseOnce = clients.Lock{
	Name:  "single-release-once",
	About: "single, which sends each release once, even if that fails",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &releasedOnce{Lease: lease}, nil
		})
	},
}

// releaseOnceOnMany is the same mistake on many nodes. It needs a first release that reaches too few nodes.
var releaseOnceOnMany = clients.Lock{
	Name:  "redlock-release-once",
	About: "redlock, which sends each release once, even if that fails",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, ttl, func(l *parts.RedlockLease) clients.Lease { return &releasedOnce{Lease: l} })
		})
	},
}

type releasedOnce struct {
	clients.Lease
	once sync.Once
	err  error
}

func (l *releasedOnce) Release(ctx context.Context) error {
	l.once.Do(func() { l.err = l.Lease.Release(ctx) })
	return l.err
}
