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

// If a server does not answer for a long time without a fault, the run ends without a verdict about the lock.
func TestStalledServerEndsTheRun(t *testing.T) {
	c, _, _ := startCluster(t)
	n := c.processes["n1"].node()
	if err := n.server.Pause(); err != nil { // the stop is not a fault of the run
		t.Skip(err)
	}
	time.AfterFunc(stall+stall/2, func() { n.server.Resume() })
	n.timed("GET", func() { n.server.Client().Ping(t.Context()) })
	if err := c.Err(); !errors.Is(err, ErrStalled) {
		t.Errorf("a server that stalled: %v", err)
	}
}

// A pause is a fault, and WAIT may take long.
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

// If a client stalled without a fault, the run proves nothing.
func TestStalledClientEndsTheRun(t *testing.T) {
	c, c1, _ := startCluster(t)
	late := lateness{From: c.Now(), For: 2 * clientStall}
	c1.stood(late) // before its lane begins
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

// A process that the machine kept from running, without a fault, reports it when it runs again.
func TestClientThatStoodStillSaysSo(t *testing.T) {
	c, c1 := launch(t, "sleeps", nil)
	for len(told(c, history.Wait)) == 0 {
		c.RunFor(time.Millisecond)
	}
	c.RunFor(2 * clientStallPoll) // by now it checks its clock
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
