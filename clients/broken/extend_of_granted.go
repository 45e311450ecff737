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
			return r.Retry(ctx, func() (clients.Lease, error) {
				token := parts.Token(env.Rand)
				start := env.Clock.Now()
				granted, _ := parts.Count(r.Ask(ctx, parts.Set(name, token, ttl)))
				until, left := r.Validity(start, ttl)
				lease := &parts.RedlockLease{Redlock: r, Name: name, Token: token, End: until}
				if granted >= r.Quorum() && left {
					return &ofGrantedLease{lease, granted}, nil
				}
				lease.Release(context.WithoutCancel(ctx))
				return nil, r.Few(granted)
			})
		})
	},
}

type ofGrantedLease struct {
	*parts.RedlockLease
	granted int
}

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
	case extended > l.granted/2 && left:
		l.End = until
		return nil
	case len(r.Env.Nodes)-gone < r.Quorum():
		return clients.ErrNotHeld
	}
	return clients.ErrNotExtended
}
