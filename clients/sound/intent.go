package sound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

var confirm = redis.NewScript(`
if redis.call("GET", KEYS[1]) ~= ARGV[1] or redis.call("EXISTS", KEYS[2]) == 1 then return 0 end
redis.call("SET", KEYS[2], ARGV[1], "PX", ARGV[2])
redis.call("DEL", KEYS[1])
return 1`)

// intent first sets a key that says that it wants the lock, and then takes the lock in a script that deletes that key, if the key is still
// there. The intent is no lock: its key lasts for two seconds only.
var intent = clients.Lock{
	Name:  "single-intent",
	About: "single, which announces that it wants the lock by another key first",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			node, key, token := env.Nodes[0], "intent:{"+name+"}", parts.Token(env.Rand)
			ok, err := node.SetNX(ctx, key, token, 2*time.Second).Result()
			if err != nil {
				return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, err) // there is only an intent, if anything
			}
			if !ok {
				return nil, clients.ErrNotAcquired
			}
			start := env.Clock.Now()
			set, err := confirm.Run(ctx, node, []string{key, name}, token, ttl.Milliseconds()).Bool()
			lease, err := arrived(ctx, &parts.Lease{Env: env, Name: name, Token: token, End: start.Add(ttl)}, set, err)
			if errors.Is(err, clients.ErrNotAcquired) && !set {
				parts.ReleaseOn(context.WithoutCancel(ctx), node, key, token) // if this fails, the intent expires
			}
			return lease, err
		})
	},
}
