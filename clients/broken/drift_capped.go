package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// driftCapped allows for at most 100 ms of drift, however long the TTL is. It needs a TTL of more than 10 s, and a node whose clock is
// fast, though by no more than one per cent.
var driftCapped = clients.Lock{
	Name:  "redlock-drift-capped",
	About: "redlock, which allows for at most 100 ms of drift",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, ttl, func(l *parts.RedlockLease) clients.Lease {
				l.End = l.End.Add(max(0, ttl/100-100*time.Millisecond))
				return l
			})
		})
	},
}
