package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// waitExtend is single-wait whose extension does not wait for a replica. It needs a failover after an extension that the replica has not received.
var waitExtend = clients.Lock{
	Name:  "single-wait-extend",
	About: "single-wait, whose extension does not wait for a replica",
	Like:  []string{"single-wait"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.TakeWaiting(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &waitExtendLease{lease}, nil
		})
	},
}

type waitExtendLease struct{ *parts.Lease }

func (l *waitExtendLease) Extend(ctx context.Context, ttl time.Duration) error {
	until := l.Env.Clock.Now().Add(ttl)
	n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
	return l.Extended(n != 0, err, until)
}
