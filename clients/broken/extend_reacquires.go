package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendReacquires acquires the lock again if an extension comes after the end of the lease, and calls that an extension. It needs another
// client that has had the lock in between: the holder goes on with what it knew before.
var extendReacquires = clients.Lock{
	Name:  "single-extend-reacquires",
	About: "single, whose extension acquires the lock again if the lease is over",
	Like:  []string{"single"},
	New: extendable(func(l *parts.Lease, ctx context.Context, ttl time.Duration) error {
		if l.Env.Clock.Now().Before(l.End) {
			until := l.Env.Clock.Now().Add(ttl)
			n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
			return l.Extended(n != 0, err, until)
		}
		again, err := parts.Take(ctx, l.Env, l.Name, l.Token, ttl)
		if err != nil {
			return clients.ErrNotHeld
		}
		l.End = again.End
		return nil
	}),
}
