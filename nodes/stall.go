package nodes

import (
	"errors"
	"fmt"
	"time"
)

// ErrStalled says that the machine, and no fault, kept a run on real servers from going on. What came of it says nothing about
// the lock: nobody would get it in time.
var ErrStalled = errors.New("the machine was too busy")

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
			c.fail(fmt.Errorf("%w: everything stood still for %v", ErrStalled, late.Round(time.Millisecond)))
		}
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
		c.fail(fmt.Errorf("%w: %s took %v to answer %s", ErrStalled, n.name, took.Round(time.Millisecond), word))
	}
}
