package sound

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// connections asks for the lock on one connection and releases it on another. Between connections there is no order, but none is
// needed: it releases only what has been granted.
var connections = clients.Lock{
	Name:  "single-connections",
	About: "single, with a connection for SET and another for the release",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		other := env.Client(env.Addrs[0], nil)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			lease.Env.Nodes = []*redis.Client{other}
			return lease, nil
		})
	},
}
