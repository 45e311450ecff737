package broken

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// exSeconds gives the TTL to EX in whole seconds, rounded down, but relies on all of it: with a TTL of 1.5 s, its key
// lasts one second. This shows if the TTL has a fraction of a second
// and a second client waits.
var exSeconds = clients.Lock{
	Name:  "single-ex-seconds",
	About: "single, which rounds the TTL down to seconds",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			token := parts.Token(env.Rand)
			start := env.Clock.Now()
			err := env.Nodes[0].Do(ctx, "SET", name, token, "NX", "EX", max(1, int(ttl.Seconds()))).Err()
			if errors.Is(err, redis.Nil) {
				return nil, clients.ErrNotAcquired
			}
			if err != nil {
				return nil, parts.NotRun(err)
			}
			return parts.Granted((&parts.Lease{Env: env, Name: name, Token: token, End: start.Add(ttl)}).Arrived(ctx))
		})
	},
}
