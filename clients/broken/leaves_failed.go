package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// leavesFailed does not release a try that failed: its keys keep everybody out, itself included, until they expire. It needs
// contenders that split the nodes, or nodes that cannot be reached for a while.
var leavesFailed = clients.Lock{
	Name:  "redlock-leaves-failed",
	About: "Redlock that leaves the keys of a failed try",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Retry(ctx, func() (clients.Lease, error) {
				token := parts.Token(env.Rand)
				start := env.Clock.Now()
				granted, _ := parts.Count(r.Ask(ctx, parts.Set(name, token, ttl)))
				until, left := r.Validity(start, ttl)
				if granted >= r.Quorum() && left {
					return &parts.RedlockLease{Redlock: r, Name: name, Token: token, End: until}, nil
				}
				return nil, r.Few(granted)
			})
		})
	},
}
