package sound

import (
	"context"
	"errors"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// verified looks at the key when it does not know what became of its SET. If the key has its token, it has the lock, from before
// the SET on. If not, the SET may still arrive: the outcome stays unknown.
var verified = clients.Lock{
	Name:  "single-verified",
	About: "single, which asks by GET what became of a SET without a reply",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			token := parts.Token(env.Rand)
			start := env.Clock.Now()
			lease, err := parts.Take(ctx, env, name, token, ttl)
			if err == nil {
				return lease, nil
			}
			if errors.Is(err, clients.ErrNotAcquired) {
				return nil, err
			}
			if held := env.Nodes[0].Get(ctx, name).Val(); held != token {
				return nil, err
			}
			return parts.Granted((&parts.Lease{Env: env, Name: name, Token: token, End: start.Add(ttl)}).Arrived(ctx))
		})
	},
}
