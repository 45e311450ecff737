package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// milliseconds32 keeps the TTL as a 32-bit number of milliseconds, which is enough for 49 days. To be caught, it needs a client that asks for more,
// and another that asks for the lock when the key is gone.
var milliseconds32 = clients.Lock{
	Name:  "single-milliseconds-32",
	About: "single, whose TTL in milliseconds overflows 32 bits",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			until := env.Clock.Now().Add(ttl)
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), time.Duration(uint32(ttl.Milliseconds()))*time.Millisecond)
			if err == nil {
				lease.End = until
			}
			return parts.Granted(lease, err)
		})
	},
}
