package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// tokenOfName keeps the token of a lease in the Locker, under the name of the lock. Once a lease is over and its client has the lock
// again, a release of the old lease gives back the new one. It needs work that ends after its lease, in a process that has got the
// lock again meanwhile.
var tokenOfName = clients.Lock{
	Name:  "single-token-of-name",
	About: "single, which keeps one token for each name, that of the newest lease",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		tokens := map[string]string{}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			tokens[name] = lease.Token
			return &tokenByName{lease, tokens}, nil
		})
	},
}

type tokenByName struct {
	*parts.Lease
	tokens map[string]string // of the Locker
}

func (l *tokenByName) Release(ctx context.Context) error {
	return parts.Held(parts.ReleaseOn(ctx, l.Env.Nodes[0], l.Name, l.tokens[l.Name]))
}
