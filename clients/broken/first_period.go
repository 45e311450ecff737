package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// firstPeriod renews all leases of a client with the period of the first. It needs a client that later asks for a TTL of less than a third
// of the first one.
var firstPeriod = clients.Lock{
	Name:  "watchdog-first-period",
	About: "watchdog, which renews all leases with the period of the first",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		var every time.Duration
		return parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
			if every == 0 {
				every = ttl / 3
			}
			l.Every = every
		})(env)
	},
}
