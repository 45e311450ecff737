package sim

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/jonboulle/clockwork"

	"lockstep/sim/history"
)

// clock is the steady clock of a process.
type clock struct {
	p      *Process
	origin time.Time
}

// reading returns what the clock shows at true time t, since the start of the run. The caller holds mu.
func (c *clock) reading(t time.Duration) time.Duration { return c.p.times.Reading(t) }

// when returns the first true time, since the rate last changed, at which the clock shows at least r. The caller holds mu.
func (c *clock) when(r time.Duration) time.Duration { return c.p.times.When(r) }

// drift changes the rate from now on. Timers keep the reading at which they fire, so they fire at another true time.
func (c *clock) drift(f history.Drift) {
	w := c.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.Now()
	c.p.times = c.p.times.After(f, now)
	// Events of one instant happen in the order of the queue, which must not depend on the order of a map.
	for _, t := range slices.SortedFunc(maps.Keys(c.p.timers), func(a, b *timer) int { return cmp.Compare(a.item.seq, b.item.seq) }) {
		if t.item.index >= 0 {
			w.queue.remove(&t.item)
			t.item.at = max(now, c.when(t.due))
			w.push(&t.item)
		}
	}
	for _, conn := range slices.SortedFunc(maps.Keys(c.p.conns), func(a, b *Conn) int { return cmp.Compare(a.alarm.seq, b.alarm.seq) }) {
		conn.rearm()
	}
}

func (c *clock) Now() time.Time {
	w := c.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	c.p.reads = true
	c.p.noticed(false)
	return c.now()
}

// now returns what the clock shows. The caller holds mu.
func (c *clock) now() time.Time { return c.origin.Add(c.reading(c.p.w.Now())) }

func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// Sleep returns after d by this clock. If the process dies meanwhile, its goroutine ends instead.
func (c *clock) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-c.NewTimer(d).Chan():
	case <-c.p.ctx.Done():
	}
	if c.p.ctx.Err() != nil { // even if the timer ticked: all timers of a dead process do
		runtime.Goexit()
	}
}

func (c *clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).Chan() }

func (c *clock) NewTimer(d time.Duration) clockwork.Timer {
	t := newTimer(c, nil)
	t.set(d)
	return t
}

func (c *clock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	t := newTimer(c, f)
	t.set(d)
	return t
}

func (c *clock) NewTicker(d time.Duration) clockwork.Ticker {
	if d <= 0 {
		panic("sim: non-positive interval for NewTicker")
	}
	t := newTimer(c, nil)
	t.every = d
	t.set(d)
	return ticker{t}
}

// timer is a timer or ticker on a steady clock.
type timer struct {
	clock *clock
	c     chan time.Time
	f     func()        // called in a goroutine of its own
	call  func()        // called by the scheduler
	every time.Duration // ticker: its interval
	due   time.Duration // reading of the clock at which it fires
	item  item
}

func newTimer(c *clock, f func()) *timer {
	t := &timer{clock: c, c: make(chan time.Time, 1), f: f}
	t.item = item{class: classTimer, key: c.p.Name, proc: c.p, act: t, index: -1}
	return t
}

func (t *timer) set(d time.Duration) {
	p := t.clock.p
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.Now()
	t.arm(t.clock.reading(now) + max(d, 0))
}

// arm schedules the timer for a reading of its clock. The caller holds mu.
func (t *timer) arm(due time.Duration) {
	p := t.clock.p
	w := p.w
	w.queue.remove(&t.item)
	p.timers[t] = true
	t.due = due
	if p.dead {
		return // no timer fires until windDown
	}
	p.noticed(false)
	t.item.at = max(w.Now(), t.clock.when(due))
	w.push(&t.item)
}

// act fires the timer.
func (t *timer) act(w *World) {
	p := t.clock.p
	w.mu.Lock()
	if !p.timers[t] { // it was stopped while it waited for the end of a pause
		w.mu.Unlock()
		return
	}
	now := w.Now()
	w.trace.timer(now, p.Name, "timer")
	if t.every > 0 {
		missed := max(0, t.clock.reading(now)-t.due) / t.every // dropped, as by package time
		t.arm(t.due + t.every*(1+missed))
	} else {
		delete(p.timers, t)
	}
	p.noticed(false)
	shown := t.clock.origin.Add(t.clock.reading(now))
	w.mu.Unlock()
	switch {
	case t.f != nil:
		go t.f()
		return
	case t.call != nil:
		t.call()
		return
	}
	t.tick(shown)
}

func (t *timer) tick(shown time.Time) {
	select {
	case t.c <- shown:
	default:
	}
}

func (t *timer) Chan() <-chan time.Time { return t.c }

func (t *timer) Reset(d time.Duration) bool {
	active := t.Stop()
	t.set(d)
	return active
}

// Stop prevents the timer from firing, and removes a tick that was not received, as package time does since Go 1.23: for its
// caller such a timer has not fired.
func (t *timer) Stop() bool {
	p := t.clock.p
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	active := p.timers[t]
	delete(p.timers, t)
	p.w.queue.remove(&t.item)
	select {
	case <-t.c:
		return true
	default:
		return active
	}
}

type ticker struct{ t *timer }

func (k ticker) Chan() <-chan time.Time { return k.t.c }
func (k ticker) Stop()                  { k.t.Stop() }
func (k ticker) Reset(d time.Duration) {
	if d <= 0 {
		panic("sim: non-positive interval for Ticker.Reset")
	}
	k.t.Stop()
	k.t.every = d
	k.t.set(d)
}

// wall is the wall clock. Its timers are those of the steady clock, as in Go: time.Sleep does not notice that the wall clock was
// set.
type wall struct{ *clock }

func (w *wall) Now() time.Time {
	world := w.p.w
	world.mu.Lock()
	defer world.mu.Unlock()
	w.p.reads = true
	w.p.noticed(true)
	return w.origin.Add(w.p.times.Wall(world.Now()))
}

func (w *wall) Since(t time.Time) time.Duration { return w.Now().Sub(t) }
func (w *wall) Until(t time.Time) time.Duration { return t.Sub(w.Now()) }

// A Timekeeper is the part of a clock that carrying out a lane requires.
type Timekeeper interface {
	Now() time.Time
	Until(t time.Time) time.Duration
	Sleep(d time.Duration)
}

// HarnessClock returns a view of a clock for code that is not under test, such as the code that carries out a lane. It shows the
// same time, but reading it does not count as a reading by the code under test; see [Process.Clock].
func HarnessClock(c clockwork.Clock) Timekeeper {
	switch c := c.(type) {
	case *clock:
		return harnessClock{c}
	case interface{ HarnessClock() Timekeeper }: // of a process on real servers
		return c.HarnessClock()
	}
	return c
}

type harnessClock struct{ c *clock }

func (b harnessClock) Now() time.Time {
	w := b.c.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	b.c.p.noticed(false)
	return b.c.now()
}

func (b harnessClock) Until(t time.Time) time.Duration { return t.Sub(b.Now()) }
func (b harnessClock) Sleep(d time.Duration)           { b.c.Sleep(d) }
