package nodes

import (
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// Clock is the clock of the machine as a process sees it that can be paused. A process that is paused cannot read it, and
// its timers fire when the pause is over. It is steady and on the wall in one: no clock of a client is set on real servers.
type Clock struct{ client *Client }

var _ clockwork.Clock = Clock{}

// Now returns the time. A paused process does not learn it before it resumes.
func (c Clock) Now() time.Time {
	c.client.awake()
	return time.Now()
}

// Since returns the time that has passed since t.
func (c Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Until returns the time until t.
func (c Clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// Sleep returns after d. If the process is gone it does not return: the goroutine ends.
func (c Clock) Sleep(d time.Duration) { c.client.sleep(d) }

// After returns a channel that gets the time after d.
func (c Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).Chan() }

// AfterFunc has f called after d.
func (c Clock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	return &timer{Timer: time.AfterFunc(d, func() {
		if c.client.wake() {
			f()
		}
	})}
}

// NewTimer returns a timer that fires after d.
func (c Clock) NewTimer(d time.Duration) clockwork.Timer {
	t := &timer{c: make(chan time.Time, 1)}
	t.Timer = time.AfterFunc(d, func() {
		if c.client.wake() {
			show(t.c)
		}
	})
	return t
}

// NewTicker returns a ticker that fires every d.
func (c Clock) NewTicker(d time.Duration) clockwork.Ticker {
	if d <= 0 {
		panic("nodes: non-positive interval for NewTicker")
	}
	t := &ticker{clock: c, c: make(chan time.Time, 1), every: d}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(d, t.tick)
	return t
}

// show puts the time into a channel in which there is room for one.
func show(c chan time.Time) {
	select {
	case c <- time.Now():
	default:
	}
}

type timer struct {
	*time.Timer
	c chan time.Time // nil for a function
}

func (t *timer) Chan() <-chan time.Time { return t.c }

// Stop prevents the timer from firing, and takes back a tick that nobody has received (as package time does since Go 1.23).
func (t *timer) Stop() bool {
	active := t.Timer.Stop()
	select {
	case <-t.c:
	default:
	}
	return active
}

func (t *timer) Reset(d time.Duration) bool {
	active := t.Stop()
	t.Timer.Reset(d)
	return active
}

type ticker struct {
	clock Clock
	c     chan time.Time

	mu      sync.Mutex // guards all below
	every   time.Duration
	stopped bool
	timer   *time.Timer
}

func (t *ticker) tick() {
	if !t.clock.client.wake() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		show(t.c)
		t.timer.Reset(t.every)
	}
}

func (t *ticker) Chan() <-chan time.Time { return t.c }

func (t *ticker) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.timer.Stop()
}

func (t *ticker) Reset(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped, t.every = false, d
	t.timer.Reset(d)
}
