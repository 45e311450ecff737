package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendSkips says that it has extended a lease, and asks nobody, if more than half of the TTL is left. It needs an extension early in
// the lease, and work beyond the end that the lease had before.
var extendSkips = clients.Lock{
	Name:  "single-extend-skips",
	About: "single, which does not extend while half of the TTL is left, but says that it has",
	Like:  []string{"single"},
	New: extendable(func(l *parts.Lease, ctx context.Context, ttl time.Duration) error {
		now := l.Env.Clock.Now()
		if l.End.Sub(now) > ttl/2 {
			return nil
		}
		n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
		return l.Extended(n != 0, err, now.Add(ttl))
	}),
}
