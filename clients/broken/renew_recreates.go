package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewRecreates renews by a script that sets the key again if it is gone, and goes on trying when a node does not answer. A client
// that was cut off for longer than the TTL gets its lease back, though another client may have held the lock in between. It needs a cut
// beyond the TTL, after which the lock is free.
var renewRecreates = clients.Lock{
	Name:  "watchdog-recreates",
	About: "watchdog whose renewal sets a key that is gone",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
		l.Renew = func(ctx context.Context) (bool, error) {
			for {
				n, err := renewRecreatesScript.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token, ttl.Milliseconds()).Int()
				if err == nil || ctx.Err() != nil {
					return n != 0, err
				}
				l.Env.Clock.Sleep(ttl / 10)
			}
		}
	}),
}

var renewRecreatesScript = redis.NewScript(`
	local value = redis.call('GET', KEYS[1])
	if value and value ~= ARGV[1] then return 0 end
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	return 1`)
