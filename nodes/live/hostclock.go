package live

import (
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"lockstep/nodes/packagetime"
	"lockstep/sim"
	"lockstep/sim/history"
)

// setClocks tells a client process how its clocks are set.
type setClocks struct {
	Nr     int           `json:"nr"` // from 1; an older message that arrives late is ignored
	Clocks history.Clock `json:"clocks"`
	Faults []int         `json:"faults"` // that have not bitten
}

// hostClocks are the clocks of a client process. A fault of a clock bites when a clock is read, once the code under test has
// asked for the time. As in simulation, a reading by the [sim.HarnessClock] of the code that carries out the lane does not count
// as one by the code under test.
type hostClocks struct {
	bite func(faults []int) // returns when the history says that the faults bit

	mu     sync.Mutex        // guards the fields below
	start  time.Time         // of the run
	began  int64             // the start, as a reading of [packagetime.Machine]
	asked  packagetime.Reads // readings before the last fault
	nr     int
	now    history.Clock
	unmet  []int
	reads  bool // the code under test has asked for the time
	timers map[*hostTimer]bool
}

func newHostClocks(bite func([]int)) *hostClocks {
	return &hostClocks{bite: bite, start: time.Now(), timers: map[*hostTimer]bool{}}
}

// begin sets when the run began.
func (k *hostClocks) begin(start time.Time, began int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.start, k.began = start, began
}

// set changes the clocks. Timers keep the reading at which they fire, so they fire at another time.
func (k *hostClocks) set(s setClocks) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unmet = append(k.unmet, s.Faults...)
	if s.Nr <= k.nr {
		return
	}
	k.nr, k.now = s.Nr, s.Clocks
	if packagetime.Own() {
		k.asked = packagetime.ReadSoFar()
		packagetime.Set(k.now, k.began)
	}
	for t := range k.timers {
		t.wind()
	}
}

// noticed notes that a clock was read or waited for. Reads says that the code under test asked for the time.
func (k *hostClocks) noticed(reads bool) {
	var met []int
	k.mu.Lock()
	if k.reads = k.reads || reads; k.reads {
		met, k.unmet = k.unmet, nil
	}
	k.mu.Unlock()
	if len(met) > 0 {
		k.bite(met)
	}
}

// report reports the faults of package time that have had an effect: those after which the process has read the wall clock, as
// every time.Now does. Package time itself must not wait for the report.
func (k *hostClocks) report() {
	if !packagetime.Own() {
		return
	}
	var met []int
	k.mu.Lock()
	if packagetime.ReadSoFar().Wall > k.asked.Wall {
		met, k.unmet = k.unmet, nil
	}
	k.mu.Unlock()
	if len(met) > 0 {
		k.bite(met)
	}
}

// passed returns how much true time has passed since the run began.
func (k *hostClocks) passed() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sinceStart()
}

// sinceStart is passed for a caller that holds mu.
func (k *hostClocks) sinceStart() time.Duration {
	if packagetime.Own() {
		return packagetime.Since(k.began)
	}
	return time.Since(k.start)
}

// takes returns by how much package time advances while true time advances by d.
func (k *hostClocks) takes(d time.Duration) time.Duration {
	if !packagetime.Own() {
		return d
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.sinceStart()
	return k.now.Reading(t+d) - k.now.Reading(t)
}

// reading returns what the steady clock shows. The caller holds mu.
func (k *hostClocks) reading() time.Duration { return k.now.Reading(k.sinceStart()) }

func (k *hostClocks) steady() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reading()
}

func (k *hostClocks) date() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.start.Add(k.reading())
}

// wall returns a time without a monotonic reading, which package time would prefer to the wall clock.
func (k *hostClocks) wall() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.start.Add(k.now.Wall(time.Since(k.start))).Round(0)
}

// steadyClock is the steady clock of a client process, for the code under test.
type steadyClock struct{ *hostClocks }

func (c steadyClock) Now() time.Time {
	c.noticed(true)
	return c.date()
}

func (c steadyClock) Since(t time.Time) time.Duration        { return c.Now().Sub(t) }
func (c steadyClock) Until(t time.Time) time.Duration        { return t.Sub(c.Now()) }
func (c steadyClock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).Chan() }

