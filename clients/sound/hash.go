package sound

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// hash keeps the lock in a hash with its owner and a note. HSET and PEXPIRE are two commands, but one script: nobody comes between.
var hash = clients.Lock{
	Name:  "single-hash",
	About: "single, with a hash that HSET and PEXPIRE set in one script",
	Like:  []string{"single"},
	New:   inHash(parts.Token),
}

// shortHash has tokens that are too short to be recognised as such.
var shortHash = clients.Lock{
	Name:  "single-short-hash",
	About: "single, with a hash that HSET and PEXPIRE set in one script, and a token of 13 characters",
	Like:  []string{"single"},
	New:   inHash(func(r *rand.Rand) string { return strconv.FormatUint(r.Uint64(), 36) }),
}

func inHash(draw func(*rand.Rand) string) clients.New {
	return func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			token := draw(env.Rand)
			start := env.Clock.Now()
			n, err := hashTake.Run(ctx, env.Nodes[0], []string{name}, token, ttl.Milliseconds()).Int()
			if err != nil {
				return nil, parts.NotRun(err)
			}
			if n == 0 {
				return nil, clients.ErrNotAcquired
			}
			lease := &hashLease{parts.Lease{Env: env, Name: name, Token: token, End: start.Add(ttl)}}
			if !env.Clock.Now().Before(lease.End) {
				lease.Release(context.WithoutCancel(ctx)) // the lease is over, so the outcome does not matter
				return nil, clients.ErrNotAcquired
			}
			return lease, nil
		})
	}
}

var (
	hashTake = redis.NewScript(`
		if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
		redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'ttl', ARGV[2])
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
		return 1`)
	hashRelease = redis.NewScript(`
		if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
		return redis.call('DEL', KEYS[1])`)
)

type hashLease struct{ parts.Lease }

func (l *hashLease) Release(ctx context.Context) error {
	return parts.Held(hashRelease.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token).Int())
}
