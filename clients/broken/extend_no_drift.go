package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendNoDrift forgets the allowance for drift when it extends. It needs clocks of nodes that are faster than the client's, by less
// than the allowance, and a lease that is held until its new end.
var extendNoDrift = clients.Lock{
	Name:  "redlock-extend-no-drift",
	About: "redlock-extend that takes all clocks to run at one rate after an extension",
	Like:  []string{"redlock-extend"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, ttl, func(l *parts.RedlockLease) clients.Lease { return &noDriftLease{l} })
		})
	},
}

type noDriftLease struct{ *parts.RedlockLease }

func (l *noDriftLease) Extend(ctx context.Context, ttl time.Duration) error {
	r := l.Redlock
	start := r.Env.Clock.Now()
	if !start.Before(l.End) {
		return clients.ErrNotHeld
	}
	if until := start.Add(ttl); until.Before(l.End) {
		l.End = until
	}
	extended, gone := parts.Count(r.Ask(ctx, parts.Extend(l.Name, l.Token, ttl)))
	switch {
	case extended >= r.Quorum():
		l.End = start.Add(ttl)
		return nil
	case len(r.Env.Nodes)-gone < r.Quorum():
		return clients.ErrNotHeld
	}
	return clients.ErrNotExtended
}
