package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendOfGranted extends with a majority of the nodes that granted the lease. It needs a lease from less than all nodes: the rest, and
// the nodes that did not extend, may be a majority.
var extendOfGranted = clients.Lock{
	Name:  "redlock-extend-of-granted",
	About: "redlock-extend that needs a majority of the nodes that granted the lease",
	Like:  []string{"redlock-extend"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, ttl, func(l *parts.RedlockLease) clients.Lease { return &ofGrantedLease{l} })
		})
	},
}

type ofGrantedLease struct{ *parts.RedlockLease }

func (l *ofGrantedLease) Extend(ctx context.Context, ttl time.Duration) error {
	r := l.Redlock
	start := r.Env.Clock.Now()
	if !start.Before(l.End) {
		return clients.ErrNotHeld
	}
	if until, _ := r.Validity(start, ttl); until.Before(l.End) {
		l.End = until
	}
	extended, gone := parts.Count(r.Ask(ctx, parts.Extend(l.Name, l.Token, ttl)))
	until, left := r.Validity(start, ttl)
	switch {
	case extended > l.Granted/2 && left:
		l.End = until
		return nil
	case len(r.Env.Nodes)-gone < r.Quorum():
		return clients.ErrNotHeld
	}
	return clients.ErrNotExtended
}
