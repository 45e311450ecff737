package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// sharedContext makes all acquires of a client with one context. The first caller that gives up cancels it for good. It needs an acquire
// that is cancelled, and a later one.
var sharedContext = clients.Lock{
	Name:  "single-shared-context",
	About: "single, all of whose acquires share one context, which a caller that gives up cancels",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		all, cancel := context.WithCancel(context.Background())
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			stop := context.AfterFunc(ctx, cancel)
			defer stop()
			token := parts.Token(env.Rand)
			lease, err := parts.Take(all, env, name, token, ttl)
			if ctx.Err() != nil {
				parts.ReleaseOn(context.WithoutCancel(ctx), env.Nodes[0], name, token)
				return nil, ctx.Err()
			}
			return parts.Granted(lease, err)
		})
	},
}
