package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewByWall looks every tenth of the period whether a renewal is due, and compares with its wall clock, as code does that stores when
// it last renewed. After a jump back none is due for a long time, and the lease ends under a holder who is alive. It needs such a jump,
// and a holder who leaves it to the lock to keep the lease.
var renewByWall = clients.Lock{
	Name:  "watchdog-by-wall",
	About: "watchdog whose renewals are due by the wall clock",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
		period := l.Every
		l.Every = period / 10
		due := l.Env.Wall.Now().Add(period)
		l.Due = func() bool {
			now := l.Env.Wall.Now()
			if now.Before(due) {
				return false
			}
			due = now.Add(period)
			return true
		}
	}),
}
