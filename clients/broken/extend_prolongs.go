package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendProlongs adds the TTL to what the key has left, as Lock.extend of redis-py does unless it is called with replace_ttl. To be caught, it
// needs a client that extends several times, and then dies: its key stays for the sum of all TTLs.
var extendProlongs = clients.Lock{
	Name:  "single-extend-prolongs",
	About: "single-extend, whose extension adds the TTL to that of the key",
	Like:  []string{"single-extend"},
	New: extendableOnOne(func(l *parts.Lease) extension {
		return func(ctx context.Context, start time.Time, ttl time.Duration) error {
			n, err := prolongScript.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token, ttl.Milliseconds()).Int()
			return l.Extended(n != 0, err, start.Add(ttl))
		}
	}),
}

var prolongScript = redis.NewScript(`
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
	return redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]) + ARGV[2])`)
