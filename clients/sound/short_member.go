package sound

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

var addIfAlone = redis.NewScript(`
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
if redis.call("ZCARD", KEYS[1]) > 0 then return 0 end
redis.call("ZADD", KEYS[1], now + ARGV[2], ARGV[1])
redis.call("PEXPIRE", KEYS[1], ARGV[2])
return 1`)

// shortMember is a semaphore for one holder, as many programs have it: a sorted set with the end of each lease by the clock of the node. Its
// members have fewer characters than tokens usually have.
var shortMember = clients.Lock{
	Name:  "single-short-member",
	About: "single, kept in a sorted set whose members have 13 characters, with the end of the lease as score",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			l := &memberLease{parts.Lease{Env: env, Name: name, Token: strconv.FormatUint(env.Rand.Uint64(), 36), End: env.Clock.Now().Add(ttl)}}
			added, err := addIfAlone.Run(ctx, env.Nodes[0], []string{name}, l.Token, ttl.Milliseconds()).Bool()
			if err != nil {
				return nil, parts.NotRun(err)
			}
			if !added {
				return nil, clients.ErrNotAcquired
			}
			if !env.Clock.Now().Before(l.End) {
				l.Release(context.WithoutCancel(ctx))
				return nil, clients.ErrNotAcquired
			}
			return l, nil
		})
	},
}

type memberLease struct{ parts.Lease }

func (l *memberLease) Release(ctx context.Context) error {
	n, err := l.Env.Nodes[0].ZRem(ctx, l.Name, l.Token).Result()
	return parts.Held(int(n), err)
}
