package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendableOnOne makes locks like single-extend, but with an extension of their own. As in single-extend, a lease that is over is not
// extended, and an extension that would end the lease earlier does so as soon as it begins.
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
