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
	New: extendableOnMany(func(l *parts.RedlockLease) extension {
		extended := map[int]bool{} // the nodes that extended the lease, ever
		return func(ctx context.Context, start time.Time, ttl time.Duration) error {
			r := l.Redlock
			errs := r.Ask(ctx, parts.Extend(l.Name, l.Token, ttl))
			for i, err := range errs {
				if err == nil {
					extended[i] = true
				}
			}
			_, gone := parts.Count(errs)
			until, left := r.Validity(start, ttl)
			switch {
			case len(extended) >= r.Quorum() && left:
				l.End = until
				return nil
			case len(r.Env.Nodes)-gone < r.Quorum():
				return clients.ErrNotHeld
			}
			return clients.ErrNotExtended
		}
	}),
}
