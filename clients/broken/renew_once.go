package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewOnce renews only the first lease of a client. It needs a second lease that outlasts its TTL.
var renewOnce = clients.Lock{
	Name:  "watchdog-started-once",
	About: "watchdog that renews only the first lease of a client",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		started := false
		return parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
			if started {
				l.Due = func() bool { return false }
			}
			started = true
		})(env)
	},
}
