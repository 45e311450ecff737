package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// counts is a semaphore of one: the key counts who wants the lock, and who counts to one has it. It needs a client that releases after
// its lease has expired: it counts down what the next holder has counted up.
var counts = clients.Lock{
	Name:  "single-counts",
	About: "single by INCR, released by DECR",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			end := env.Clock.Now().Add(ttl)
			n, err := env.Nodes[0].Incr(ctx, name).Result()
			if err != nil {
				return nil, parts.NotRun(err)
			}
			if n > 1 {
				env.Nodes[0].Decr(ctx, name)
				return nil, clients.ErrNotAcquired
			}
			if err := env.Nodes[0].PExpire(ctx, name, ttl).Err(); err != nil {
				return nil, err
			}
			return &countingLease{parts.Lease{Env: env, Name: name, End: end}}, nil
		})
	},
}

type countingLease struct{ parts.Lease }

func (l *countingLease) Release(ctx context.Context) error {
	return l.Env.Nodes[0].Decr(ctx, l.Name).Err()
}
