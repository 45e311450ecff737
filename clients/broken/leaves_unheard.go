package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// leavesUnheard deletes its keys after a failed try only if some node has reported a grant. It needs a try in which a majority sets the
// key, and no reply comes in time. Nobody then gets the lock until those keys expire.
var leavesUnheard = clients.Lock{
	Name:  "redlock-leaves-unheard",
	About: "redlock, which releases nothing after a try in which no grant was reported in time",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Retry(ctx, func() (clients.Lease, error) {
				token, start := parts.Token(env.Rand), env.Clock.Now()
				granted, _ := parts.Count(r.Ask(ctx, parts.Set(name, token, ttl)))
				until, left := r.Validity(start, ttl)
				lease := &parts.RedlockLease{Redlock: r, Name: name, Token: token, End: until, Granted: granted}
				if granted >= r.Quorum() && left {
					return lease, nil
				}
				if granted > 0 {
					lease.Release(context.WithoutCancel(ctx))
				}
				return nil, r.Few(granted)
			})
		})
	},
}
