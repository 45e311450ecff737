package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendAdds adds the TTL to the end of the lease when it is extended. The nodes count it from now: who extends after a third of a
// TTL believes in two thirds too many. It needs a holder that extends early, and then relies on the end.
var extendAdds = clients.Lock{
	Name:  "redlock-extend-adds",
	About: "redlock-extend that adds the TTL to what is left of the lease",
	Like:  []string{"redlock-extend"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, ttl, func(l *parts.RedlockLease) clients.Lease { return &addingLease{l} })
		})
	},
}

type addingLease struct{ *parts.RedlockLease }

func (l *addingLease) Extend(ctx context.Context, ttl time.Duration) error {
	r := l.Redlock
	if !r.Env.Clock.Now().Before(l.End) {
		return clients.ErrNotHeld
	}
	start := r.Env.Clock.Now()
	extended, gone := parts.Count(r.Ask(ctx, parts.Extend(l.Name, l.Token, ttl)))
	_, left := r.Validity(start, ttl)
	switch {
	case len(r.Env.Nodes)-gone < r.Quorum():
		return clients.ErrNotHeld
	case extended < r.Quorum() || !left:
		return clients.ErrNotExtended
	}
	l.End = l.End.Add(ttl)
	return nil
}
