package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// microseconds32 keeps the TTL in microseconds and 32 bits, which is enough for 71 minutes. To be caught, it needs a client that asks for more,
// and another that asks for the lock when the key is gone.
var microseconds32 = clients.Lock{
	Name:  "single-microseconds-32",
	About: "single, whose TTL in microseconds overflows 32 bits",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			until := env.Clock.Now().Add(ttl)
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), time.Duration(uint32(ttl.Microseconds()))*time.Microsecond)
			if err == nil {
				lease.End = until
			}
			return parts.Granted(lease, err)
		})
	},
}
