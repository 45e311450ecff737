package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
)

// fencePerClient is the fenced lock with a counter for each client instead of one for the lock, so that the fence of the
// second holder is no higher than that of the first. It draws from its counter in a request of its own; since the counter is
// its own too, nobody comes between. Caught by pause-fenced: tokens, resource exclusion.
var fencePerClient = clients.Lock{
	Name:  "fenced-per-client",
	About: "fenced, with a counter for each client",
	Like:  []string{"fenced"},
	New: func(env clients.Env) clients.Locker {
		return &perClient{clients.NewSingle(env), env, fmt.Sprintf("%08x", env.Rand.Uint32())}
	},
}

type perClient struct {
	clients.Locker
	env    clients.Env
	client string // drawn by lot, for a client does not know its name
}

func (l *perClient) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lease, err := l.Locker.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	fence, err := l.env.Nodes[0].Incr(ctx, name+":fence:"+l.client).Result()
	if err != nil {
		return nil, err
	}
	return &perClientLease{lease, fence}, nil
}

type perClientLease struct {
	clients.Lease
	fence int64
}

func (l *perClientLease) Fence() int64 { return l.fence }
