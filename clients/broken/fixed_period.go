package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// fixedPeriod renews every 10 s, which is a third of the usual TTL of 30 s, whatever the TTL of the lock: with one of 10 s or less
// every renewal comes too late. It needs a TTL that is not the usual one, and work that takes longer.
var fixedPeriod = clients.Lock{
	Name:  "watchdog-fixed-period",
	About: "watchdog that renews every 10 s, whatever the TTL",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
		l.Every = 10 * time.Second
	}),
}
