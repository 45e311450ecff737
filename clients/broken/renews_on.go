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
	New: func(env clients.Env) clients.Locker {
		watchdog := parts.Watchdog(func(*parts.Renewed, time.Duration) {})(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return watchdog.Acquire(context.WithoutCancel(ctx), name, ttl)
		})
	},
}
