package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// cleanUpCancelled releases the lock and returns an error if its context has ended by the time the lock is granted. But it
// releases with that same context, so nothing is sent. It needs a context that ends during an acquire.
var cleanUpCancelled = clients.Lock{
	Name:  "single-clean-up-cancelled",
	About: "single, which releases a lease that arrives too late with the context that has ended",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err == nil && ctx.Err() != nil {
				lease.Release(ctx)
				return nil, ctx.Err()
			}
			return parts.Granted(lease, err)
		})
	},
}
