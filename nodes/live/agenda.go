package live

import (
	"slices"
	"sync"
	"time"
)

// agenda carries out what the nemesis has planned, in one goroutine and in the order of planning, so that two faults never
// overlap. It also starts the lanes, after the faults that are there from the start.
type agenda struct {
	mu      sync.Mutex // guards the fields below
	changed *sync.Cond // on mu
	plans   []plan     // by time
	busy    bool
	open    int // lanes and faults that have not ended
	closed  bool
}

type plan struct {
	at time.Time
	do func()
}

func newAgenda() *agenda {
	a := &agenda{}
	a.changed = sync.NewCond(&a.mu)
	return a
}

// run carries out plans as they come due, until the agenda is closed.
func (a *agenda) run() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.closed {
		if !a.due() {
			a.changed.Wait()
			continue
		}
		do := a.plans[0].do
		a.plans, a.busy = a.plans[1:], true
		a.mu.Unlock()
		do()
		a.mu.Lock()
		a.busy = false
		a.changed.Broadcast()
	}
}

// due reports whether a plan is due. The caller holds mu.
func (a *agenda) due() bool { return len(a.plans) > 0 && !time.Now().Before(a.plans[0].at) }

// at calls f at a time, or as soon as possible if that has passed. It does not call f if the agenda is closed before.
func (a *agenda) at(t time.Time, f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := len(a.plans)
	for i > 0 && a.plans[i-1].at.After(t) {
		i--
	}
	a.plans = slices.Insert(a.plans, i, plan{t, f})
	if wait := time.Until(t); wait > 0 {
		time.AfterFunc(wait, a.wake)
		return
	}
	a.changed.Broadcast()
}

func (a *agenda) wake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed.Broadcast()
}

// settle returns when no plan is due. A client that has just triggered a fault continues after that fault.
func (a *agenda) settle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for (a.due() || a.busy) && !a.closed {
		a.changed.Wait()
	}
}

// begin and end count what wait waits for.
func (a *agenda) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open++
}

func (a *agenda) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open--
	a.changed.Broadcast()
}

func (a *agenda) wait() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.open > 0 && !a.closed {
		a.changed.Wait()
	}
}

func (a *agenda) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.changed.Broadcast()
}
