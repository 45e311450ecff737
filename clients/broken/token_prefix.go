package broken

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// tokenPrefix numbers the leases of a client at the end of its token, and its release looks only whether the value begins with the token: lease
// 1 takes lease 10 for its own. It needs a late release of the first lease, and nine leases after it.
var tokenPrefix = clients.Lock{
	Name:  "single-token-prefix",
	About: "single, whose release compares only the beginning of the value",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		id, n := parts.Token(env.Rand), 0
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			n++
			lease, err := parts.Take(ctx, env, name, fmt.Sprint(id, "-", n), ttl)
			if err != nil {
				return nil, err
			}
			return &tokenPrefixLease{lease}, nil
		})
	},
}

var tokenPrefixScript = redis.NewScript(`
	local value = redis.call('GET', KEYS[1])
	if not value or string.sub(value, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
	return redis.call('DEL', KEYS[1])`)

type tokenPrefixLease struct{ *parts.Lease }

func (l *tokenPrefixLease) Release(ctx context.Context) error {
	return parts.Held(tokenPrefixScript.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token).Int())
}
