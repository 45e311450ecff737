package broken

import (
	"context"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// refusedStops keeps its watchdogs by the names of the locks. An acquire removes the one of that name first, even if it is then refused because the
// client itself has the lock. It needs a client that asks for a lock that it has, and then works for longer than the TTL.
var refusedStops = clients.Lock{
	Name:  "watchdog-refused-stops",
	About: "watchdog, which an acquire of the same name stops even if it is refused",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		var mu sync.Mutex
		asked := map[string]int{}
		watchdog := parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
			mu.Lock()
			mine := asked[l.Name]
			mu.Unlock()
			l.Due = func() bool {
				mu.Lock()
				defer mu.Unlock()
				return asked[l.Name] == mine
			}
		})(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			mu.Lock()
			asked[name]++
			mu.Unlock()
			return watchdog.Acquire(ctx, name, ttl)
		})
	},
}
