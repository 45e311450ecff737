package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// An extension extends a lease, and began at a time.
type extension func(ctx context.Context, start time.Time, ttl time.Duration) error

// extendableOnMany makes Redlocks with other extensions than redlock-extend. As there, a lease that is over is not extended, and from the
// beginning of an extension on the lease ends no later than that extension would end it.
func extendableOnMany(extend func(l *parts.RedlockLease) extension) clients.New {
	return func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, ttl, func(l *parts.RedlockLease) clients.Lease { return &extendableOnManyLease{l, extend(l)} })
		})
	}
}

type extendableOnManyLease struct {
	*parts.RedlockLease
	extend extension
}

func (l *extendableOnManyLease) Extend(ctx context.Context, ttl time.Duration) error {
	start := l.Redlock.Env.Clock.Now()
	if !start.Before(l.End) {
		return clients.ErrNotHeld
	}
	if until, _ := l.Redlock.Validity(start, ttl); until.Before(l.End) {
		l.End = until
	}
	return l.extend(ctx, start, ttl)
}
