package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// clientToken draws its token once for the process and uses it for every attempt. A release that is late, or repeated, then deletes
// a later lock of the same client, and lets in another. It needs a release that stays on its way until the client has the lock
// again.
var clientToken = clients.Lock{
	Name:  "single-client-token",
	About: "single, with one token for all attempts of a client",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		token := parts.Token(env.Rand)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return parts.Granted(parts.Take(ctx, env, name, token, ttl))
		})
	},
}
