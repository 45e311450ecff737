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

// waitsForMessage waits for the message that a release publishes, and for nothing else. But nothing is published when the key of
// a crashed client expires, and a message published between the refusal and the subscription is missed.
var waitsForMessage = clients.Lock{
	Name:  "single-waits-for-message",
	About: "single, which waits for a message that the release publishes, however long that takes",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if errors.Is(err, clients.ErrNotAcquired) {
				lease, err = takeWhenTold(ctx, env, name, ttl)
			}
			if err != nil {
				return nil, err
			}
			return &tellingLease{lease}, nil
		})
	},
}

func takeWhenTold(ctx context.Context, env clients.Env, name string, ttl time.Duration) (lease *parts.Lease, err error) {
	free := env.Nodes[0].Subscribe(ctx, name+":free")
	defer free.Close()
	for {
		if _, err := free.ReceiveMessage(ctx); err != nil {
			return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, err)
		}
		lease, err = parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
		if !errors.Is(err, clients.ErrNotAcquired) {
			return lease, err
		}
	}
}

type tellingLease struct{ *parts.Lease }

var tellingScript = redis.NewScript(`
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
	redis.call('PUBLISH', KEYS[1] .. ':free', '1')
	return redis.call('DEL', KEYS[1])`)

func (l *tellingLease) Release(ctx context.Context) error {
	return parts.Held(tellingScript.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token).Int())
}
