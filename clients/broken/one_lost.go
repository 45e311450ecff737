package broken

import (
	"context"
	"sync/atomic"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// oneLost renews all leases of a process in one loop, which ends when one of them is lost. It needs two leases, of which one is lost.
var oneLost = clients.Lock{
	Name:  "watchdog-one-lost",
	About: "watchdog that renews no lease any more once one of them is lost",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		var lost atomic.Bool
		return parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
			renew := l.Renew
			l.Renew = func(ctx context.Context) (bool, error) {
				ours, err := renew(ctx)
				if err == nil && !ours {
					lost.Store(true)
				}
				return ours, err
			}
			l.Due = func() bool { return !lost.Load() }
		})(env)
	},
}