func (c steadyClock) Sleep(d time.Duration) {
	if d > 0 {
		<-c.After(d)
	}
}

func (c steadyClock) NewTimer(d time.Duration) clockwork.Timer {
	return c.timer(d, 0, nil)
}

func (c steadyClock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	return c.timer(d, 0, f)
}

func (c steadyClock) NewTicker(d time.Duration) clockwork.Ticker {
	if d <= 0 {
		panic("live: non-positive interval for NewTicker")
	}
	return hostTicker{c.timer(d, d, nil)}
}

// HarnessClock is the view of a clock for code that is not under test.
func (c steadyClock) HarnessClock() sim.Timekeeper { return harnessClock{c} }

type harnessClock struct{ c steadyClock }

func (b harnessClock) Now() time.Time {
	b.c.noticed(false)
	return b.c.date()
}

func (b harnessClock) Until(t time.Time) time.Duration { return t.Sub(b.Now()) }
func (b harnessClock) Sleep(d time.Duration)           { b.c.Sleep(d) }

// wallClock is the wall clock. Its timers are those of the steady clock, as in Go.
type wallClock struct{ steadyClock }

func (c wallClock) Now() time.Time {
	c.noticed(true)
	return c.wall()
}

func (c wallClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c wallClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// hostTimer is a timer or ticker on the steady clock.
type hostTimer struct {
	clocks *hostClocks
	c      chan time.Time
	f      func() // called in a goroutine of its own

	// Guarded by clocks.mu.
	every time.Duration // ticker: its interval
	due   time.Duration // reading of the clock at which it fires
	real  *time.Timer   // nil until it is first set
}

func (k *hostClocks) timer(d, every time.Duration, f func()) *hostTimer {
	t := &hostTimer{clocks: k, c: make(chan time.Time, 1), every: every, f: f}
	t.set(d)
	return t
}

func (t *hostTimer) set(d time.Duration) {
	k := t.clocks
	k.noticed(false)
	k.mu.Lock()
	defer k.mu.Unlock()
	t.due = k.reading() + max(d, 0)
	k.timers[t] = true
	t.wind()
}

// wind has the timer checked when it is due. The caller holds mu.
func (t *hostTimer) wind() {
	k := t.clocks
	wait := max(0, k.now.When(t.due)-time.Since(k.start))
	if t.real == nil {
		t.real = time.AfterFunc(wait, t.fire)
		return
	}
	t.real.Reset(wait)
}

func (t *hostTimer) fire() {
	k := t.clocks
	k.mu.Lock()
	now := k.reading()
	switch {
	case !k.timers[t]:
		k.mu.Unlock()
		return
	case now < t.due: // it was reset
		t.wind()
		k.mu.Unlock()
		return
	case t.every > 0:
		t.due += t.every * (1 + (now-t.due)/t.every) // missed ticks are dropped, as by package time
		t.wind()
	default:
		delete(k.timers, t)
	}
	shown := k.start.Add(now)
	if t.f == nil {
		select {
		case t.c <- shown:
		default:
		}
	}
	k.mu.Unlock()
	k.noticed(false)
	if t.f != nil {
		t.f()
	}
}

func (t *hostTimer) Chan() <-chan time.Time { return t.c }

func (t *hostTimer) Reset(d time.Duration) bool {
	active := t.Stop()
	t.set(d)
	return active
}

// Stop prevents the timer from firing, and removes a tick that was not received, as package time does since Go 1.23.
func (t *hostTimer) Stop() bool {
	k := t.clocks
	k.mu.Lock()
	defer k.mu.Unlock()
	active := k.timers[t]
	delete(k.timers, t)
	t.real.Stop()
	select {
	case <-t.c:
		return true
	default:
		return active
	}
}

type hostTicker struct{ t *hostTimer }

func (k hostTicker) Chan() <-chan time.Time { return k.t.c }
func (k hostTicker) Stop()                  { k.t.Stop() }
func (k hostTicker) Reset(d time.Duration) {
	if d <= 0 {
		panic("live: non-positive interval for Ticker.Reset")
	}
	k.t.Stop()
	k.t.clocks.mu.Lock()
	k.t.every = d
	k.t.clocks.mu.Unlock()
	k.t.set(d)
}
