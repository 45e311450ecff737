package broken

import (
	"context"
	"errors"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// waitCleanUpCancelled deletes a key that no replica has acknowledged with the context of its caller, which may have ended. It needs such a
// context, and a replica that is out of reach.
var waitCleanUpCancelled = clients.Lock{
	Name:  "single-wait-clean-up-cancelled",
	About: "single-wait, which deletes its key with the context of the caller if WAIT fails",
	Like:  []string{"single-wait"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			conn := env.Nodes[0].Conn()
			defer conn.Close()
			l := &parts.Lease{Env: env, Name: name, Token: parts.Token(env.Rand), End: env.Clock.Now().Add(ttl)}
			ok, err := conn.SetNX(ctx, name, l.Token, ttl).Result()
			if err != nil {
				return nil, parts.NotRun(err)
			}
			if !ok {
				return nil, clients.ErrNotAcquired
			}
			if n, err := conn.Wait(ctx, 1, time.Second).Result(); err != nil || n < 1 {
				return nil, errors.Join(clients.ErrNotAcquired, err, l.Release(ctx))
			}
			return parts.Granted(l.Arrived(ctx))
		})
	},
}
