package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// staleValidity computes what is left of the TTL, counts the grant on a node, and then adds what was left to its clock. It needs a pause
// while the client waits for the reply to that last request, which sets no key of the lease.
var staleValidity = clients.Lock{
	Name:  "redlock-stale-validity",
	About: "Redlock that counts its grants, and reads the clock again afterwards",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, ttl, func(l *parts.RedlockLease) clients.Lease {
				left := l.End.Sub(env.Clock.Now())
				env.Nodes[0].Incr(ctx, "{"+name+"}:grants")
				l.End = env.Clock.Now().Add(left)
				return l
			})
		})
	},
}
