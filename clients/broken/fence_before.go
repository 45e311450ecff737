package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// fenceBefore draws its fencing token before it has the lock: who draws first may get the lock last, with the lower token, and the
// resource refuses its writes or, worse, has not yet seen the higher one. It needs two clients at once, and a slow message or a pause
// between the two commands.
var fenceBefore = clients.Lock{
	Name:  "fenced-before",
	About: "fenced, with a token that is drawn before the lock is taken",
	Like:  []string{"fenced"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			fence, err := env.Nodes[0].Incr(ctx, name+":fence").Result()
			if err != nil {
				return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, err) // the lock was not asked for
			}
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &fencedLease{lease, fence}, nil
		})
	},
}

type fencedLease struct {
	clients.Lease
	fence int64
}

func (l *fencedLease) Fence() int64 { return l.fence }
