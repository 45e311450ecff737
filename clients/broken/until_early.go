package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// untilEarly prolongs its lease when it sends a renewal, not when it has the reply: if the renewal is lost, the lease outlives the
// key by a third of a TTL. It needs a network that fails while the lock is held.
var untilEarly = clients.Lock{
	Name:  "watchdog-until-early",
	About: "watchdog whose lease is longer as soon as a renewal is sent",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
		send := l.Renew
		l.Renew = func(ctx context.Context) (bool, error) {
			l.Prolong(l.Env.Clock.Now().Add(ttl))
			return send(ctx)
		}
	}),
}
