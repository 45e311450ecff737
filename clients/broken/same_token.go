package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// sameToken uses one token for all tries of an acquire. The release of a failed try that is late at a node deletes the key of the
// next try there, though it counts for a majority, or is part of the lease already. It needs a contender or lost nodes, so that a
// try fails, and a slow network.
var sameToken = clients.Lock{
	Name:  "redlock-same-token",
	About: "Redlock with one token for all its tries",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			token := parts.Token(env.Rand)
			return r.Retry(ctx, func() (clients.Lease, error) {
				start := env.Clock.Now()
				granted, _ := parts.Count(r.Ask(ctx, parts.Set(name, token, ttl)))
				until, left := r.Validity(start, ttl)
				lease := &parts.RedlockLease{Redlock: r, Name: name, Token: token, End: until}
				if granted >= r.Quorum() && left {
					return lease, nil
				}
				lease.Release(context.WithoutCancel(ctx))
				return nil, r.Few(granted)
			})
		})
	},
}
