package sound

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewed renews itself by the script that compares, twice in a TTL instead of three times. It goes on after a renewal without a
// reply, as long as its lease lasts, and whatever the outcome of the release, it ends with that.
var renewed = clients.Lock{
	Name:  "watchdog-renewed",
	About: "watchdog that renews at half the TTL, and tries again after an error",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
		l.Every, l.Persist = ttl/2, true
	}),
}
