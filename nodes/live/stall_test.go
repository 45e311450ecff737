//go:build unix

package live

import (
	"errors"
	"strings"
	"testing"
	"time"

	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// A server that does not answer for a long time, without a fault, ends the run, and nothing is said about the lock.
func TestStalledServerEndsTheRun(t *testing.T) {
	c, _, _ := startCluster(t)
	n := c.processes["n1"].node()
	if err := n.server.Pause(); err != nil { // not by a fault: nobody knows of it
		t.Skip(err)
	}
	time.AfterFunc(stall+stall/2, func() { n.server.Resume() })
	n.timed("GET", func() { n.server.Client().Ping(t.Context()) })
	if err := c.Err(); !errors.Is(err, ErrStalled) {
		t.Errorf("a server that stalled: %v", err)
	}
}

// A pause is a fault, and WAIT may take its time.
func TestNoStall(t *testing.T) {
	c, _, _ := startCluster(t)
	n := c.processes["n1"].node()
	n.timed("WAIT", func() { time.Sleep(stall + stall/10) })
	n.timed("GET", func() {
		c.mu.Lock()
		n.proxy.pauses++
		c.mu.Unlock()
		time.Sleep(stall + stall/10)
	})
	if err := c.Err(); err != nil {
		t.Error(err)
	}
}

// A client that stood still proves nothing, unless a fault had stopped it.
func TestStalledClientEndsTheRun(t *testing.T) {
	c, c1, _ := startCluster(t)
	late := lateness{From: c.Now(), For: 2 * clientStall}
	c1.stood(late) // before its lane
	c1.open = true
	c1.resumed = late.From + time.Millisecond
	c1.stood(late) // a pause has just ended
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	c1.resumed = 0
	c1.stood(late)
	if err := c.Err(); !errors.Is(err, ErrStalled) {
		t.Errorf("a client that stood still: %v", err)
	}
}

// A process that the machine, and no fault, keeps from running says so when it runs again.
func TestClientThatStoodStillSaysSo(t *testing.T) {
	c, c1 := launch(t, "sleeps", nil)
	for len(told(c, history.Wait)) == 0 {
		c.RunFor(time.Millisecond)
	}
	c.RunFor(2 * clientStallPoll) // it looks at its clock by now
	c.mu.Lock()
	stopped := c1.signal(redisserver.StopSignal)
	c.mu.Unlock()
	if !stopped {
		t.Fatal("it has no process")
	}
	time.Sleep(3 * clientStall)
	c.mu.Lock()
	c1.signal(redisserver.ContSignal)
	c.mu.Unlock()
	select {
	case <-c.ctx.Done():
	case <-time.After(callLimit):
	}
	if err := c.Err(); !errors.Is(err, ErrStalled) || !strings.Contains(err.Error(), "c1 stood still") {
		t.Errorf("a process that stood still: %v", err)
	}
}
