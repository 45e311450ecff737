package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// skipsOver sends no release if the lease is over by the client's own clock, as if the key were certain to be gone then. It needs a holder
// that is a little late, and a node whose clock was set back: nobody gets the lock until the key expires.
var skipsOver = clients.Lock{
	Name:  "single-skips-over",
	About: "single, which does not release a lease that is over",
	Like:  []string{"single"},
	New:   skipping(clients.NewSingle),
}

// skipsOverOnMany is the same mistake on many nodes. It needs so many nodes whose clocks were set back that no majority is left.
var skipsOverOnMany = clients.Lock{
	Name:  "redlock-skips-over",
	About: "redlock, which does not release a lease that is over",
	Like:  []string{"redlock"},
	New:   skipping(clients.NewRedlock),
}

// extendSkipsOver is the same mistake in a lock whose leases can be extended. It needs a long extension whose reply is lost, so that the key
// lasts longer than the lease, and a holder that is late.
var extendSkipsOver = clients.Lock{
	Name:  "single-extend-skips-over",
	About: "single-extend, which does not release a lease that is over",
	Like:  []string{"single-extend"},
	New:   skipping(clients.NewSingleExtend),
}

// skipping makes a lock skip the release of a lease that is over.
func skipping(lock clients.New) clients.New {
	return func(env clients.Env) clients.Locker {
		inner := lock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := inner.Acquire(ctx, name, ttl)
			if err != nil {
				return nil, err
			}
			skipped := skippedLease{lease, env}
			if e, ok := lease.(clients.Extender); ok {
				return &extendableSkippedLease{skipped, e}, nil
			}
			return &skipped, nil
		})
	}
}

type skippedLease struct {
	clients.Lease
	env clients.Env
}

func (l *skippedLease) Release(ctx context.Context) error {
	if !l.env.Clock.Now().Before(l.Until()) {
		return clients.ErrNotHeld
	}
	return l.Lease.Release(ctx)
}

type extendableSkippedLease struct {
	skippedLease
	clients.Extender
}
