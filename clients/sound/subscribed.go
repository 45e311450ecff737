package sound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

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
	New: subscribing(func(ctx context.Context, _ clients.Env, free *redis.PubSub) func(time.Duration) error {
		return func(wait time.Duration) error {
			var late net.Error
			if _, err := free.ReceiveTimeout(ctx, wait); err != nil && !(errors.As(err, &late) && late.Timeout()) {
				return err
			}
			return nil
		}
	}),
}

// channel waits for the message of a release on the Go channel of a go-redis subscription. A goroutine of go-redis feeds that channel. It pings
// when it has heard nothing for three seconds, and dials again after an error, holding the mutex that closing the subscription needs.
var channel = clients.Lock{
	Name:  "single-channel",
	About: "single, which waits for a message of the release on the Go channel of go-redis",
	Like:  []string{"single"},
	New: subscribing(func(ctx context.Context, env clients.Env, free *redis.PubSub) func(time.Duration) error {
		heard := free.Channel()
		return func(wait time.Duration) error {
			select {
			case <-heard:
			case <-env.Clock.After(wait):
			case <-ctx.Done():
				return ctx.Err()
			}
			return nil
		}
	}),
}

// patience is how long a waiter waits.
const patience = time.Second

// subscribing makes locks that wait for a message. hearing returns, for a subscription, a function that waits for the next message, but no
// longer than the given time.
func subscribing(hearing func(context.Context, clients.Env, *redis.PubSub) func(time.Duration) error) clients.New {
	return func(env clients.Env) clients.Locker {
		onceFree := func(ctx context.Context, name string, ttl time.Duration) (*parts.Lease, error) {
			end := env.Clock.Now().Add(patience)
			free := env.Nodes[0].Subscribe(ctx, freed(name))
			defer free.Close()
			if _, err := free.Receive(ctx); err != nil { // the reply to SUBSCRIBE
				return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, err)
			}
			hear := hearing(ctx, env, free)
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
				if heard := hear(wait); heard != nil {
					return nil, fmt.Errorf("%w: %w", err, heard)
				}
			}
		}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if errors.Is(err, clients.ErrNotAcquired) {
				lease, err = onceFree(ctx, name, ttl)
			}
			if err != nil {
				return nil, err
			}
			return &publishedLease{lease}, nil
		})
	}
}

// freed is the channel on which a release publishes.
func freed(name string) string { return name + ":free" }
