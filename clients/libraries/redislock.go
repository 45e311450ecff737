package libraries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"lockstep/clients"
)

const redislockModule = "github.com/bsm/redislock"

// redislocks lists redislock without options, with the retry strategy that its documentation shows, and without the retries of
// go-redis.
func redislocks() []Lock {
	return []Lock{
		redislockWith("redislock", "redislock without options, over go-redis with its defaults: one try", stock, noOptions),
		redislockWith("redislock-linear", "redislock that tries four times, 100 ms apart: LimitRetry, LinearBackoff", stock, linear),
		redislockWith("redislock-no-retries", "redislock over go-redis without retries: MaxRetries -1", nil, noOptions),
	}
}

func noOptions() *redislock.Options { return nil }

// linear returns options for one call of Obtain: the strategy has a counter.
func linear() *redislock.Options {
	return &redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(100*time.Millisecond), 3)}
}

func redislockWith(name, about string, change func(*redis.Options), options func() *redislock.Options) Lock {
	build := func(env clients.Env) clients.Locker {
		return &redislocker{redislock.New(nodes(env, change)[0]), options}
	}
	return Lock{Lock: clients.Lock{Name: name, About: about, Like: []string{"single", "single-extend"}, New: build}, Module: redislockModule}
}

type redislocker struct {
	*redislock.Client
	options func() *redislock.Options
}

func (l *redislocker) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lock, err := l.Obtain(ctx, name, ttl, l.options())
	if err != nil {
		return nil, meaning(err, redislock.ErrNotObtained, clients.ErrNotAcquired)
	}
	return redislockLease{lock}, nil
}

// meaning wraps ours around err if err is the library's error theirs.
func meaning(err, theirs, ours error) error {
	if errors.Is(err, theirs) {
		return fmt.Errorf("%w: %w", ours, err)
	}
	return err
}

type redislockLease struct{ *redislock.Lock }

// Until is unknown: redislock can ask the node how long the key will last, but does not say how long the holder may rely on it.
func (redislockLease) Until() time.Time { return time.Time{} }

func (l redislockLease) Release(ctx context.Context) error {
	return meaning(l.Lock.Release(ctx), redislock.ErrLockNotHeld, clients.ErrNotHeld)
}

// Extend is refused by a node that no longer has our key.
func (l redislockLease) Extend(ctx context.Context, ttl time.Duration) error {
	return meaning(l.Refresh(ctx, ttl, nil), redislock.ErrNotObtained, clients.ErrNotHeld)
}
