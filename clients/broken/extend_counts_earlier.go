package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendCountsEarlier remembers on which nodes it was extended, and counts those of earlier extensions that failed. It needs two extensions,
// each of which reaches other nodes, but no majority.
var extendCountsEarlier = clients.Lock{
	Name:  "redlock-extend-counts-earlier",
	About: "redlock-extend that counts nodes of earlier extensions which failed",
	Like:  []string{"redlock-extend"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, ttl, func(l *parts.RedlockLease) clients.Lease {
				return &countsEarlierLease{RedlockLease: l, extended: map[int]bool{}}
			})
		})
	},
}

type countsEarlierLease struct {
	*parts.RedlockLease
	extended map[int]bool // the nodes
}

func (l *countsEarlierLease) Extend(ctx context.Context, ttl time.Duration) error {
	r := l.Redlock
	start := r.Env.Clock.Now()
	if !start.Before(l.End) {
		return clients.ErrNotHeld
	}
	if until, _ := r.Validity(start, ttl); until.Before(l.End) {
		l.End = until
	}
	errs := r.Ask(ctx, parts.Extend(l.Name, l.Token, ttl))
	for i, err := range errs {
		if err == nil {
			l.extended[i] = true
		}
	}
	_, gone := parts.Count(errs)
	until, left := r.Validity(start, ttl)
	switch {
	case len(l.extended) >= r.Quorum() && left:
		l.End = until
		return nil
	case len(r.Env.Nodes)-gone < r.Quorum():
		return clients.ErrNotHeld
	}
	return clients.ErrNotExtended
}
