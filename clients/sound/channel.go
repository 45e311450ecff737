package sound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// channel waits for the message of a release on the Go channel of a go-redis subscription. A goroutine of go-redis feeds that channel. It pings
// when it has heard nothing for three seconds, and dials again after an error, holding the mutex that closing the subscription needs.
var channel = clients.Lock{
	Name:  "single-channel",
	About: "single, which waits for a message of the release on the Go channel of go-redis",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if errors.Is(err, clients.ErrNotAcquired) {
				lease, err = takeOnceHeard(ctx, env, name, ttl)
			}
			if err != nil {
				return nil, err
			}
			return &publishedLease{lease}, nil
		})
	},
}

func takeOnceHeard(ctx context.Context, env clients.Env, name string, ttl time.Duration) (*parts.Lease, error) {
	free := env.Nodes[0].Subscribe(ctx, freed(name))
	defer free.Close()
	if _, err := free.Receive(ctx); err != nil { // the reply to SUBSCRIBE
		return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, err)
	}
	heard := free.Channel()
	for end := env.Clock.Now().Add(patience); ; {
		lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
		if !errors.Is(err, clients.ErrNotAcquired) {
			return lease, err
		}
		left, keyErr := env.Nodes[0].PTTL(ctx, name).Result()
		wait := min(max(left, 0)+time.Millisecond, end.Sub(env.Clock.Now())) // a key lives to the end of its last millisecond
		if keyErr != nil || wait <= 0 {
			return nil, errors.Join(err, keyErr)
		}
		select {
		case <-heard:
		case <-env.Clock.After(wait):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}
