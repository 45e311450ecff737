package sound

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// keptHash keeps all in one hash that is never deleted, because the counter of the fencing tokens is in it. The end of the lease is a date by the
// clock of the node. The script counts before it writes who the owner is, so that for a moment the hash has no owner.
var keptHash = clients.Lock{
	Name:  "fenced-kept-hash",
	About: "fenced, in a hash with the counter, the owner and the end of the lease, of which the counter stays",
	Like:  []string{"fenced"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			l := &keptLease{Lease: parts.Lease{Env: env, Name: name, Token: parts.Token(env.Rand), End: env.Clock.Now().Add(ttl)}}
			var err error
			if l.fence, err = keptTake.Run(ctx, env.Nodes[0], []string{name}, l.Token, ttl.Milliseconds()).Int64(); err != nil {
				return nil, parts.NotRun(err)
			}
			if l.fence == 0 {
				return nil, clients.ErrNotAcquired
			}
			if !env.Clock.Now().Before(l.End) {
				l.Release(context.WithoutCancel(ctx)) // the lease is over, so the outcome does not matter
				return nil, clients.ErrNotAcquired
			}
			return l, nil
		})
	},
}

var (
	keptTake = redis.NewScript(`
		local t = redis.call('TIME')
		local now = t[1] * 1000 + math.floor(t[2] / 1000)
		local ends = redis.call('HGET', KEYS[1], 'end')
		if ends and tonumber(ends) > now then return 0 end
		local fence = redis.call('HINCRBY', KEYS[1], 'fence', 1)
		redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'end', string.format('%.0f', now + ARGV[2]))
		return fence`)
	keptRelease = redis.NewScript(`
		if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
		redis.call('HDEL', KEYS[1], 'owner', 'end')
		return 1`)
)

type keptLease struct {
	parts.Lease
	fence int64
}

func (l *keptLease) Fence() int64 { return l.fence }

func (l *keptLease) Release(ctx context.Context) error {
	return parts.Held(keptRelease.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token).Int())
}
