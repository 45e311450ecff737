package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// ttlLongest sets all keys with the longest TTL that it was asked for. It needs a client that asks for a shorter TTL the second time, and dies,
// and another that asks for the lock then.
var ttlLongest = clients.Lock{
	Name:  "single-ttl-longest",
	About: "single, which sets each key with the longest TTL of its acquires",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		var longest time.Duration
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			longest = max(longest, ttl)
			until := env.Clock.Now().Add(ttl)
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), longest)
			if err == nil {
				lease.End = until
			}
			return parts.Granted(lease, err)
		})
	},
}
