package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewFromReply counts a renewed lease from the reply, not from the request: the lease outlives the key by as long as the reply took.
// It needs a slow reply to the last renewal, and a contender who waits.
var renewFromReply = clients.Lock{
	Name:  "watchdog-from-reply",
	About: "watchdog whose renewed lease counts from the reply",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			l := parts.NewRenewed(ctx, lease, ttl)
			l.FromReply = true
			return l.Start(), nil
		})
	},
}
