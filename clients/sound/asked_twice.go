package sound

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// askedTwice asks again if an extension is not answered. If the lease was to end sooner, the second request may find the key gone, which
// is as it should be: the lease has ended by then.
var askedTwice = clients.Lock{
	Name:  "single-extend-twice",
	About: "single, which asks once more for an extension that is not answered",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &twiceLease{lease}, nil
		})
	},
}

type twiceLease struct{ *parts.Lease }

func (l *twiceLease) Extend(ctx context.Context, ttl time.Duration) error {
	now := l.Env.Clock.Now()
	if !now.Before(l.End) {
		return clients.ErrNotHeld
	}
	until := now.Add(ttl)
	if until.Before(l.End) {
		l.End = until
	}
	n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
	if err != nil {
		n, err = parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
	}
	return l.Extended(n != 0, err, until)
}
