package sound

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

var setTime = redis.NewScript(`
if redis.call("EXISTS", KEYS[1]) == 1 then return false end
local now = redis.call("TIME")
local token = now[1] .. string.format("%06d", now[2])
redis.call("SET", KEYS[1], token, "PX", ARGV[1])
return token`)

// drawnNumber has a token that the script draws: the time of the node in microseconds. Nothing but its key tells it from a counter.
var drawnNumber = clients.Lock{
	Name:  "single-drawn-number",
	About: "single with a token that is a number, which a script draws from the clock of the node",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			start := env.Clock.Now()
			token, err := setTime.Run(ctx, env.Nodes[0], []string{name}, ttl.Milliseconds()).Text()
			taken := !errors.Is(err, redis.Nil)
			if !taken {
				err = nil
			}
			return arrived(ctx, &parts.Lease{Env: env, Name: name, Token: token, End: start.Add(ttl)}, taken, err)
		})
	},
}
