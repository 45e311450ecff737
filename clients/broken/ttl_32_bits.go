package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// microseconds32 keeps the TTL as a 32-bit number of microseconds, which is enough for 71 minutes. To be caught, it needs a client that asks for
// more, and another that asks for the lock when the key is gone.
var microseconds32 = clients.Lock{
	Name:  "single-microseconds-32",
	About: "single, whose TTL in microseconds overflows 32 bits",
	Like:  []string{"single"},
	New:   in32Bits(time.Microsecond),
}

// milliseconds32 does the same with milliseconds, which is enough for 49 days.
var milliseconds32 = clients.Lock{
	Name:  "single-milliseconds-32",
	About: "single, whose TTL in milliseconds overflows 32 bits",
	Like:  []string{"single"},
	New:   in32Bits(time.Millisecond),
}

func in32Bits(unit time.Duration) clients.New {
	return func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			until := env.Clock.Now().Add(ttl)
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), time.Duration(uint32(ttl/unit))*unit)
			if err == nil {
				lease.End = until
			}
			return parts.Granted(lease, err)
		})
	}
}
