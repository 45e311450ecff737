package broken

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// lateWatch releases by a transaction and watches the key, but only after it has compared: a lock that passed to another between
// GET and WATCH is deleted. It needs a pause or a slow message between the two at the end of the lease.
var lateWatch = clients.Lock{
	Name:  "single-late-watch",
	About: "single, released by GET, WATCH, MULTI, DEL, EXEC in this order",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &lateWatchLease{lease}, nil
		})
	},
}

type lateWatchLease struct{ *parts.Lease }

func (l *lateWatchLease) Release(ctx context.Context) error {
	node := l.Env.Nodes[0]
	held, err := node.Get(ctx, l.Name).Result()
	if errors.Is(err, redis.Nil) || err == nil && held != l.Token {
		return clients.ErrNotHeld
	}
	if err != nil {
		return err
	}
	var deleted *redis.IntCmd
	err = node.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(queue redis.Pipeliner) error {
			deleted = queue.Del(ctx, l.Name)
			return nil
		})
		return err
	}, l.Name)
	if errors.Is(err, redis.TxFailedErr) || err == nil && deleted.Val() == 0 {
		return clients.ErrNotHeld
	}
	return err
}
