package sound

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// queue serves waiters in the order in which they came, as Redisson's fair lock does: a list has the order, and a sorted set says
// until when each waiter counts. Whoever asks removes the waiters whose time has passed.
var queue = clients.Lock{
	Name:  "single-queue",
	About: "single, with waiters in a list and their ends in a sorted set",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			token := parts.Token(env.Rand)
			keys := []string{name, "{" + name + "}:queue", "{" + name + "}:waiters"}
			for try := 0; ; try++ {
				start := env.Clock.Now()
				n, err := queueTake.Run(ctx, env.Nodes[0], keys, token, ttl.Milliseconds(), queuePatience.Milliseconds()).Int()
				switch {
				case err == nil && n == 1:
					return parts.Granted((&parts.Lease{Env: env, Name: name, Token: token, End: start.Add(ttl)}).Arrived(ctx))
				case err == nil && try < queueTries && ctx.Err() == nil:
					env.Clock.Sleep(queuePause)
					continue
				case err == nil:
					err = clients.ErrNotAcquired
				default:
					err = parts.NotRun(err)
				}
				// It waits no longer; and if a reply was lost, it may have the lock.
				own := context.WithoutCancel(ctx)
				left := queueLeave.Run(own, env.Nodes[0], keys, token).Err()
				return nil, errors.Join(err, left)
			}
		})
	},
}

const (
	queueTries    = 3
	queuePause    = 100 * time.Millisecond
	queuePatience = time.Second // for how long a waiter counts after it has asked
)

var (
	queueTake = redis.NewScript(`
		local t = redis.call('TIME')
		local now = t[1] * 1000 + math.floor(t[2] / 1000)
		local first = redis.call('LINDEX', KEYS[2], 0)
		while first do
			local due = redis.call('ZSCORE', KEYS[3], first)
			if due and tonumber(due) > now then break end
			redis.call('LPOP', KEYS[2])
			redis.call('ZREM', KEYS[3], first)
			first = redis.call('LINDEX', KEYS[2], 0)
		end
		if redis.call('EXISTS', KEYS[1]) == 0 and (not first or first == ARGV[1]) then
			redis.call('LREM', KEYS[2], 0, ARGV[1])
			redis.call('ZREM', KEYS[3], ARGV[1])
			redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
			return 1
		end
		if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end
		if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then redis.call('RPUSH', KEYS[2], ARGV[1]) end
		redis.call('ZADD', KEYS[3], now + ARGV[3], ARGV[1])
		return 0`)
	queueLeave = redis.NewScript(`
		redis.call('LREM', KEYS[2], 0, ARGV[1])
		redis.call('ZREM', KEYS[3], ARGV[1])
		if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
		return 0`)
)
