package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// asksRestart has one timer for all leases of a process, which each acquire restarts, even one that is refused. It needs a client that has
// one lock, and asks for another again and again, in less than the period: nothing is renewed meanwhile.
var asksRestart = clients.Lock{
	Name:  "watchdog-asks-restart",
	About: "watchdog, whose next renewal each acquire puts off, even if it is refused",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		t := newTogether(env, shortest, eachOnce)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := t.Locker.Acquire(ctx, name, ttl)
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.timer != nil {
				t.timer.Stop()
				t.timer = nil
			}
			t.plan()
			return lease, err
		})
	},
}
