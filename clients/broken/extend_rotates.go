package broken

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendRotates writes a new token with each extension, and forgets the old one, whatever the nodes say. It needs an extension that does not
// reach a majority, and then a release: nodes that did not get the new token keep the key.
var extendRotates = clients.Lock{
	Name:  "redlock-extend-rotates",
	About: "redlock-extend, whose extension takes a new token, even if too few nodes have it",
	Like:  []string{"redlock-extend"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, ttl, func(l *parts.RedlockLease) clients.Lease { return &rotatingLease{l} })
		})
	},
}

type rotatingLease struct{ *parts.RedlockLease }

func (l *rotatingLease) Extend(ctx context.Context, ttl time.Duration) error {
	r := l.Redlock
	start := r.Env.Clock.Now()
	if !start.Before(l.End) {
		return clients.ErrNotHeld
	}
	if until, _ := r.Validity(start, ttl); until.Before(l.End) {
		l.End = until
	}
	old, next := l.Token, parts.Token(r.Env.Rand)
	l.Token = next
	extended := 0
	for _, err := range r.Ask(ctx, func(ctx context.Context, _ int, node *redis.Client) error {
		return replace(ctx, node, l.Name, old, next, ttl)
	}) {
		if err == nil {
			extended++
		}
	}
	until, left := r.Validity(start, ttl)
	if extended < r.Quorum() || !left {
		return fmt.Errorf("%w: %d nodes extended it", clients.ErrNotExtended, extended)
	}
	l.End = until
	return nil
}
