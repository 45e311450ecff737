package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// oneKey has one key for the locks of all names. It needs two clients that ask for locks of different names.
var oneKey = clients.Lock{
	Name:  "single-one-key",
	About: "single, with the same key for locks of all names",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, _ string, ttl time.Duration) (clients.Lease, error) {
			return parts.Granted(parts.Take(ctx, env, "lock", parts.Token(env.Rand), ttl))
		})
	},
}
