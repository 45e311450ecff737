package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewSeconds renews by EXPIRE, in whole seconds, but relies on the full TTL. It needs a TTL that is not a whole number of seconds, and a
// client that cannot reach its node after a renewal.
var renewSeconds = clients.Lock{
	Name:  "watchdog-seconds",
	About: "watchdog, whose renewals cut the TTL to whole seconds",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
		script := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('EXPIRE', KEYS[1], ARGV[2]) end return 0`)
		l.Renew = func(ctx context.Context) (bool, error) {
			n, err := script.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token, max(1, int(ttl.Seconds()))).Int()
			return n != 0, err
		}
	}),
}
