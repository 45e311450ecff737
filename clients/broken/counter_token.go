package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// counterToken numbers its attempts instead of drawing a token, and each process begins at 1: the first lock of one client has the
// same token as the first of another. Who outlives its TTL deletes the lock of the next holder, if that has made as many attempts.
var counterToken = clients.Lock{
	Name:  "single-counter-token",
	About: "single, whose token is the number of the attempt in its process",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		attempts := 0
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			attempts++
			return parts.Granted(parts.Take(ctx, env, name, fmt.Sprintf("attempt-%d", attempts), ttl))
		})
	},
}
