package sound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// patient looks whether the lock is taken before it asks for it, and says early that it is not acquired. It tries three times, with
// random delays and a new token each time. It does not try again after an unknown outcome.
var patient = clients.Lock{
	Name:  "single-patient",
	About: "single, which looks before it asks, and tries again after random delays",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			for try := 1; ; try++ {
				lease, err := lookAndTake(ctx, env, name, ttl)
				if !errors.Is(err, clients.ErrNotAcquired) || try == 3 || ctx.Err() != nil {
					return parts.Granted(lease, err)
				}
				env.Clock.Sleep(20*time.Millisecond + time.Duration(env.Rand.Int64N(int64(30*time.Millisecond))))
			}
		})
	},
}

func lookAndTake(ctx context.Context, env clients.Env, name string, ttl time.Duration) (*parts.Lease, error) {
	n, err := env.Nodes[0].Exists(ctx, name).Result()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, err) // the lock was not asked for
	case n > 0:
		return nil, clients.ErrNotAcquired
	}
	return parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
}
