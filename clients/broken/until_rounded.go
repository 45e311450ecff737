package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// untilRounded rounds the end of its lease to whole seconds, as a deadline that is stored so does: the lease can outlive its key by half
// a second. It needs a lease that ends in the second half of a second, and a contender who waits.
var untilRounded = clients.Lock{
	Name:  "single-until-rounded",
	About: "single, whose lease ends at a whole second",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			end := env.Clock.Now().Add(ttl).Round(time.Second)
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			lease.End = end
			return lease, nil
		})
	},
}
