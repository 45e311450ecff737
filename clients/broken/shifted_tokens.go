package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// shiftedTokens draws a token for each node, and keeps those of the nodes that granted the lock in a list. It releases by their
// places in the list: once a node has not granted it, each of the following is sent the token of another, and keeps its key. It
// needs a node that is down or refuses.
var shiftedTokens = clients.Lock{
	Name:  "redlock-shifted-tokens",
	About: "Redlock with a token for each node, which confuses them if a node did not grant it",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Retry(ctx, func() (clients.Lease, error) {
				var drawn, tokens []string
				for range env.Nodes {
					drawn = append(drawn, parts.Token(env.Rand))
				}
				start := env.Clock.Now()
				for i, err := range r.Ask(ctx, func(ctx context.Context, i int, node *redis.Client) error {
					return parts.Set(name, drawn[i], ttl)(ctx, i, node)
				}) {
					if err == nil {
						tokens = append(tokens, drawn[i])
					}
				}
				until, left := r.Validity(start, ttl)
				lease := &shiftedLease{parts.RedlockLease{Redlock: r, Name: name, End: until}, tokens}
				if len(tokens) >= r.Quorum() && left {
					return lease, nil
				}
				lease.Release(context.WithoutCancel(ctx))
				return nil, r.Few(len(tokens))
			})
		})
	},
}

type shiftedLease struct {
	parts.RedlockLease
	tokens []string
}

func (l *shiftedLease) Release(ctx context.Context) error {
	return l.Redlock.Released(l.Redlock.Ask(ctx, func(ctx context.Context, i int, node *redis.Client) error {
		if i >= len(l.tokens) {
			return parts.Delete(l.Name, "")(ctx, i, node)
		}
		return parts.Delete(l.Name, l.tokens[i])(ctx, i, node)
	}))
}
