// Package nodes has the Redis servers on which locks are stored: simulated processes, each with a clock, a network and a disk,
// alone or in a group with replicas, Sentinels or the rest of a cluster.
//
// Package engine determines the replies of such a server. Package live is the counterpart for real servers, which package
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
	serves *sim.Conn // the connection whose bytes are being processed
	ring   func()    // expire, made once
	owners engine.Owners
	parsed engine.Parsed // parsed by Describe, for Receive
	// marks are the leases that values have stood for, by key and value: a restart may bring a value back.
	marks    map[[2]string]engine.Owner
	refusals map[[2]string]bool // by client and command

	// For a node in a group.
	group   *Group
	source  *sim.Process // its primary, if it is a replica
	up      *upstream    // the link to the primary; nil if there is none
	down    []*downstream
	conns   []*sim.Conn // connections that others have opened
	replid  string      // the name of the data's history
	terms   int         // how many histories began here
	pinged  int
	dead    bool                                            // the process has ended and was not restarted
	bus     *bus                                            // for a node of a cluster; else nil
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
	n.OnRefused(n.refused)
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

// late sends a delayed reply, and runs what arrived meanwhile.
func (n *Node) late(s *engine.Session, reply []byte) {
	serves := n.serves
	c := s.State.(*sim.Conn)
	c.Write(reply)
	n.Receive(c, nil)
	n.serves = serves
}

// Crash is called by the kernel. The node's data stays in memory until Restart determines what is left of it.
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

// ClockChanged is called by the kernel after the wall clock was set or changed its rate: a jump forward makes keys expire at
// once. A node that is down looks at its clock when it restarts.
func (n *Node) ClockChanged() {
	if !n.dead {
		n.expire()
	}
}

func (n *Node) expire() {
	n.Tick()
	n.setAlarm()
}

// setAlarm sets an alarm for when the next keys expire. Redis itself removes an expired key when a command needs it, or in the
// background; clients see no difference.
func (n *Node) setAlarm() {
	t, _ := n.NextDeadline()
	n.Process.Alarm(t, n.ring)
}

// changed records a change of a key as an event.
func (n *Node) changed(c engine.Change) {
	from := n.serves
	if c.Waiter != nil {
		from = c.Waiter.State.(*sim.Conn)
	}
	e := n.owners.Event(c, n.world.Epoch(), func() engine.Owner {
		if n.copying != nil {
			return n.copying(n.edition(), c.Key, c.New)
		}
		if from == nil { // not a request, but a restart
			return n.marks[[2]string{c.Key, c.New}]
		}
		return n.owners.After(c, from.Lease)
	})
	own := n.owners[c.Key]
	if n.group != nil && own.Lease != "" && n.copying == nil {
		n.group.ledger.changes[written{n.edition(), c.Key, c.New}] = own
	}
	switch value := [2]string{c.Key, c.New}; {
	case !n.Forgets():
	case own.Lease == "":
		delete(n.marks, value) // what is left of a hash after a release may be what it had before its owner was written
	default:
		if n.marks == nil {
			n.marks = map[[2]string]engine.Owner{}
		}
		n.marks[value] = own
	}
	if e.Op == "" {
		return
	}
	if c.By != "" {
		e.Sent = from.Sent()
	}
	n.Process.Note(e)
}

// refused notes that a client sent a command that the node does not have.
func (n *Node) refused(client, command string) {
	seen := [2]string{client, command}
	if n.refusals[seen] {
		return
	}
	if n.refusals == nil {
		n.refusals = map[[2]string]bool{}
	}
	n.refusals[seen] = true
	e := history.Event{Kind: history.State, Op: history.Refuse, Value: command, By: client}
	if n.serves != nil {
		e.Sent = n.serves.Sent()
	}
	n.Process.Note(e)
}

// Describe describes requests as "SET lock c1#1 NX PX 10000", and replies as "OK", "nil", "1".
func (n *Node) Describe(data []byte, reply bool, name func(string) string) string {
	if reply {
		if text, ok := engine.DescribeStream(data, name); ok {
			return text
		}
		return engine.DescribeReply(data, name)
	}
	return engine.DescribeParsed(data, &n.parsed, name)
}
