package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendLater keeps the later of two ends when it is extended, so that its lease never becomes shorter. But the node sets whatever TTL
// it is given. It needs an extension by less than what is left, and a holder who then relies on the end that it had before.
var extendLater = clients.Lock{
	Name:  "single-extend-later-end",
	About: "single, whose end stays the later one if it is extended by less than what is left",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &extendLaterLease{lease}, nil
		})
	},
}

type extendLaterLease struct{ *parts.Lease }

func (l *extendLaterLease) Extend(ctx context.Context, ttl time.Duration) error {
	before, until := l.End, l.Env.Clock.Now().Add(ttl)
	n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
	if err := l.Extended(n != 0, err, until); err != nil {
		return err
	}
	if before.After(until) {
		l.End = before
	}
	return nil
}
