package clients

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// Incrementer is a [Locker] that adds one to a number in a way of its own, which the lock alone does not describe.
type Incrementer interface {
	// Increment adds one to the number that a key of the store holds, and returns what it wrote. The error wraps [ErrSkipped]
	// if it certainly wrote nothing; any other leaves that unknown.
	Increment(ctx context.Context, store *redis.Client, key string) (int64, error)
}

// ErrSkipped says that a number was left as it was.
var ErrSkipped = errors.New("increment skipped")
