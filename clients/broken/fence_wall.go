package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// fenceWall takes its wall clock, in milliseconds, for a fencing token: the second holder has the lower one if its clock is behind
// that of the first, or has been set back. It needs clocks that differ by more than the time between the two grants.
var fenceWall = clients.Lock{
	Name:  "fenced-wall",
	About: "fenced, with the client's time as token",
	Like:  []string{"fenced"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &fencedLease{lease, env.Wall.Now().UnixMilli()}, nil
		})
	},
}
