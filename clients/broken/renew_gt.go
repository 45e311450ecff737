package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewGT renews by PEXPIRE with GT, so that no renewal shortens the TTL, and takes a reply of 0 for a lost key. It needs a node whose clock
// was set back: the key lasts longer than the renewal asks for. The client takes it for lost, and nobody gets the lock until it expires.
var renewGT = clients.Lock{
	Name:  "watchdog-renews-gt",
	About: "watchdog that renews by PEXPIRE with GT, and takes a TTL that is longer for a lost key",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
		l.Renew = func(ctx context.Context) (bool, error) {
			n, err := gtScript.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token, ttl.Milliseconds()).Int()
			return n != 0, err
		}
	}),
}

var gtScript = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT') end return 0`)
