package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewRecreatesLate renews by a script that sets the key again if it is gone, but only while the lease lasts, and stops before a
// release. But a renewal that was sent before may arrive after the release. It needs a renewal that takes longer than the lock
// waits for its reply.
var renewRecreatesLate = clients.Lock{
	Name:  "watchdog-recreates-late",
	About: "watchdog whose renewal sets a key that is gone, and may arrive after the release",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
		l.Persist = true
		l.Renew = func(ctx context.Context) (bool, error) {
			n, err := renewRecreatesScript.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token, ttl.Milliseconds()).Int()
			return n != 0, err
		}
	}),
}
