package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// fenceExpires gives the counter of its fencing tokens a TTL too, so that no keys are left behind: when nobody has taken the lock
// for that long, it begins again at 1. A client that took the lock before has a token that is as high. It needs a lock that expires
// or stays free for as long as a lease lasts.
var fenceExpires = clients.Lock{
	Name:  "fenced-expires",
	About: "fenced, whose counter expires",
	Like:  []string{"fenced"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return takeCounted(ctx, env, name, ttl, ttl)
		})
	},
}

// takeCounted takes the lock, with a fencing token from a counter that expires some time after the last token.
func takeCounted(ctx context.Context, env clients.Env, name string, ttl, counter time.Duration) (clients.Lease, error) {
	token := parts.Token(env.Rand)
	start := env.Clock.Now()
	fence, err := expiringScript.Run(ctx, env.Nodes[0], []string{name, "{" + name + "}:fence"}, token, ttl.Milliseconds(), counter.Milliseconds()).Int64()
	if err != nil {
		return nil, parts.NotRun(err)
	}
	if fence == 0 {
		return nil, clients.ErrNotAcquired
	}
	lease, err := (&parts.Lease{Env: env, Name: name, Token: token, End: start.Add(ttl)}).Arrived(ctx)
	if err != nil {
		return nil, err
	}
	return &fencedLease{lease, fence}, nil
}

var expiringScript = redis.NewScript(`
	if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
	local fence = redis.call('INCR', KEYS[2])
	redis.call('PEXPIRE', KEYS[2], ARGV[3])
	return fence`)
