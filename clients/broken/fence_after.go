package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// fenceAfter draws its fencing token in a request of its own, after it has taken the lock. If that request is late, the key may be
// gone and another client may have drawn a token before: then the older lease has the higher token. It does check that the lease is
// not over. So it needs, besides a late request, a client whose clock is slow, or a key that is gone too early.
var fenceAfter = clients.Lock{
	Name:  "fenced-after",
	About: "fenced, with a token that is drawn in a second request",
	Like:  []string{"fenced"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			fence, err := env.Nodes[0].Incr(ctx, "{"+name+"}:fence").Result()
			if err != nil {
				return nil, fmt.Errorf("there is no token: %w", err)
			}
			if lease, err = lease.Arrived(ctx); err != nil {
				return nil, err
			}
			return &fencedLease{lease, fence}, nil
		})
	},
}
