package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// releaseSHA loads the script of its release once on each node, and then sends only its hash. It needs a majority of the nodes to restart
// and keep their keys, which then stay until they expire.
var releaseSHA = clients.Lock{
	Name:  "redlock-release-sha",
	About: "redlock, released by EVALSHA with a script that is loaded once on each node",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		script := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
		loaded := make([]bool, len(env.Nodes))
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, ttl, func(l *parts.RedlockLease) clients.Lease {
				return &shaReleased{l, func(ctx context.Context, i int, node *redis.Client) error {
					if !loaded[i] {
						if err := script.Load(ctx, node).Err(); err != nil {
							return err
						}
						loaded[i] = true
					}
					return parts.Held(script.EvalSha(ctx, node, []string{name}, l.Token).Int())
				}}
			})
		})
	},
}

type shaReleased struct {
	*parts.RedlockLease
	on func(ctx context.Context, i int, node *redis.Client) error
}

func (l *shaReleased) Release(ctx context.Context) error {
	return l.Redlock.Released(l.Redlock.Ask(ctx, l.on))
}
