package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// breakerStays never asks the node again after three errors in a row: nothing closes its circuit breaker.
var breakerStays = clients.Lock{
	Name:  "single-breaker-stays",
	About: "single, whose circuit breaker opens after three errors and never closes",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		failed := 0
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			if failed == 3 {
				return nil, fmt.Errorf("%w: the circuit breaker is open", clients.ErrNotAcquired)
			}
			token, until := parts.Token(env.Rand), env.Clock.Now().Add(ttl)
			ok, err := env.Nodes[0].SetNX(ctx, name, token, ttl).Result()
			switch {
			case err != nil:
				failed++
				return nil, parts.NotRun(err)
			case !ok:
				failed = 0
				return nil, clients.ErrNotAcquired
			}
			failed = 0
			return parts.Granted((&parts.Lease{Env: env, Name: name, Token: token, End: until}).Arrived(ctx))
		})
	},
}
