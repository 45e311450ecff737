package broken

import (
	"context"
	"errors"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// staleCleanup deletes a key without a TTL, which an older version may have left behind, when it is refused. It takes a negative
// reply to PTTL for that, but -2 means that there is no key: it has just expired, or was released. The next holder may come between
// that reply and the DEL. It needs two clients that ask for the lock when it becomes free.
var staleCleanup = clients.Lock{
	Name:  "single-stale-cleanup",
	About: "single, which deletes the key if PTTL is negative, and tries again",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if !errors.Is(err, clients.ErrNotAcquired) {
				return parts.Granted(lease, err)
			}
			left, failed := env.Nodes[0].PTTL(ctx, name).Result()
			if failed != nil || left >= 0 {
				return nil, err
			}
			if failed := env.Nodes[0].Del(ctx, name).Err(); failed != nil {
				return nil, err
			}
			return parts.Granted(parts.Take(ctx, env, name, parts.Token(env.Rand), ttl))
		})
	},
}
