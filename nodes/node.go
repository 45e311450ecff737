package nodes

import (
	"slices"
	"time"

	"lockstep/sim"
	"lockstep/sim/history"
)

// Node is a [Redis] server in a simulated process: connections lead to sessions, changes of keys become events, and keys
// expire when the wall clock of the process says so.
type Node struct {
	*Redis
	Process *sim.Process

	world  *sim.World
	serves *sim.Conn // the connection whose bytes are being worked on
	ring   func()    // expire, made once
	owners owners
	parsed parsed // by Describe, for Receive
	// marks says which lease a value has stood for, by key and value: a disk may bring back what had changed since.
	marks map[[2]string]owner

	// In a group.
	group   *Group
	source  *sim.Process // the primary that it is a replica of
	up      *upstream    // the link to it; nil: none
	down    []*downstream
	conns   []*sim.Conn // that others have opened
	replid  string      // names the history of the data
	terms   int         // of them that began here
	pinged  int
	dead    bool                                     // the process has ended, and has not been restarted
	bus     *bus                                     // of a cluster; nil: it is in none
	copying func(e edition, key, value string) owner // while the node copies its primary
}

// Serve adds a process to the world that is a Redis node.
func Serve(w *sim.World, name string) *Node {
	n := &Node{world: w, owners: owners{}}
	n.ring = n.expire
	n.Process = w.Serve(name, n)
	n.Redis = NewRedis(n.Process.Wall().Now)
	n.Observe(n.changed)
	n.OnReply(n.late)
	n.OnPush(func(s *Session, message []byte) { s.State.(*sim.Conn).Push(message) })
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
	case *Session:
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
	case *Session:
		if replies := state.feed(data, &n.parsed); len(replies) > 0 {
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
func (n *Node) late(s *Session, reply []byte) {
	serves := n.serves
	c := s.State.(*sim.Conn)
	c.Write(reply)
	n.Receive(c, nil)
	n.serves = serves
}

// Crash is called by the kernel. What the node knew stays where it is until Restart says what became of it.
func (n *Node) Crash(how history.Fault) {
	n.Process.Alarm(time.Time{}, nil)
	exit := Killed
	switch how := how.(type) {
	case history.Crash:
		if how.Power {
			exit = PowerLost
		}
	case history.Stop:
		exit = Stopped
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
func (n *Node) changed(c Change) {
	e := n.owners.event(c, n.world.Epoch(), func() owner {
		if n.copying != nil {
			return n.copying(n.edition(), c.Key, c.New)
		}
		if n.serves == nil { // no request, but a disk
			return n.marks[[2]string{c.Key, c.New}]
		}
		return n.owners.after(c, n.serves.Lease)
	})
	own := n.owners[c.Key]
	if n.group != nil && own.lease != "" && n.copying == nil {
		n.group.ledger.changes[written{n.edition(), c.Key, c.New}] = own
	}
	if own.lease != "" && n.disk.forgets() {
		if n.marks == nil {
			n.marks = map[[2]string]owner{}
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

// owners says which lease each key of a node stands for.
type owners map[string]owner

// owner is the lease that a key stands for, and what in its value says so; that is empty if nothing does.
type owner struct{ lease, mark string }

// event turns a change of a key into an event. Owner says what the key stands for after the request being served has given
// it a value. Op is empty if nothing has happened that concerns a lease: a key that is no string may well be one of a queue,
// or count something.
func (o owners) event(c Change, epoch time.Time, owner func() owner) history.Event {
	since := func(t time.Time) time.Duration {
		if t.IsZero() {
			return history.NoEnd
		}
		return t.Sub(epoch)
	}
	e := history.Event{Kind: history.State, Op: c.Op, Key: c.Key, By: c.By, Owner: o[c.Key].lease}
	switch c.Op {
	case history.Set, history.Over:
		e.Until = since(c.Deadline)
		o[c.Key] = owner()
		if e.Lease = o[c.Key].lease; e.Lease == "" && !c.Collection {
			e.Value = c.New
		}
		if c.Op == history.Over && c.Collection && e.Lease == e.Owner {
			e.Op = ""
			if c.Deadline != c.OldDeadline {
				e.Op = history.Retime
			}
		}
	case history.Retime:
		e.Until = since(c.Deadline)
		e.Lease = e.Owner
	default:
		e.Until = since(c.OldDeadline)
		delete(o, c.Key)
	}
	if c.Collection && e.Lease == "" && e.Owner == "" {
		e.Op = ""
	}
	return e
}

// after returns what a key stands for after a change. A hash, a list or a set goes on standing for what it stood for while the
// mark of that is in it: others may queue there, and the owner may count. Lease is [history.Leases.Set] for the request being
// served.
func (o owners) after(c Change, lease func(takes bool, values ...string) (lease, value string)) owner {
	was := o[c.Key]
	if c.Op == history.Over && c.Collection && was.lease != "" && (was.mark == "" || slices.Contains(c.marks(), was.mark)) {
		return was
	}
	name, mark := lease(c.NX || o.swapped(c), c.marks()...)
	return owner{name, mark}
}

// swapped says that GETSET put a value over one that stands for a lease. That is how a lock is taken over whose value says
// when it ends.
func (o owners) swapped(c Change) bool { return c.Command == "GETSET" && o[c.Key].lease != "" }

// Describe renders requests as "SET lock c1#1 NX PX 10000", and replies as "OK", "nil", "1".
func (n *Node) Describe(data []byte, reply bool, name func(string) string) string {
	if reply {
		if text, ok := describeStream(data, name); ok {
			return text
		}
		if text, ok := describeInfo(data); ok {
			return text
		}
		return describeReply(data, name)
	}
	return describeParsed(data, &n.parsed, name)
}
