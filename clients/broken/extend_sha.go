package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendSHA loads the script of its extension once, and then sends only its hash. To be caught, it needs a node that restarts, with its keys, after
// the first extension: no later one succeeds.
var extendSHA = clients.Lock{
	Name:  "single-extend-sha",
	About: "single-extend, extended by EVALSHA with a script that is loaded once",
	Like:  []string{"single-extend"},
	New: func(env clients.Env) clients.Locker {
		script := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`)
		loaded := false
		return extendableOnOne(func(l *parts.Lease) extension {
			return func(ctx context.Context, start time.Time, ttl time.Duration) error {
				if !loaded {
					if err := script.Load(ctx, env.Nodes[0]).Err(); err != nil {
						return err
					}
					loaded = true
				}
				n, err := script.EvalSha(ctx, env.Nodes[0], []string{l.Name}, l.Token, ttl.Milliseconds()).Int()
				return l.Extended(n != 0, err, start.Add(ttl))
			}
		})(env)
	},
}
