package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// doubles renews less and less often: each renewal asks for twice as much time as the last one. It needs a holder who dies after some
// renewals: nobody gets the lock for a long time.
var doubles = clients.Lock{
	Name:  "watchdog-doubles",
	About: "watchdog that doubles the TTL with each renewal, up to ten minutes",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
		l.Renew = func(ctx context.Context) (bool, error) {
			l.TTL = min(2*l.TTL, 10*time.Minute)
			l.Every = l.TTL / 3
			n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, l.TTL)
			return n != 0, err
		}
	}),
}
