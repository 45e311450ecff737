package sound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// subscribed waits for at most a second until the lock is free, as Redisson does: it subscribes to a channel on which a release
// publishes, and asks again when it hears a message. It subscribes before it asks again, so it misses no release. It also asks
// when the key expires, since nothing is published then.
var subscribed = clients.Lock{
	Name:  "single-subscribed",
	About: "single, which waits for a message that the release publishes, or for the end of the key",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if errors.Is(err, clients.ErrNotAcquired) {
				lease, err = takeOnceFree(ctx, env, name, ttl)
			}
			if err != nil {
				return nil, err
			}
			return &publishedLease{lease}, nil
		})
	},
}

// patience is how long a waiter waits.
const patience = time.Second

func takeOnceFree(ctx context.Context, env clients.Env, name string, ttl time.Duration) (*parts.Lease, error) {
	end := env.Clock.Now().Add(patience)
	free := env.Nodes[0].Subscribe(ctx, freed(name))
	defer free.Close()
	if _, err := free.Receive(ctx); err != nil { // the reply to SUBSCRIBE
		return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, err)
	}
	for {
		lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
		if !errors.Is(err, clients.ErrNotAcquired) {
			return lease, err
		}
		left, keyErr := env.Nodes[0].PTTL(ctx, name).Result()
		wait := min(max(left, 0)+time.Millisecond, end.Sub(env.Clock.Now())) // a key lives to the end of its last millisecond
		if keyErr != nil || wait <= 0 {
			return nil, errors.Join(err, keyErr)
		}
		var late net.Error
		if _, heard := free.ReceiveTimeout(ctx, wait); heard != nil && !(errors.As(heard, &late) && late.Timeout()) {
			return nil, fmt.Errorf("%w: %w", err, heard)
		}
	}
}

// freed is the channel on which a release publishes.
func freed(name string) string { return name + ":free" }
