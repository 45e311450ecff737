package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// releasePrefix keeps more than one key under the name of its lock, and deletes all keys that begin with that name. It needs another lock
// whose name begins with it.
var releasePrefix = clients.Lock{
	Name:  "single-release-prefix",
	About: "single, whose release deletes all keys that begin with the name of the lock",
	Like:  []string{"single"},
	New:   deletes("*"),
}

// releaseParts deletes the keys that begin with that name and a colon.
var releaseParts = clients.Lock{
	Name:  "single-release-parts",
	About: "single, whose release also deletes all keys that begin with the name of the lock and a colon",
	Like:  []string{"single"},
	New:   deletes(":*"),
}

// deletes returns a lock whose release deletes its key, and those whose names match its own name with a pattern after it.
func deletes(pattern string) clients.New {
	return func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &prefixLease{lease, pattern}, nil
		})
	}
}

var releasePrefixScript = redis.NewScript(`
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
	return redis.call('DEL', KEYS[1], unpack(redis.call('KEYS', KEYS[1] .. ARGV[2])))`)

type prefixLease struct {
	*parts.Lease
	pattern string
}

func (l *prefixLease) Release(ctx context.Context) error {
	return parts.Held(releasePrefixScript.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token, l.pattern).Int())
}
