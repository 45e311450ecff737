package clients

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// NewWatch is a transaction instead of a lock, which the Redis documentation calls optimistic locking: WATCH, GET, and then
// MULTI, SET, EXEC, which does nothing if the key has changed since WATCH. An increment that fails in this way is counted and
// skipped (nemo2018, example 2). No update is lost, but a total that is far too low looks the same: the source, whose clients
// skipped 33043 and 63228 of 100000 increments each, concludes that transactions do not work.
//
// phpredis sends MULTI, SET and EXEC one after the other; here they are sent together, which makes no difference with WATCH. The
// leases of this lock and the following two are those of [NewNoLock].
func NewWatch(Env) Locker { return &optimistic{increment: watchIncrement} }

// NewWatchRetry is [NewWatch] that starts again until EXEC succeeds, as the Redis documentation requires
// (https://redis.io/docs/latest/develop/using-commands/transactions/, "Optimistic locking using check-and-set"; quoted in
// nemo2018, 0x03).
func NewWatchRetry(Env) Locker { return &optimistic{increment: watchUntilDone} }

// NewWatchInMulti is [NewWatch] with GET between MULTI and EXEC, which nemo2018, 0x03, warns of: there GET is only queued, and
// its result is not the number. In PHP it is the Redis object, and (int) of an object is 1, so that every increment writes 2 and
// reports success.
func NewWatchInMulti(Env) Locker { return &optimistic{increment: watchInMulti} }

type optimistic struct {
	noLock
	increment func(ctx context.Context, store *redis.Client, key string) (int64, error)
}

func (l *optimistic) Increment(ctx context.Context, store *redis.Client, key string) (int64, error) {
	return l.increment(ctx, store, key)
}

func watchIncrement(ctx context.Context, store *redis.Client, key string) (written int64, err error) {
	return written, transact(ctx, store, key, func(tx *redis.Tx) error {
		n, err := number(tx.Get(ctx, key))
		if err != nil {
			return err
		}
		written = n + 1
		_, err = tx.TxPipelined(ctx, func(queue redis.Pipeliner) error { return queue.Set(ctx, key, written, 0).Err() })
		return err
	})
}

func watchUntilDone(ctx context.Context, store *redis.Client, key string) (int64, error) {
	for {
		n, err := watchIncrement(ctx, store, key)
		if !errors.Is(err, redis.TxFailedErr) {
			return n, err
		}
	}
}

func watchInMulti(ctx context.Context, store *redis.Client, key string) (int64, error) {
	const object = 1 // the value of (int) in PHP for the reply that is not there yet
	return object + 1, transact(ctx, store, key, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(queue redis.Pipeliner) error {
			queue.Get(ctx, key)
			return queue.Set(ctx, key, object+1, 0).Err()
		})
		if errors.Is(err, redis.Nil) { // there was no number yet; EXEC succeeded
			return nil
		}
		return err
	})
}

// transact watches a key while f reads and writes it. Nothing is written if WATCH fails, or if EXEC fails because of it.
func transact(ctx context.Context, store *redis.Client, key string, f func(*redis.Tx) error) error {
	watched := false
	err := store.Watch(ctx, func(tx *redis.Tx) error {
		watched = true
		return f(tx)
	}, key)
	if err != nil && !watched || errors.Is(err, redis.TxFailedErr) {
		return skipped(err)
	}
	return err
}

// skipped returns an error that says that nothing was written, and why.
func skipped(err error) error { return fmt.Errorf("%w: %w", ErrSkipped, err) }
