package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendableOnOne makes locks with other extensions than single-extend. As there, a lease that is over is not extended, and from the
// beginning of an extension on the lease ends no later than that extension would end it.
func extendableOnOne(extend func(l *parts.Lease) extension) clients.New {
	return func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &extendableOnOneLease{lease, extend(lease)}, nil
		})
	}
}

type extendableOnOneLease struct {
	*parts.Lease
	extend extension
}

func (l *extendableOnOneLease) Extend(ctx context.Context, ttl time.Duration) error {
	start := l.Env.Clock.Now()
	if !start.Before(l.End) {
		return clients.ErrNotHeld
	}
	if until := start.Add(ttl); until.Before(l.End) {
		l.End = until
	}
	return l.extend(ctx, start, ttl)
}
