package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// cancelledCounts allows a client sixteen attempts at a time. A failed attempt whose context has ended does not give its place back. After
// sixteen of these the client never gets the lock again.
var cancelledCounts = clients.Lock{
	Name:  "single-cancelled-counts",
	About: "single, which limits its attempts, and never stops counting those that were cancelled",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		places := make(chan struct{}, 16)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			select {
			case places <- struct{}{}:
			default:
				return nil, fmt.Errorf("%w: all places are taken", clients.ErrNotAcquired)
			}
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil && ctx.Err() != nil {
				return nil, err
			}
			<-places
			return parts.Granted(lease, err)
		})
	},
}
