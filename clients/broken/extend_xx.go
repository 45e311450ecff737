package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendXX extends by SET with XX, which asks only whether there is a key, not whose: who extends a lease that is over puts its own
// token over that of the next holder. It needs an extension after the end of the lease, as after a pause.
var extendXX = clients.Lock{
	Name:  "single-extend-xx",
	About: "single, extended by SET XX PX",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &extendXXLease{lease}, nil
		})
	},
}

type extendXXLease struct{ *parts.Lease }

func (l *extendXXLease) Extend(ctx context.Context, ttl time.Duration) error {
	start := l.Env.Clock.Now()
	ok, err := l.Env.Nodes[0].SetXX(ctx, l.Name, l.Token, ttl).Result()
	return l.Extended(ok, err, start.Add(ttl))
}
