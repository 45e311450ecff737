package clients

import (
	"context"
	"time"
)

// fixedValue is what every key of [NewFixed] holds.
const fixedValue = "locked"

// NewFixed is the lock of [NewSingle] with the same value for all clients, so that release has nothing to compare: a client that
// outlives its TTL deletes the lock of the next holder, and lets in a third (anon2023, part 1, section 4).
func NewFixed(env Env) Locker { return &fixed{env} }

type fixed struct{ env Env }

func (l *fixed) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	lease, err := l.env.take(ctx, name, fixedValue, ttl)
	if err != nil {
		return nil, err
	}
	return &fixedLease{lease}, nil
}

type fixedLease struct{ *singleLease }

func (l *fixedLease) Release(ctx context.Context) error { return l.remove(ctx) }

// remove deletes the key, whatever it holds.
func (l *singleLease) remove(ctx context.Context) error {
	n, err := l.env.Nodes[0].Del(ctx, l.name).Result()
	if err == nil && n == 0 {
		return ErrNotHeld
	}
	return err
}
