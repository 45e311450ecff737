package sound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// signalled waits for at most a second until the lock is free, as python-redis-lock does: a release pushes to a list, and waiters
// wait for an element by BLPOP. Whoever gets it asks for the lock as others do. The element is only a hint: it may be left from a
// release for which nobody waited, or be lost with the connection of a waiter. Then the timeout of BLPOP wakes the others.
var signalled = clients.Lock{
	Name:  "single-signalled",
	About: "single, which waits by BLPOP for an element that the release pushes",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			for end := env.Clock.Now().Add(patience); ; {
				lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
				switch {
				case err == nil:
					return &signalledLease{lease, ttl}, nil
				case !errors.Is(err, clients.ErrNotAcquired), !env.Clock.Now().Before(end):
					return nil, err
				}
				if woken := env.Nodes[0].BLPop(ctx, patience, signal(name)).Err(); woken != nil && !errors.Is(woken, redis.Nil) {
					return nil, fmt.Errorf("%w: %w", err, woken)
				}
			}
		})
	},
}

// signal is the list to which a release pushes, in the slot of the lock.
func signal(name string) string { return "{" + name + "}:signal" }

type signalledLease struct {
	*parts.Lease
	ttl time.Duration
}

var signalledScript = redis.NewScript(`
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
	redis.call('DEL', KEYS[2])
	redis.call('LPUSH', KEYS[2], '1')
	redis.call('PEXPIRE', KEYS[2], ARGV[2])
	return redis.call('DEL', KEYS[1])`)

func (l *signalledLease) Release(ctx context.Context) error {
	keys := []string{l.Name, signal(l.Name)}
	return parts.Held(signalledScript.Run(ctx, l.Env.Nodes[0], keys, l.Token, l.ttl.Milliseconds()).Int())
}
