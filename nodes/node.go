package nodes

import (
	"time"

	"lockstep/sim"
)

// Node is a [Redis] server in a simulated process: connections lead to sessions, changes of keys become events, and keys
// expire when the wall clock of the process says so.
type Node struct {
	*Redis
	Process *sim.Process

	world  *sim.World
	serves *sim.Conn // the connection whose bytes are being worked on
	owners owners
}

// Serve adds a process to the world that is a Redis node.
func Serve(w *sim.World, name string) *Node {
	n := &Node{world: w, owners: owners{}}
	n.Process = w.Serve(name, n)
	n.Redis = NewRedis(n.Process.Wall().Now)
	n.Observe(n.changed)
	return n
}

// Open is called by the kernel.
func (n *Node) Open(c *sim.Conn) { c.State = n.Connect(c.Remote()) }

// Closed is called by the kernel.
func (n *Node) Closed(c *sim.Conn) {
	if s, ok := c.State.(*Session); ok {
		s.Close()
	}
}

// Receive is called by the kernel.
func (n *Node) Receive(c *sim.Conn, data []byte) {
	n.serves = c
	session := c.State.(*Session)
	if replies := session.Feed(data); len(replies) > 0 {
		c.Write(replies)
	}
	if session.Closed() { // QUIT, or bytes that are no Redis protocol
		c.Close()
	}
	n.serves = nil
	n.setAlarm()
}

// Crash is called by the kernel. What the node knew stays where it is until Restart says what became of it.
func (n *Node) Crash(sim.Fault) { n.Process.Alarm(time.Time{}, nil) }

// Restart is called by the kernel.
func (n *Node) Restart(empty bool) {
	n.Redis.Restart(empty)
	n.expire()
}

// ClockChanged is called by the kernel after the wall clock was set or got another rate: a jump forward ends keys at once.
func (n *Node) ClockChanged() { n.expire() }

func (n *Node) expire() {
	n.Tick()
	n.setAlarm()
}

// setAlarm has the keys that are next to expire reported at their time. Redis itself notices an expired key when it is
// asked for it, or in its own time; for its clients that makes no difference.
func (n *Node) setAlarm() {
	t, _ := n.NextDeadline()
	n.Process.Alarm(t, n.expire)
}

// changed turns a change of a key into an event.
func (n *Node) changed(c Change) {
	e := n.owners.event(c, n.world.Epoch(), func() string { return n.serves.Lease(c.New, c.NX) })
	if c.By != "" {
		e.Sent = n.serves.Sent()
	}
	n.Process.Note(e)
}

// owners says which lease each key of a node stands for.
type owners map[string]string

// event turns a change of a key into an event. Lease says what the key stands for after the request being served has given
// it a value.
func (o owners) event(c Change, epoch time.Time, lease func() string) sim.Event {
	since := func(t time.Time) time.Duration {
		if t.IsZero() {
			return sim.NoEnd
		}
		return t.Sub(epoch)
	}
	e := sim.Event{Kind: sim.State, Op: c.Op, Key: c.Key, By: c.By, Owner: o[c.Key]}
	switch c.Op {
	case sim.Set, sim.Over:
		e.Until = since(c.Deadline)
		if e.Lease = lease(); e.Lease == "" {
			e.Value = c.New
		}
		o[c.Key] = e.Lease
	case sim.Retime:
		e.Until = since(c.Deadline)
		e.Lease = e.Owner
	default:
		e.Until = since(c.OldDeadline)
		delete(o, c.Key)
	}
	return e
}

// Describe renders requests as "SET lock c1#1 NX PX 10000", and replies as "OK", "nil", "1".
func (n *Node) Describe(data []byte, reply bool, name func(string) string) string {
	if reply {
		return describeReply(data, name)
	}
	return describeRequest(data, name)
}
