package broken

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// exMilliseconds gives the TTL to EX, which takes seconds, in milliseconds: a lock for 10 s has a key for almost three hours. That
// shows only when a holder is gone without a release: nobody else gets the lock for that long.
var exMilliseconds = clients.Lock{
	Name:  "single-ex-milliseconds",
	About: "single, which gives EX a number of milliseconds",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			token := parts.Token(env.Rand)
			start := env.Clock.Now()
			err := env.Nodes[0].Do(ctx, "SET", name, token, "NX", "EX", ttl.Milliseconds()).Err()
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
