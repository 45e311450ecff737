package sound

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

var setIfFree = redis.NewScript(`
if redis.call("EXISTS", KEYS[1]) == 1 then return 0 end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1`)

// shortToken has a token of 64 bits in base 36, which has fewer characters than tokens usually have. A script sets it, without NX.
var shortToken = clients.Lock{
	Name:  "single-short-token",
	About: "single with a token of 13 characters, which a script sets after EXISTS",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			token := strconv.FormatUint(env.Rand.Uint64(), 36)
			start := env.Clock.Now()
			set, err := setIfFree.Run(ctx, env.Nodes[0], []string{name}, token, ttl.Milliseconds()).Bool()
			return arrived(ctx, &parts.Lease{Env: env, Name: name, Token: token, End: start.Add(ttl)}, set, err)
		})
	},
}

// arrived returns a lease that a script was to take.
func arrived(ctx context.Context, l *parts.Lease, taken bool, err error) (clients.Lease, error) {
	if err != nil {
		return nil, parts.NotRun(err)
	}
	if !taken {
		return nil, clients.ErrNotAcquired
	}
	return parts.Granted(l.Arrived(ctx))
}
