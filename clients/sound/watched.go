package sound

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// watched releases without a script: WATCH, then GET and the comparison in the client, then MULTI, DEL, EXEC. EXEC does nothing if
// the key has changed since WATCH, and then it is no longer ours, because nobody else changes a key that is.
var watched = clients.Lock{
	Name:  "single-watched",
	About: "single, released by WATCH, GET, MULTI, DEL, EXEC",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &watchedLease{lease}, nil
		})
	},
}

type watchedLease struct{ *parts.Lease }

func (l *watchedLease) Release(ctx context.Context) error {
	err := l.Env.Nodes[0].Watch(ctx, func(tx *redis.Tx) error {
		held, err := tx.Get(ctx, l.Name).Result()
		if errors.Is(err, redis.Nil) || err == nil && held != l.Token {
			return clients.ErrNotHeld
		}
		if err != nil {
			return err
		}
		var deleted *redis.IntCmd
		_, err = tx.TxPipelined(ctx, func(queue redis.Pipeliner) error {
			deleted = queue.Del(ctx, l.Name)
			return nil
		})
		if err == nil && deleted.Val() == 0 {
			return clients.ErrNotHeld
		}
		return err
	}, l.Name)
	if errors.Is(err, redis.TxFailedErr) {
		return clients.ErrNotHeld
	}
	return err
}
