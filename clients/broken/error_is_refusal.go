package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// errorIsRefusal has one error for all that can go wrong: it says that it has certainly not got the lock, when the SET was carried
// out and only its reply was lost. The key then keeps everybody out until it expires, and the caller has been told otherwise. It
// needs a lost or late reply.
var errorIsRefusal = clients.Lock{
	Name:  "single-error-is-refusal",
	About: "single, which reports every error as not acquired",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, err)
			}
			return lease, nil
		})
	},
}
