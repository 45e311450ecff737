package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// leastPeriod renews every third of the TTL, but at most every five seconds, to spare the nodes. A shorter lease is over before
// its first renewal. It needs a short TTL, and work that takes longer.
var leastPeriod = clients.Lock{
	Name:  "watchdog-least-period",
	About: "watchdog that renews every 5 s at most, whatever the TTL",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
		l.Every = max(l.Every, 5*time.Second)
	}),
}
