package broken

import (
	"context"
	"sync/atomic"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewOff stops renewing when a renewal returns an error, and never renews later leases either. It needs such an error, and then a lease
// that outlasts its TTL.
var renewOff = clients.Lock{
	Name:  "watchdog-off-after-error",
	About: "watchdog that stops for all leases of a client when one renewal fails",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		var failed atomic.Bool
		return parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
			renew := l.Renew
			l.Renew = func(ctx context.Context) (bool, error) {
				ours, err := renew(ctx)
				if err != nil {
					failed.Store(true)
				}
				return ours, err
			}
			l.Due = func() bool { return !failed.Load() }
		})(env)
	},
}
