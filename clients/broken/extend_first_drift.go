package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendFirstDrift allows for as much drift in an extension as in the acquire. It needs an extension that is longer than the first TTL, and
// a node whose clock is fast, though by no more than one per cent.
var extendFirstDrift = clients.Lock{
	Name:  "redlock-extend-first-drift",
	About: "redlock-extend, whose extension allows only for the drift of the first TTL",
	Like:  []string{"redlock-extend"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, first time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, first, func(l *parts.RedlockLease) clients.Lease {
				return &extendableOnManyLease{l, func(ctx context.Context, start time.Time, ttl time.Duration) error {
					extended, gone := parts.Count(r.Ask(ctx, parts.Extend(name, l.Token, ttl)))
					until, _ := r.Validity(start, first)
					until = until.Add(ttl - first)
					switch {
					case len(env.Nodes)-gone < r.Quorum():
						return clients.ErrNotHeld
					case extended < r.Quorum() || !env.Clock.Now().Before(until):
						return fmt.Errorf("%w: %d nodes extended it", clients.ErrNotExtended, extended)
					}
					l.End = until
					return nil
				}}
			})
		})
	},
}
