package broken

import (
	"context"
	"errors"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendSoft reports an extension that the node refuses like one that failed for the moment, so that its holder goes on until the old
// end of the lease. It needs a key that is gone before that.
var extendSoft = clients.Lock{
	Name:  "single-extend-soft",
	About: "single, whose extension does not tell a refusal from a failure",
	Like:  []string{"single"},
	New: extendable(func(l *parts.Lease, ctx context.Context, ttl time.Duration) error {
		until := l.Env.Clock.Now().Add(ttl)
		n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
		if err = l.Extended(n != 0, err, until); errors.Is(err, clients.ErrNotHeld) {
			return clients.ErrNotExtended
		}
		return err
	}),
}

// extendable is single with an extension.
func extendable(extend func(l *parts.Lease, ctx context.Context, ttl time.Duration) error) clients.New {
	return func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &extendableLease{lease, extend}, nil
		})
	}
}

type extendableLease struct {
	*parts.Lease
	extend func(l *parts.Lease, ctx context.Context, ttl time.Duration) error
}

func (l *extendableLease) Extend(ctx context.Context, ttl time.Duration) error {
	return l.extend(l.Lease, ctx, ttl)
}
