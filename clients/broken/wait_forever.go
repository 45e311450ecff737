package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// waitForever waits for a replica with a timeout of 0, which means for ever. It needs a replica that is out of reach for longer than the
// TTL. The acquire does not return for all that time.
var waitForever = clients.Lock{
	Name:  "single-wait-forever",
	About: "single-wait, which waits for its replica without a timeout",
	Like:  []string{"single-wait"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			conn := env.Nodes[0].Conn()
			defer conn.Close()
			lease := &parts.Lease{Env: env, Name: name, Token: parts.Token(env.Rand), End: env.Clock.Now().Add(ttl)}
			ok, err := conn.SetNX(ctx, name, lease.Token, ttl).Result()
			if err != nil {
				return nil, parts.NotRun(err)
			}
			if !ok {
				return nil, clients.ErrNotAcquired
			}
			if err := conn.Wait(ctx, 1, 0).Err(); err != nil {
				lease.Release(context.WithoutCancel(ctx))
				return nil, fmt.Errorf("%w: WAIT: %w", clients.ErrNotAcquired, err)
			}
			return parts.Granted(lease.Arrived(ctx))
		})
	},
}
