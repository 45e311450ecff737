package live

import (
	"errors"
	"fmt"
	"time"
)

// ErrStalled says that a run on real servers was held up by the machine and not by a fault. Its outcome says nothing about the
// lock.
var ErrStalled = errors.New("the machine was too busy")

// A StallError is an [ErrStalled] that says when the stall began. What happened before is valid.
type StallError struct {
	From time.Duration // since the start of the run
	What string
}

func (e *StallError) Error() string { return ErrStalled.Error() + ": " + e.What }
func (e *StallError) Unwrap() error { return ErrStalled }

// stall is how long the machine may hold up a run. Short delays are normal on a busy machine; the checker allows two seconds for
// them.
const stall = time.Second

// stallPoll is how often watchForStalls looks.
const stallPoll = 100 * time.Millisecond

// watchForStalls ends the run if this process does not get to run for too long.
func (c *Cluster) watchForStalls() {
	for {
		start := time.Now()
		select {
		case <-c.ctx.Done():
			return
		case <-time.After(stallPoll):
		}
		if late := time.Since(start) - stallPoll; late > stall {
			c.fail(&StallError{start.Sub(c.start), fmt.Sprintf("everything stood still for %v", late.Round(time.Millisecond))})
		}
	}
}

// A client that is held up for this long does not act at the times that the scenario says, and the run proves nothing.
const (
	clientStall     = 150 * time.Millisecond
	clientStallPoll = 50 * time.Millisecond
)

// lateness is a time in which a client process was held up, since the start of the run.
type lateness struct {
	From time.Duration `json:"from"`
	For  time.Duration `json:"for"`
}

// watchForStalls tells the cluster if this process is held up. Only the cluster can tell a busy machine from a pause.
func (h *Host) watchForStalls() {
	for {
		start := h.clocks.passed()
		time.Sleep(clientStallPoll)
		if late := h.clocks.passed() - start - clientStallPoll; late > clientStall {
			h.ask(question{Late: &lateness{start, late}})
		}
	}
}

// stood ends the run if the client was held up before the end of its lane although no fault had stopped it.
func (p *Client) stood(l lateness) {
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.open && !p.paused && !p.crashed && p.resumed < l.From {
		c.fail(&StallError{l.From, fmt.Sprintf("%s stood still for %v, from %v on", p.name, l.For.Round(time.Millisecond), l.From.Round(time.Millisecond))})
	}
}

// timed calls f, in which the server carries out a command. It ends the run if f takes too long although no fault is active.
func (n *realNode) timed(word string, f func()) {
	c, p := n.c, n.proxy
	c.mu.Lock()
	paused, pauses := p.paused, p.pauses
	c.mu.Unlock()
	start := time.Now()
	f()
	took := time.Since(start)
	c.mu.Lock()
	defer c.mu.Unlock()
	if took > stall && word != "WAIT" && !paused && p.pauses == pauses && !p.crashed {
		c.fail(&StallError{start.Sub(c.start), fmt.Sprintf("%s took %v to answer %s", n.name, took.Round(time.Millisecond), word)})
	}
}
