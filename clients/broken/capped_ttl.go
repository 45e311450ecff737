package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// cappedTTL sets a key for a minute at most, and tells its client that it has the lock for as long as it asked. It needs a client
// that asks for a longer TTL, and another that asks for the lock after that minute.
var cappedTTL = clients.Lock{
	Name:  "single-capped-ttl",
	About: "single with keys that live for a minute at most, and leases that may be longer",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			until := env.Clock.Now().Add(ttl)
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), min(ttl, time.Minute))
			if err == nil {
				lease.End = until
			}
			return parts.Granted(lease, err)
		})
	},
}
