package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendFirst remembers the TTL with which it acquired the lock, and extends by it, whatever TTL it is asked for. It needs a holder who
// asks for more, and then does what takes longer than the first TTL.
var extendFirst = clients.Lock{
	Name:  "single-extend-first-ttl",
	About: "single, always extended by the TTL with which it was acquired",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &extendFirstLease{lease, ttl}, nil
		})
	},
}

type extendFirstLease struct {
	*parts.Lease
	ttl time.Duration
}

func (l *extendFirstLease) Extend(ctx context.Context, _ time.Duration) error {
	start := l.Env.Clock.Now()
	n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, l.ttl)
	return l.Extended(n != 0, err, start.Add(l.ttl))
}
