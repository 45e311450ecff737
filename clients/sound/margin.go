package sound

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// margin promises nine tenths of the TTL: the key stays a little longer than its holder relies on it.
var margin = clients.Lock{
	Name:  "single-margin",
	About: "single, whose key lives longer than it promises",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			lease.End = lease.End.Add(-ttl / 10)
			return parts.Granted(lease.Arrived(ctx))
		})
	},
}
