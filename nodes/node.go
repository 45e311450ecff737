// Package nodes has the Redis servers that locks live on: simulated processes, each with a clock, a network and a disk, alone or in a
// group with replicas, Sentinels or the rest of a cluster.
//
// Package engine decides what such a server answers. Package live is the counterpart for real servers, which package
// redisserver starts.
package nodes

import (
	"time"

	"lockstep/nodes/engine"
	"lockstep/sim"
	"lockstep/sim/history"
)

// Node is an [engine.Redis] in a simulated process: connections lead to sessions, changes of keys become events, and keys
// expire when the wall clock of the process says so.
type Node struct {
	*engine.Redis
	Process *sim.Process

	world  *sim.World
	serves *sim.Conn // the connection whose bytes are being worked on
	ring   func()    // expire, made once
	owners engine.Owners
	parsed engine.Parsed // by Describe, for Receive
	// marks says which lease a value has stood for, by key and value: a disk may bring back what had changed since.
	marks map[[2]string]engine.Owner

	// In a group.
	group   *Group
	source  *sim.Process // the primary that it is a replica of
	up      *upstream    // the link to it; nil: none
	down    []*downstream
	conns   []*sim.Conn // that others have opened
	replid  string      // names the history of the data
	terms   int         // of them that began here
	pinged  int
	dead    bool                                            // the process has ended, and has not been restarted
	bus     *bus                                            // of a cluster; nil: it is in none
	copying func(e edition, key, value string) engine.Owner // while the node copies its primary
}

// Serve adds a process to the world that is a Redis node.
func Serve(w *sim.World, name string) *Node {
	n := &Node{world: w, owners: engine.Owners{}}
	n.ring = n.expire
	n.Process = w.Serve(name, n)
	n.Redis = engine.NewRedis(n.Process.Wall().Now)
	n.Observe(n.changed)
	n.OnReply(n.late)
	n.OnPush(func(s *engine.Session, message []byte) { s.State.(*sim.Conn).Push(message) })
	return n
}

// Open is called by the kernel.
func (n *Node) Open(c *sim.Conn) {
	if l, ok := c.State.(line); ok {
		l.opened()
		return
	}
	s := n.Connect(c.Remote())
	c.State, s.State = s, c
	if n.group != nil {
		n.conns = append(n.conns, c)
	}
}

// Closed is called by the kernel.
func (n *Node) Closed(c *sim.Conn) {
	switch state := c.State.(type) {
	case line:
		state.closed()
	case *engine.Session:
		state.Close()
		n.leave(c)
	}
}

// Receive is called by the kernel.
func (n *Node) Receive(c *sim.Conn, data []byte) {
	n.serves = c
	switch state := c.State.(type) {
	case line:
		state.receive(data)
	case *engine.Session:
		if replies := state.FeedParsed(data, &n.parsed); len(replies) > 0 {
			c.Write(replies)
		}
		if state.Closed() { // QUIT, or bytes that are no Redis protocol
			c.Close()
			n.leave(c)
		}
	}
	n.serves = nil
	n.setAlarm()
}

// late sends a reply that took time, and has what arrived meanwhile run.
func (n *Node) late(s *engine.Session, reply []byte) {
	serves := n.serves
	c := s.State.(*sim.Conn)
	c.Write(reply)
	n.Receive(c, nil)
	n.serves = serves
}

// Crash is called by the kernel. What the node knew stays where it is until Restart says what became of it.
func (n *Node) Crash(how history.Fault) {
	n.Process.Alarm(time.Time{}, nil)
	exit := engine.Killed
	switch how := how.(type) {
	case history.Crash:
		if how.Power {
			exit = engine.PowerLost
		}
	case history.Stop:
		exit = engine.Stopped
	}
	n.Redis.Crash(exit)
	n.dead = true
}

// Restart is called by the kernel.
func (n *Node) Restart(empty bool) {
	n.dead = false
	n.Redis.Restart(empty)
	n.expire()
	if n.group != nil {
		n.beginTerm()
		n.cron()
		if n.bus != nil {
			n.bus.restarted()
		}
	}
}

// ClockChanged is called by the kernel after the wall clock was set or got another rate: a jump forward ends keys at once. A
// dead node looks at its clock when it comes back.
func (n *Node) ClockChanged() {
	if !n.dead {
		n.expire()
	}
}

func (n *Node) expire() {
	n.Tick()
	n.setAlarm()
}

// setAlarm has the keys that are next to expire reported at their time. Redis itself notices an expired key when it is
// asked for it, or in its own time; for its clients that makes no difference.
func (n *Node) setAlarm() {
	t, _ := n.NextDeadline()
	n.Process.Alarm(t, n.ring)
}

// changed turns a change of a key into an event.
func (n *Node) changed(c engine.Change) {
	e := n.owners.Event(c, n.world.Epoch(), func() engine.Owner {
		if n.copying != nil {
			return n.copying(n.edition(), c.Key, c.New)
		}
		if n.serves == nil { // no request, but a disk
			return n.marks[[2]string{c.Key, c.New}]
		}
		return n.owners.After(c, n.serves.Lease)
	})
	own := n.owners[c.Key]
	if n.group != nil && own.Lease != "" && n.copying == nil {
		n.group.ledger.changes[written{n.edition(), c.Key, c.New}] = own
	}
	if own.Lease != "" && n.Forgets() {
		if n.marks == nil {
			n.marks = map[[2]string]engine.Owner{}
		}
		n.marks[[2]string{c.Key, c.New}] = own
	}
	if e.Op == "" {
		return
	}
	if c.By != "" {
		e.Sent = n.serves.Sent()
	}
	n.Process.Note(e)
}

// Describe renders requests as "SET lock c1#1 NX PX 10000", and replies as "OK", "nil", "1".
func (n *Node) Describe(data []byte, reply bool, name func(string) string) string {
	if reply {
		if text, ok := engine.DescribeStream(data, name); ok {
			return text
		}
		return engine.DescribeReply(data, name)
	}
	return engine.DescribeParsed(data, &n.parsed, name)
}
