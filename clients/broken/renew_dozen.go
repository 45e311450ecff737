package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewDozen renews a lease twelve times, as a guard against work that hangs, and does not say so. It needs work that takes longer than
// four times the TTL.
var renewDozen = clients.Lock{
	Name:  "watchdog-dozen",
	About: "watchdog that renews each lease at most twelve times",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
		renew, times := l.Renew, 0
		l.Renew = func(ctx context.Context) (bool, error) {
			times++
			return renew(ctx)
		}
		l.Due = func() bool { return times < 12 }
	}),
}
