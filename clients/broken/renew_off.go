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
	New:   stopsAll(func(_ bool, err error) bool { return err != nil }),
}

// stopsAll makes watchdogs that renew no lease of a process any more once the outcome of a renewal says stop.
func stopsAll(stop func(ours bool, err error) bool) clients.New {
	return func(env clients.Env) clients.Locker {
		var stopped atomic.Bool
		return parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
			renew := l.Renew
			l.Renew = func(ctx context.Context) (bool, error) {
				ours, err := renew(ctx)
				if stop(ours, err) {
					stopped.Store(true)
				}
				return ours, err
			}
			l.Due = func() bool { return !stopped.Load() }
		})(env)
	}
}
