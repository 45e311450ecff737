package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendSeconds extends by whole seconds, rounded down, but relies on all of the TTL. It needs a TTL that is not a whole number of
// seconds, an extension, and a second client that waits.
var extendSeconds = clients.Lock{
	Name:  "single-extend-seconds",
	About: "single, which rounds the TTL of an extension down to seconds",
	Like:  []string{"single"},
	New: extendable(func(l *parts.Lease, ctx context.Context, ttl time.Duration) error {
		until := l.Env.Clock.Now().Add(ttl)
		n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, max(time.Second, ttl.Truncate(time.Second)))
		return l.Extended(n != 0, err, until)
	}),
}
