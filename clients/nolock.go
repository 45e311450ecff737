package clients

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// NewNoLock is no lock at all: an increment is GET, add one, SET (nemo2018, example 1). Each command is atomic, but the three
// steps are not, so two clients may read the same number, and one of their increments is lost. The usleep(0.01) in the loop of
// the source is usleep(0): it takes whole microseconds.
//
// It grants leases to everybody, at once and without a request, and they have no end.
func NewNoLock(Env) Locker { return noLock{} }

type noLock struct{}

func (noLock) Acquire(ctx context.Context, _ string, _ time.Duration) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return noLease{}, nil
}

func (noLock) Increment(ctx context.Context, store *redis.Client, key string) (int64, error) {
	n, err := number(store.Get(ctx, key))
	if err != nil {
		return 0, err
	}
	return n + 1, store.Set(ctx, key, n+1, 0).Err()
}

// number returns the number that was read, before anything is written: an error means that nothing was written. A missing number
// is 0, as with (int) in the source.
func number(read *redis.StringCmd) (int64, error) {
	n, err := read.Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, skipped(err)
	}
	return n, nil
}

type noLease struct{}

func (noLease) Until() time.Time { return time.Time{} }

func (noLease) Release(ctx context.Context) error { return ctx.Err() }
