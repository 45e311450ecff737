package sound

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

var takeAndSign = redis.NewScript(`
if not redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 0 end
redis.call("SET", KEYS[2], ARGV[1])
return 1`)

// lastHolder writes its token into a second key as well, which is never deleted: it names the last holder for those who look for a culprit.
var lastHolder = clients.Lock{
	Name:  "single-last-holder",
	About: "single, with a second key that names the last holder and that no release deletes",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			l := &parts.Lease{Env: env, Name: name, Token: parts.Token(env.Rand), End: env.Clock.Now().Add(ttl)}
			set, err := takeAndSign.Run(ctx, env.Nodes[0], []string{name, "last:{" + name + "}"}, l.Token, ttl.Milliseconds()).Bool()
			return arrived(ctx, l, set, err)
		})
	},
}
