package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// oneEnd keeps the end of its lease in a field of the Locker, where the next acquire overwrites it, also one of another lock. It needs a
// client that gets another lock while it has the first one, and relies on the first one afterwards.
var oneEnd = clients.Lock{
	Name:  "single-one-end",
	About: "single, which keeps one end for the leases of all names",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		var end time.Time
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			end = lease.End
			return &lockersEnd{lease, &end}, nil
		})
	},
}

type lockersEnd struct {
	*parts.Lease
	end *time.Time // of the Locker
}

func (l *lockersEnd) Until() time.Time { return *l.end }
