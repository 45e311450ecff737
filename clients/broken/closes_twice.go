package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// closesTwice has a channel that tells others in its process of the release, and closes it at each release. It needs a client that releases
// twice, as with an explicit release and a deferred one: the second close panics.
var closesTwice = clients.Lock{
	Name:  "single-closes-twice",
	About: "single, which closes a channel at each release",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &closingLease{lease, make(chan struct{})}, nil
		})
	},
}

type closingLease struct {
	*parts.Lease
	released chan struct{}
}

func (l *closingLease) Release(ctx context.Context) error {
	defer close(l.released)
	return l.Lease.Release(ctx)
}
