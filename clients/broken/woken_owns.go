package broken

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// wokenOwns has waiters wait by BLPOP for an element that a release pushes, and takes the element for the lock: whoever gets it
// sets the key without NX. But the element may be left from a release for which nobody waited, while another client has the key.
// Or another client may set the key before a slow waiter does. It needs a release before the lease that is broken.
var wokenOwns = clients.Lock{
	Name:  "single-woken-owns",
	About: "single, which waits by BLPOP for an element that the release pushes, and then sets the key without NX",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		node := env.Nodes[0]
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if errors.Is(err, clients.ErrNotAcquired) {
				if woken := node.BLPop(ctx, time.Second, "{"+name+"}:signal").Err(); woken != nil {
					return nil, fmt.Errorf("%w: %w", err, woken)
				}
				lease = &parts.Lease{Env: env, Name: name, Token: parts.Token(env.Rand), End: env.Clock.Now().Add(ttl)}
				if err = node.Set(ctx, name, lease.Token, ttl).Err(); err == nil {
					lease, err = lease.Arrived(ctx)
				}
			}
			if err != nil {
				return nil, err
			}
			return &wokenLease{lease}, nil
		})
	},
}

type wokenLease struct{ *parts.Lease }

var wokenScript = redis.NewScript(`
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
	redis.call('DEL', KEYS[2])
	redis.call('LPUSH', KEYS[2], '1')
	return redis.call('DEL', KEYS[1])`)

func (l *wokenLease) Release(ctx context.Context) error {
	return parts.Held(wokenScript.Run(ctx, l.Env.Nodes[0], []string{l.Name, "{" + l.Name + "}:signal"}, l.Token).Int())
}
