package broken

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// zsetRank is the basic semaphore of "Redis in Action" (6.3.1) for one holder: each client adds its token to a sorted set with the
// time by its own clock as score, and whoever has the lowest rank holds the lock. A client whose clock is behind that of the holder
// comes before it, as the book says, and holds the lock as well; so does one that comes within the same millisecond and whose token
// is lower.
var zsetRank = clients.Lock{
	Name:  "single-zset-rank",
	About: "single, kept in a sorted set in the order of the clients' clocks",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease := &zsetRankLease{parts.Lease{Env: env, Name: name, Token: parts.Token(env.Rand), End: env.Clock.Now().Add(ttl)}}
			now := env.Wall.Now()
			var rank *redis.IntCmd
			_, err := env.Nodes[0].TxPipelined(ctx, func(queue redis.Pipeliner) error {
				queue.ZRemRangeByScore(ctx, name, "-inf", strconv.FormatInt(now.Add(-ttl).UnixMilli(), 10))
				queue.ZAdd(ctx, name, redis.Z{Score: float64(now.UnixMilli()), Member: lease.Token})
				rank = queue.ZRank(ctx, name, lease.Token)
				return nil
			})
			if err != nil {
				return nil, err
			}
			if rank.Val() == 0 && env.Clock.Now().Before(lease.End) {
				return lease, nil
			}
			lease.Release(context.WithoutCancel(ctx)) // the next client removes what stays, once it is a TTL old
			return nil, clients.ErrNotAcquired
		})
	},
}

type zsetRankLease struct{ parts.Lease }

func (l *zsetRankLease) Release(ctx context.Context) error {
	n, err := l.Env.Nodes[0].ZRem(ctx, l.Name, l.Token).Result()
	return parts.Held(int(n), err)
}
