package clients

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// NewGetDel is the lock of [NewSingle] that is released in three steps, GET, comparison in the client, and DEL: a client that is
// paused between the comparison and DEL until its TTL has passed deletes the lock of the next holder (anon2023, part 1, section
// 5).
func NewGetDel(env Env) Locker { return &getDel{env} }

type getDel struct{ env Env }

func (l *getDel) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	lease, err := l.env.take(ctx, name, newToken(l.env.Rand), ttl)
	if err != nil {
		return nil, err
	}
	return &getDelLease{lease}, nil
}

type getDelLease struct{ *singleLease }

func (l *getDelLease) Release(ctx context.Context) error {
	if err := l.compare(ctx); err != nil {
		return err
	}
	return l.remove(ctx)
}

// compare checks whether the key holds our token now.
func (l *singleLease) compare(ctx context.Context) error {
	held, err := l.env.Nodes[0].Get(ctx, l.name).Result()
	if errors.Is(err, redis.Nil) || err == nil && held != l.token {
		return ErrNotHeld
	}
	return err
}
