package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// fenceNodeTime takes the time of the node, in microseconds, for a fencing token. It needs a node whose clock is set back.
var fenceNodeTime = clients.Lock{
	Name:  "fenced-node-time",
	About: "fenced, with the node's time as token",
	Like:  []string{"fenced"},
	New: func(env clients.Env) clients.Locker {
		script := redis.NewScript(`
			if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
			local time = redis.call('TIME')
			return time[1] * 1000000 + time[2]`)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease := &parts.Lease{Env: env, Name: name, Token: parts.Token(env.Rand), End: env.Clock.Now().Add(ttl)}
			fence, err := script.Run(ctx, env.Nodes[0], []string{name}, lease.Token, ttl.Milliseconds()).Int64()
			if err != nil {
				return nil, parts.NotRun(err)
			}
			if fence == 0 {
				return nil, clients.ErrNotAcquired
			}
			if lease, err = lease.Arrived(ctx); err != nil {
				return nil, err
			}
			return &fencedLease{lease, fence}, nil
		})
	},
}
