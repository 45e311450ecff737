package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// loadOnce loads its script with the first release, and keeps the error if that fails, as code with a sync.Once does. It needs a lost
// message, and a second lease: no release succeeds then.
var loadOnce = clients.Lock{
	Name:  "single-load-once",
	About: "single, which never loads its script again if the first attempt failed",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		script := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
		tried := false
		var failed error
		load := func(ctx context.Context) error {
			if !tried {
				tried, failed = true, script.Load(ctx, env.Nodes[0]).Err()
			}
			return failed
		}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &loadedLease{lease, script, load}, nil
		})
	},
}

type loadedLease struct {
	*parts.Lease
	script *redis.Script
	load   func(context.Context) error
}

func (l *loadedLease) Release(ctx context.Context) error {
	if err := l.load(ctx); err != nil {
		return err
	}
	return parts.Held(l.script.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token).Int())
}
