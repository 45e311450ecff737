package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendRevives sets the key again if it is gone when the lease is extended. It needs a key that is lost, and another client that gets and
// releases the lock before the extension. The holder then goes on with data that is out of date.
var extendRevives = clients.Lock{
	Name:  "single-extend-revives",
	About: "single-extend, whose extension sets the key again if it is gone",
	Like:  []string{"single-extend"},
	New: extendable(func(l *parts.Lease, ctx context.Context, ttl time.Duration) error {
		if !l.Env.Clock.Now().Before(l.End) {
			return clients.ErrNotHeld
		}
		until := l.Env.Clock.Now().Add(ttl)
		n, err := reviveScript.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token, ttl.Milliseconds()).Int()
		return l.Extended(n != 0, err, until)
	}),
}

var reviveScript = redis.NewScript(`
	local value = redis.call('GET', KEYS[1])
	if value and value ~= ARGV[1] then return 0 end
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	return 1`)
