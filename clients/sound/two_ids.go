package sound

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

var setBoth = redis.NewScript(`
if redis.call("EXISTS", KEYS[1]) == 1 then return 0 end
redis.call("SET", KEYS[1], ARGV[1] .. ":" .. ARGV[2], "PX", ARGV[3])
return 1`)

// twoIDs has a value that consists of the ID of its process, which all its leases share, and the ID of the lease. The script puts them together.
var twoIDs = clients.Lock{
	Name:  "single-two-ids",
	About: "single with a value that a script makes of a process ID and a lease ID",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		process := parts.Token(env.Rand)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			id := parts.Token(env.Rand)
			start := env.Clock.Now()
			set, err := setBoth.Run(ctx, env.Nodes[0], []string{name}, process, id, ttl.Milliseconds()).Bool()
			return arrived(ctx, &parts.Lease{Env: env, Name: name, Token: process + ":" + id, End: start.Add(ttl)}, set, err)
		})
	},
}
