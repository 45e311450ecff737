package clients

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// Incrementer is a [Locker] with its own way of adding one to a number, which uses more than the lock.
type Incrementer interface {
	// Increment adds one to the number at a key of the store, and returns the number that it wrote. The error wraps [ErrSkipped]
	// if it certainly wrote nothing; after any other error the outcome is unknown.
	Increment(ctx context.Context, store *redis.Client, key string) (int64, error)
}

// ErrSkipped says that a number was not changed.
var ErrSkipped = errors.New("increment skipped")
