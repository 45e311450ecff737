package broken

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendGet extends in two steps: GET, and PEXPIRE if the value is its token. In between the lock can pass to another, whose key it
// then prolongs, and it takes itself for the holder. It needs a pause or a slow message between the two at the end of the lease.
var extendGet = clients.Lock{
	Name:  "single-extend-get",
	About: "single, extended by GET, comparison in the client, and PEXPIRE",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &extendGetLease{lease}, nil
		})
	},
}

type extendGetLease struct{ *parts.Lease }

func (l *extendGetLease) Extend(ctx context.Context, ttl time.Duration) error {
	start := l.Env.Clock.Now()
	held, err := l.Env.Nodes[0].Get(ctx, l.Name).Result()
	if errors.Is(err, redis.Nil) || err == nil && held != l.Token {
		return clients.ErrNotHeld
	}
	if err != nil {
		return err
	}
	ok, err := l.Env.Nodes[0].PExpire(ctx, l.Name, ttl).Result()
	return l.Extended(ok, err, start.Add(ttl))
}
