package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewFromReply counts a renewed lease from the reply, not from the request: the lease outlives the key by as long as the reply took.
// It needs a slow reply to the last renewal, and a contender who waits.
var renewFromReply = clients.Lock{
	Name:  "watchdog-from-reply",
	About: "watchdog whose renewed lease counts from the reply",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
		l.FromReply = true
	}),
}
