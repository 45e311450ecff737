package broken

import (
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// together is a watchdog that renews all leases of a process at once, by one timer. Without a mistake, its period is a third of the
// shortest TTL, and a new lease never puts a renewal off.
type together struct {
	clients.Locker
	env    clients.Env
	period func(leases []*parts.Renewed) time.Duration
	renew  func(leases []*parts.Renewed)

	mu     sync.Mutex       // guards the fields below
	leases []*parts.Renewed // in the order in which they were acquired
	timer  clockwork.Timer  // nil if no renewal is planned
	due    time.Time
}

func newTogether(env clients.Env, period func([]*parts.Renewed) time.Duration, renew func([]*parts.Renewed)) *together {
	t := &together{env: env, period: period, renew: renew}
	t.Locker = parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
		l.Shared = true
		t.mu.Lock()
		defer t.mu.Unlock()
		t.leases = append(t.leases, l)
		t.plan()
	})(env)
	return t
}

// shortest returns the period for the lease with the shortest TTL.
func shortest(leases []*parts.Renewed) time.Duration {
	return slices.MinFunc(leases, func(a, b *parts.Renewed) int { return int(a.Every - b.Every) }).Every
}

// eachOnce renews one lease after the other.
func eachOnce(leases []*parts.Renewed) {
	for _, l := range leases {
		l.Once()
	}
}

// plan schedules a renewal one period from now, unless one is already due by then. The caller holds mu.
func (t *together) plan() {
	t.leases = slices.DeleteFunc(t.leases, (*parts.Renewed).Over)
	if len(t.leases) == 0 {
		return
	}
	every := t.period(t.leases)
	due := t.env.Clock.Now().Add(every)
	if t.timer != nil {
		if !due.Before(t.due) {
			return
		}
		t.timer.Stop()
	}
	t.due, t.timer = due, t.env.Clock.AfterFunc(every, t.once)
}

func (t *together) once() {
	t.mu.Lock()
	t.timer = nil
	t.leases = slices.DeleteFunc(t.leases, (*parts.Renewed).Over)
	leases := slices.Clone(t.leases)
	t.mu.Unlock()
	if len(leases) > 0 {
		t.renew(leases)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.plan()
}
