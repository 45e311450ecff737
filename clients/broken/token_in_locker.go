package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// tokenInLocker keeps the token of its lease in a field of the Locker, where the next acquire overwrites it, even one that is refused.
// After that it cannot release the lease. It needs a client that asks for the lock while it holds it, as another goroutine of its
// process may.
var tokenInLocker = clients.Lock{
	Name:  "single-token-in-locker",
	About: "single, which keeps its token where the next acquire overwrites it",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		var token string
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			token = parts.Token(env.Rand)
			lease, err := parts.Take(ctx, env, name, token, ttl)
			if err != nil {
				return nil, err
			}
			return &lockersToken{lease, &token}, nil
		})
	},
}

type lockersToken struct {
	*parts.Lease
	token *string // of the Locker
}

func (l *lockersToken) Release(ctx context.Context) error {
	return parts.Held(parts.ReleaseOn(ctx, l.Env.Nodes[0], l.Name, *l.token))
}
