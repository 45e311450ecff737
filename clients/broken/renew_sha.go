package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewSHA loads the script of its renewals once for all leases, and then sends only its hash. It needs a node that restarts and keeps its
// keys. The script is gone then, and no lease is renewed any more.
var renewSHA = clients.Lock{
	Name:  "watchdog-sha",
	About: "watchdog, renewed by EVALSHA with a script that is loaded once",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		script := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`)
		loaded := false
		return parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
			l.Renew = func(ctx context.Context) (bool, error) {
				if !loaded {
					if err := script.Load(ctx, env.Nodes[0]).Err(); err != nil {
						return false, err
					}
					loaded = true
				}
				n, err := script.EvalSha(ctx, env.Nodes[0], []string{l.Name}, l.Token, ttl.Milliseconds()).Int()
				return n != 0, err
			}
		})(env)
	},
}
