package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendStaysLost notes in a field of the Locker, and not of the lease, that an extension found the lease lost. It needs such an extension,
// and then a new lease that is extended: the node is not asked, and the client takes that lease for lost too. The key stays.
var extendStaysLost = clients.Lock{
	Name:  "single-extend-stays-lost",
	About: "single-extend, which extends no lease any more once one of them was lost",
	Like:  []string{"single-extend"},
	New: func(env clients.Env) clients.Locker {
		lost := false
		return extendableOnOne(func(l *parts.Lease) extension {
			return func(ctx context.Context, start time.Time, ttl time.Duration) error {
				if lost {
					return clients.ErrNotHeld
				}
				n, err := parts.ExtendOn(ctx, env.Nodes[0], l.Name, l.Token, ttl)
				lost = err == nil && n == 0
				return l.Extended(n != 0, err, start.Add(ttl))
			}
		})(env)
	},
}
