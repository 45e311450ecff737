package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// goesOn returns when its context ends. But its goroutine for the request goes on, and nobody releases the lock that it gets. It
// needs a context that ends during an acquire.
var goesOn = clients.Lock{
	Name:  "single-goes-on",
	About: "single, which does not wait for the reply when its context ends, and forgets the lock that it may get",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			type answer struct {
				lease *parts.Lease
				err   error
			}
			answers := make(chan answer, 1)
			go func() {
				lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
				answers <- answer{lease, err}
			}()
			select {
			case a := <-answers:
				return parts.Granted(a.lease, a.err)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
	},
}
