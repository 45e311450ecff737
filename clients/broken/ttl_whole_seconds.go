package broken

import (
	"cmp"
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// ttlWholeSeconds cuts the TTL to whole seconds. Of a TTL below a second nothing is left, and go-redis then sets a key without a TTL,
// which stays for ever if its owner dies.
var ttlWholeSeconds = clients.Lock{
	Name:  "single-ttl-whole-seconds",
	About: "single, which cuts the TTL to whole seconds, and so possibly to none",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			token := parts.Token(env.Rand)
			start, whole := env.Clock.Now(), ttl.Truncate(time.Second)
			ok, err := env.Nodes[0].SetNX(ctx, name, token, whole).Result()
			if err != nil {
				return nil, parts.NotRun(err)
			}
			if !ok {
				return nil, clients.ErrNotAcquired
			}
			return parts.Granted((&parts.Lease{Env: env, Name: name, Token: token, End: start.Add(cmp.Or(whole, ttl))}).Arrived(ctx))
		})
	},
}
