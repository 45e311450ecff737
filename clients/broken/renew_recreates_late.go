package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewRecreatesLate renews by a script that sets the key again if it is gone, but only while the lease lasts, and stops before a
// release. But a renewal that was sent before may arrive after the release. It needs a renewal that takes longer than the lock
// waits for its reply.
var renewRecreatesLate = clients.Lock{
	Name:  "watchdog-recreates-late",
	About: "watchdog whose renewal sets a key that is gone, and may arrive after the release",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			l := parts.NewRenewed(ctx, lease, ttl)
			l.Persist = true
			l.Renew = func(ctx context.Context) (bool, error) {
				n, err := renewRecreatesScript.Run(ctx, env.Nodes[0], []string{name}, lease.Token, ttl.Milliseconds()).Int()
				return n != 0, err
			}
			return l.Start(), nil
		})
	},
}
