package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// closedByRelease takes a release whose context has been cancelled to mean that the process shuts down, and refuses all later acquires. It
// needs a client that cancels one release, and goes on.
var closedByRelease = clients.Lock{
	Name:  "single-closed-by-release",
	About: "single, which acquires nothing any more after a release with a cancelled context",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		closed := false
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			if closed {
				return nil, fmt.Errorf("%w: it is closed", clients.ErrNotAcquired)
			}
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &closingLease{lease, &closed}, nil
		})
	},
}

type closingLease struct {
	*parts.Lease
	closed *bool // of the Locker
}

func (l *closingLease) Release(ctx context.Context) error {
	if ctx.Err() != nil {
		*l.closed = true
	}
	return l.Lease.Release(ctx)
}
