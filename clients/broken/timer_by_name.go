package broken

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// timerByName keeps the timer of each lease under the name of its lock. A release stops the timer that it finds there, which may be that of a
// newer lease. It needs a client that releases a lease for the second time while it has the next lease, and holds that one for longer than the TTL.
var timerByName = clients.Lock{
	Name:  "watchdog-timer-by-name",
	About: "watchdog, whose release stops the renewal timer that it finds by the name of the lock",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		t := &timersByName{timers: map[string]clockwork.Timer{}}
		watchdog := parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
			l.Shared = true
			t.start(l)
		})(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := watchdog.Acquire(ctx, name, ttl)
			if err != nil {
				return nil, err
			}
			return &leaseByName{lease.(*parts.Renewed), t}, nil
		})
	},
}

type timersByName struct {
	mu     sync.Mutex
	timers map[string]clockwork.Timer
}

// start renews a lease after a third of its TTL, and again as long as that succeeds.
func (t *timersByName) start(l *parts.Renewed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timers[l.Name] = l.Env.Clock.AfterFunc(l.Every, func() {
		if !l.Over() {
			l.Once()
		}
		if !l.Over() {
			t.start(l)
		}
	})
}

type leaseByName struct {
	*parts.Renewed
	timers *timersByName
}

func (l *leaseByName) Release(ctx context.Context) error {
	err := l.Renewed.Release(ctx)
	if err == nil || errors.Is(err, clients.ErrNotHeld) {
		l.timers.mu.Lock()
		defer l.timers.mu.Unlock()
		if timer := l.timers.timers[l.Name]; timer != nil {
			timer.Stop()
		}
	}
	return err
}
