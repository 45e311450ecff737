package broken

import (
	"sync/atomic"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// oneTimer has one timer for all leases of a process. A lease is no longer renewed once the client has acquired another lock.
var oneTimer = clients.Lock{
	Name:  "watchdog-one-timer",
	About: "a watchdog with one timer for all leases of a client",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		var last atomic.Pointer[parts.Renewed]
		return parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
			last.Store(l)
			l.Due = func() bool { return last.Load() == l }
		})(env)
	},
}
