package broken

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// loadOnce loads its script at the first release, and remembers how that went. If the load fails, no release of this client succeeds
// any more. It needs a fault at the first release, and a later lease.
var loadOnce = clients.Lock{
	Name:  "single-load-once",
	About: "single, which loads its script once, and remembers an error",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		script := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
		load := &loading{script: script}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &loadedLease{lease, load}, nil
		})
	},
}

type loading struct {
	script *redis.Script
	once   sync.Once
	err    error
}

type loadedLease struct {
	*parts.Lease
	load *loading
}

func (l *loadedLease) Release(ctx context.Context) error {
	l.load.once.Do(func() { l.load.err = l.load.script.Load(ctx, l.Env.Nodes[0]).Err() })
	if l.load.err != nil {
		return l.load.err
	}
	return parts.Held(l.load.script.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token).Int())
}
