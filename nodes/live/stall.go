package live

import (
	"errors"
	"fmt"
	"time"
)

// ErrStalled says that the machine, and no fault, kept a run on real servers from going on. What came of it says nothing about
// the lock: nobody would get it in time.
var ErrStalled = errors.New("the machine was too busy")

// A StallError is an [ErrStalled] that says when it began: what happened before that did happen.
type StallError struct {
	From time.Duration // since the start of the run
	What string
}

func (e *StallError) Error() string { return ErrStalled.Error() + ": " + e.What }
func (e *StallError) Unwrap() error { return ErrStalled }

// stall is how long nothing may go on. A busy machine makes everybody wait a little; the checker allows two seconds for that.
const stall = time.Second

// stallPoll is how often somebody looks.
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

// A client that does not get to run for so long does not do at its time what the page says, and nothing is proved.
const (
	clientStall     = 150 * time.Millisecond
	clientStallPoll = 50 * time.Millisecond
)

// lateness is when a client process stood still, since the start of the run.
type lateness struct {
	From time.Duration `json:"from"`
	For  time.Duration `json:"for"`
}

// watchForStalls tells the cluster if this process does not get to run. It cannot tell a busy machine from a pause; the
// cluster can.
func (h *Host) watchForStalls() {
	for {
		start := time.Now()
		time.Sleep(clientStallPoll)
		if late := time.Since(start) - clientStallPoll; late > clientStall {
			h.ask(question{Late: &lateness{start.Sub(h.start), late}})
		}
	}
}

// stood ends the run if the client stood still though no fault had stopped it, before the end of its lane.
func (p *Client) stood(l lateness) {
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.open && !p.paused && !p.crashed && p.resumed < l.From {
		c.fail(&StallError{l.From, fmt.Sprintf("%s stood still for %v, from %v on", p.name, l.For.Round(time.Millisecond), l.From.Round(time.Millisecond))})
	}
}

// timed calls f, in which the server carries out a command, and ends the run if that takes too long without a fault.
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
