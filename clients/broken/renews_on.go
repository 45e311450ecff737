package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewsOn renews under a context that never ends, so that no renewal is cut off. It needs a holder whose context ends without a release,
// before the watchdog has stopped by itself. Nobody gets the lock from then on.
var renewsOn = clients.Lock{
	Name:  "watchdog-renews-on",
	About: "watchdog, which goes on renewing after the context of the acquire has ended",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
		l.Renew = func(ctx context.Context) (bool, error) {
			n, err := parts.ExtendOn(context.WithoutCancel(ctx), l.Env.Nodes[0], l.Name, l.Token, ttl)
			return n != 0, err
		}
	}),
}
