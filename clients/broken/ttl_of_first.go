package broken

import (
	"cmp"
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// ttlOfFirst keeps the TTL of its first acquire in a field, and sets all keys with it. It needs a client that asks for a longer TTL the second
// time, and another that asks for the lock meanwhile.
var ttlOfFirst = clients.Lock{
	Name:  "single-ttl-of-first",
	About: "single, which sets each key with the TTL of its first acquire",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		var first time.Duration
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			first = cmp.Or(first, ttl)
			until := env.Clock.Now().Add(ttl)
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), first)
			if err == nil {
				lease.End = until
			}
			return parts.Granted(lease, err)
		})
	},
}
