package broken

import (
	"context"
	"errors"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// reentrant lets a client in again that has the lock already, for another TTL, without setting the TTL of the key: the key expires
// first, and another client gets the lock. It needs a client that asks again while its key is there, as when the reply to SET or
// the release was lost.
var reentrant = clients.Lock{
	Name:  "single-reentrant",
	About: "single, whose client can take it again, which does not prolong the key",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		token := parts.Token(env.Rand)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			start := env.Clock.Now()
			lease, err := parts.Take(ctx, env, name, token, ttl)
			if !errors.Is(err, clients.ErrNotAcquired) {
				return parts.Granted(lease, err)
			}
			if held := env.Nodes[0].Get(ctx, name).Val(); held != token {
				return nil, err
			}
			return parts.Granted((&parts.Lease{Env: env, Name: name, Token: token, End: start.Add(ttl)}).Arrived(ctx))
		})
	},
}
