package broken

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
)

// waitOwnClient is single-wait with a separate client for WAIT, because WAIT blocks. WAIT covers what was written before the
// previous command of its connection. So it covers the lock only the first time, when the connection is new. It needs a client
// that has had the lock before, and replicas out of reach.
var waitOwnClient = clients.Lock{
	Name:  "single-wait-own-client",
	About: "single-wait with a client that it uses for WAIT only",
	Like:  []string{"single-wait"},
	New: func(env clients.Env) clients.Locker {
		return &waits{Locker: clients.NewSingle(env), blocking: env.Client(env.Addrs[0], nil)}
	},
}

// waitLeaves is single-wait that refuses a lock which no replica has acknowledged, but leaves its key on the node. It needs
// replicas out of reach, and another client that asks when they are back.
var waitLeaves = clients.Lock{
	Name:  "single-wait-leaves",
	About: "single-wait that leaves the key if no replica acknowledges it",
	Like:  []string{"single-wait"},
	New: func(env clients.Env) clients.Locker {
		return &waits{Locker: clients.NewSingle(env), blocking: env.Nodes[0], leaves: true}
	},
}

type waits struct {
	clients.Locker
	blocking *redis.Client // for WAIT
	leaves   bool
}

func (l *waits) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lease, err := l.Locker.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	n, err := l.blocking.Wait(ctx, 1, time.Second).Result()
	switch {
	case err != nil:
		err = fmt.Errorf("%w: WAIT: %w", clients.ErrNotAcquired, err)
	case n == 0:
		err = fmt.Errorf("%w: no replica acknowledged it", clients.ErrNotAcquired)
	default:
		return lease, nil
	}
	if !l.leaves {
		lease.Release(context.WithoutCancel(ctx))
	}
	return nil, err
}
