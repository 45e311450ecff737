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
	New: extendableOnMany(func(l *parts.RedlockLease) extension {
		return func(ctx context.Context, start time.Time, ttl time.Duration) error {
			r := l.Redlock
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
	}),
}
