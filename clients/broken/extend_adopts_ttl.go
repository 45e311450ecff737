package broken

import (
	"cmp"
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendAdoptsTTL keeps the TTL of its last extension in a field, and sets the keys of later acquires with it. It needs a client that has
// shortened a lease, and then takes the lock again and relies on all of its TTL.
var extendAdoptsTTL = clients.Lock{
	Name:  "single-extend-adopts-ttl",
	About: "single-extend, which sets its next keys with the TTL of its last extension",
	Like:  []string{"single-extend"},
	New: func(env clients.Env) clients.Locker {
		var adopted time.Duration
		extend := func(l *parts.Lease) extension {
			return func(ctx context.Context, start time.Time, ttl time.Duration) error {
				n, err := parts.ExtendOn(ctx, env.Nodes[0], l.Name, l.Token, ttl)
				if n != 0 {
					adopted = ttl
				}
				return l.Extended(n != 0, err, start.Add(ttl))
			}
		}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			until := env.Clock.Now().Add(ttl)
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), cmp.Or(adopted, ttl))
			if err != nil {
				return nil, err
			}
			lease.End = until
			return &extendableOnOneLease{lease, extend(lease)}, nil
		})
	},
}
