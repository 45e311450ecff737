package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendCapped sets the TTL of the key to a minute at most when it extends, but reports a lease as long as its client asked for. It needs a
// client that asks for more, and another that asks for the lock after that minute.
var extendCapped = clients.Lock{
	Name:  "single-extend-capped",
	About: "single-extend, whose extension sets a TTL of a minute at most, and reports the TTL that was asked for",
	Like:  []string{"single-extend"},
	New: extendable(func(l *parts.Lease, ctx context.Context, ttl time.Duration) error {
		if !l.Env.Clock.Now().Before(l.End) {
			return clients.ErrNotHeld
		}
		until := l.Env.Clock.Now().Add(ttl)
		n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, min(ttl, time.Minute))
		return l.Extended(n != 0, err, until)
	}),
}
