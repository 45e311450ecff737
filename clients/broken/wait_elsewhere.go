package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
)

// waitElsewhere is single-wait that takes any connection of its pool for WAIT. That answers for the writes of its own
// connection: on another it waits for nothing, and says how many replicas there are. Caught by wait-other-connection: lease
// exclusion.
var waitElsewhere = clients.Lock{
	Name:  "single-wait-elsewhere",
	About: "single-wait with SET and WAIT on different connections",
	Like:  []string{"single-wait"},
	New: func(env clients.Env) clients.Locker {
		return &elsewhere{clients.NewSingle(env), env}
	},
}

type elsewhere struct {
	clients.Locker
	env clients.Env
}

func (l *elsewhere) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	// A pool may also give the same connection twice in a row. One that is in use it gives to nobody.
	other := l.env.Nodes[0].Conn()
	defer other.Close()
	if err := other.Ping(ctx).Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, err)
	}
	lease, err := l.Locker.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	n, err := other.Wait(ctx, 1, time.Second).Result()
	switch {
	case err != nil:
		err = fmt.Errorf("%w: WAIT: %w", clients.ErrNotAcquired, err)
	case n == 0:
		err = fmt.Errorf("%w: no replica acknowledged it", clients.ErrNotAcquired)
	default:
		return lease, nil
	}
	lease.Release(context.WithoutCancel(ctx))
	return nil, err
}
