package broken

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// evalsha loads its script once, and then sends only EVALSHA. It needs a node that restarts, or whose scripts are flushed: from then on
// no release succeeds.
var evalsha = clients.Lock{
	Name:  "single-evalsha",
	About: "single, released by EVALSHA without the script",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		script := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
		loaded := false
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			if !loaded {
				if err := script.Load(ctx, env.Nodes[0]).Err(); err != nil {
					return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, err)
				}
				loaded = true
			}
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &evalshaLease{lease, script}, nil
		})
	},
}

type evalshaLease struct {
	*parts.Lease
	script *redis.Script
}

func (l *evalshaLease) Release(ctx context.Context) error {
	return parts.Held(l.script.EvalSha(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token).Int())
}
