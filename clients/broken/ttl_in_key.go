package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// ttlInKey has the TTL in the name of its key, as a cache of locks by their settings may have. It needs two clients that ask for different
// TTLs.
var ttlInKey = clients.Lock{
	Name:  "single-ttl-in-key",
	About: "single, with another key for each TTL",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return parts.Granted(parts.Take(ctx, env, ttl.String()+":{"+name+"}", parts.Token(env.Rand), ttl))
		})
	},
}
