package sound

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// published deletes the key by UNLINK, and tells everybody who listens that the lock is free, in the script that compares. A waiter
// that hears it asks for the lock as others do.
var published = clients.Lock{
	Name:  "single-published",
	About: "single, released by a script with UNLINK and PUBLISH",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &publishedLease{lease}, nil
		})
	},
}

type publishedLease struct{ *parts.Lease }

var publishedScript = redis.NewScript(`
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
	redis.call('UNLINK', KEYS[1])
	redis.call('PUBLISH', KEYS[1] .. ':free', '1')
	return 1`)

func (l *publishedLease) Release(ctx context.Context) error {
	return parts.Held(publishedScript.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token).Int())
}
