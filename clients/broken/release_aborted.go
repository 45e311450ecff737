package broken

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// releaseAborted releases by a transaction that watches the key, and takes it to be lost if the transaction is aborted. It needs a renewal of
// its own between WATCH and EXEC.
var releaseAborted = clients.Lock{
	Name:  "watchdog-release-aborted",
	About: "watchdog, whose release gives up if a renewal aborts its transaction",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		watchdog := parts.Watchdog(func(*parts.Renewed, time.Duration) {})(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := watchdog.Acquire(ctx, name, ttl)
			if err != nil {
				return nil, err
			}
			return &abortedLease{lease.(*parts.Renewed)}, nil
		})
	},
}

type abortedLease struct{ *parts.Renewed }

func (l *abortedLease) Release(ctx context.Context) error {
	err := l.Env.Nodes[0].Watch(ctx, func(tx *redis.Tx) error {
		held, err := tx.Get(ctx, l.Name).Result()
		if errors.Is(err, redis.Nil) || err == nil && held != l.Token {
			return clients.ErrNotHeld
		}
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(queue redis.Pipeliner) error {
			queue.Del(ctx, l.Name)
			return nil
		})
		return err
	}, l.Name)
	if errors.Is(err, redis.TxFailedErr) {
		err = clients.ErrNotHeld
	}
	return l.Ended(err)
}
