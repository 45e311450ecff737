package nodes

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/nodes/engine"
	"lockstep/sim"
	"lockstep/sim/history"
)

// Replication over the network: the link of a replica to its primary, and the primary's data about each replica. It follows
// replication.c of Redis 7.0. Not simulated: partial resynchronization (a replica whose link was lost always gets a full copy),
// the duration of a synchronization beyond that of its message, and that SIGTERM waits for replicas.

const (
	replicationCron    = time.Second
	replicationPing    = 10 * time.Second // repl-ping-replica-period
	replicationTimeout = 60 * time.Second // repl-timeout
)

var replicationPinged = []byte("*1\r\n$4\r\nPING\r\n")

// A line is a connection that a server has opened to another. It is the State of the connection.
type line interface {
	opened()
	receive(data []byte)
	closed()
}

// upstream is the link of a replica to its primary.
type upstream struct {
	node   *Node
	conn   *sim.Conn
	unread []byte // of the reply to PSYNC
	synced bool
	heard  time.Duration // when bytes last arrived, by the steady clock
}

// downstream is the primary's end of the link to a replica.
type downstream struct {
	name  string
	conn  *sim.Conn
	heard time.Duration // when the replica last acknowledged, by the steady clock
}

// replicates sets up replication for a node.
func (n *Node) replicates(g *Group) {
	n.group = g
	n.beginTerm()
	n.Stream(n.spread)
	n.Delegate(n.command)
	n.Addresses(g.addressOf)
	n.cron()
}

// beginTerm gives the data of the node a new name. No two histories of data share a name, so an offset means the same on every
// node.
func (n *Node) beginTerm() {
	n.terms++
	n.replid = n.Process.Name + "." + strconv.Itoa(n.terms)
}

// Follow is REPLICAOF: the node loses its own keys once it has reached the primary. If the node is down, only its configuration
// changes.
func (n *Node) Follow(primary *sim.Process) bool {
	if n.group == nil || primary == n.Process || n.Following() == primary.Name {
		return false
	}
	if n.bus != nil && !n.bus.replicate(primary) {
		return false
	}
	n.hangUp()
	n.source = primary
	n.Redis.Follow(primary.Name)
	n.Process.Note(history.Event{Kind: history.State, Op: history.Followed, Value: primary.Name})
	if !n.dead {
		n.setAlarm()
		n.dialPrimary()
	}
	return true
}

// Promote is REPLICAOF NO ONE by an operator, who then tells the other nodes. A node that is down is not reached.
func (n *Node) Promote() bool {
	if n.group == nil || n.dead || !n.promote() {
		return false
	}
	n.group.promoted(n)
	return true
}

func (n *Node) promote() bool {
	if n.Following() == "" {
		return false
	}
	n.hangUp()
	n.source = nil
	n.beginTerm()
	n.Process.Note(history.Event{Kind: history.State, Op: history.Promoted})
	n.Redis.Promote()
	n.setAlarm()
	return true
}

// hangUp ends the links of replication. Replicas of a node whose role changes must synchronize with it again.
func (n *Node) hangUp() {
	if n.up != nil {
		n.up.conn.Close()
		n.up = nil
	}
	for len(n.down) > 0 {
		n.dismiss(n.down[0])
	}
}

// dismiss ends the link to a replica.
func (n *Node) dismiss(d *downstream) {
	d.conn.State.(*engine.Session).Close()
	d.conn.Close()
	n.leave(d.conn)
}

// leave removes a connection that others have opened.
func (n *Node) leave(c *sim.Conn) {
	n.conns = slices.DeleteFunc(n.conns, func(o *sim.Conn) bool { return o == c })
	if i := slices.IndexFunc(n.down, func(d *downstream) bool { return d.conn == c }); i >= 0 {
		gone := n.down[i].name
		n.down = slices.Delete(n.down, i, i+1)
		n.ReplicaGone(gone)
	}
}

// edition returns the state of the node's data.
func (n *Node) edition() edition { return edition{n.replid, n.Offset()} }

// cron is replicationCron.
func (n *Node) cron() {
	now := n.Process.Steady()
	switch {
	case n.Following() == "":
	case n.up == nil:
		n.dialPrimary()
	case now-n.up.heard > replicationTimeout:
		n.up.conn.Close()
		n.unlinked()
		n.dialPrimary()
	case n.up.synced:
		n.up.ack()
	}
	for _, d := range slices.Clone(n.down) {
		if now-d.heard > replicationTimeout {
			n.dismiss(d)
		}
	}
	if n.Following() == "" && len(n.down) > 0 {
		if n.pinged++; n.pinged%int(replicationPing/replicationCron) == 0 {
			n.Advance(len(replicationPinged))
			n.spread(replicationPinged)
		}
	}
	n.Process.After(replicationCron, n.cron)
}

// spread sends a unit of effects to the replicas.
func (n *Node) spread(unit []byte) {
	for _, d := range n.down {
		d.conn.Write(unit)
	}
}

func (n *Node) dialPrimary() {
	n.up = &upstream{node: n, heard: n.Process.Steady()}
	n.up.conn = n.Process.Connect(n.source)
	n.up.conn.State = n.up
}

func (n *Node) unlinked() {
	n.up = nil
	n.Unlinked()
}

func (u *upstream) opened() {
	u.heard = u.node.Process.Steady()
	u.send("PSYNC", "?", "-1")
}

func (u *upstream) closed() {
	if u.node.up == u {
		u.node.unlinked()
	}
}

func (u *upstream) send(args ...string) { u.conn.Write(engine.Request(args...)) }

func (u *upstream) ack() { u.send("REPLCONF", "ACK", strconv.FormatInt(u.node.Offset(), 10)) }

func (u *upstream) receive(data []byte) {
	n := u.node
	if n.up != u {
		return
	}
	u.heard = n.Process.Steady()
	if !u.synced {
		u.unread = append(u.unread, data...)
		data = u.load()
	}
	if u.synced && len(data) > 0 {
		n.copying = n.group.ledger.change
		if n.Apply(data) {
			u.ack()
		}
		n.copying = nil
	}
}

// load parses the reply to PSYNC, and returns the bytes after it.
func (u *upstream) load() (stream []byte) {
	n := u.node
	head, rest, ok := bytes.Cut(u.unread, []byte("\r\n"))
	if !ok {
		return nil
	}
	words := strings.Fields(string(head))
	if len(words) != 3 || words[0] != "+FULLRESYNC" { // it is not a primary that can be copied; ask again later
		u.conn.Close()
		n.unlinked()
		return nil
	}
	snapshot, stream, whole := engine.CutPayload(rest)
	if !whole {
		return nil
	}
	offset, _ := strconv.ParseInt(words[2], 10, 64)
	for len(n.down) > 0 {
		n.dismiss(n.down[0])
	}
	n.replid = words[1]
	owners := n.group.ledger.snapshots[edition{words[1], offset}]
	n.copying = func(_ edition, key, _ string) engine.Owner { return owners[key] }
	n.Load(snapshot, offset)
	n.copying = nil
	n.owners = maps.Clone(owners)
	u.synced, u.unread = true, nil
	u.ack()
	return stream
}

// command replies to commands of replicas, and of servers that assign roles.
func (n *Node) command(s *engine.Session, args []string) (reply []byte, ok bool) {
	var w engine.Replies
	switch word := strings.ToUpper(args[0]); {
	case word == "PSYNC" && len(args) == 3:
		if n.Following() != "" && !n.Linked() {
			w.Fail("NOMASTERLINK Can't SYNC while not connected with my master")
			break
		}
		for _, d := range n.down {
			if d.name == s.Client() {
				n.dismiss(d)
				break
			}
		}
		n.group.ledger.snapshots[n.edition()] = maps.Clone(n.owners)
		snapshot := n.Snapshot()
		w.Status("FULLRESYNC " + n.replid + " " + strconv.FormatInt(n.Offset(), 10))
		w.Payload(snapshot)
		n.down = append(n.down, &downstream{name: s.Client(), conn: n.serves, heard: n.Process.Steady()})
	case word == "REPLCONF" && len(args) == 3 && strings.EqualFold(args[1], "ACK"):
		offset, _ := strconv.ParseInt(args[2], 10, 64)
		for _, d := range n.down {
			if d.conn == n.serves {
				d.heard = n.Process.Steady()
				n.Acked(d.name, offset)
				break
			}
		}
	case (word == "REPLICAOF" || word == "SLAVEOF") && len(args) == 3:
		if strings.EqualFold(args[1], "NO") && strings.EqualFold(args[2], "ONE") {
			n.promote()
			w.Status("OK")
			break
		}
		primary := n.group.at(args[1] + ":" + args[2])
		if primary == nil {
			w.Fail("ERR Invalid master port")
			break
		}
		n.Follow(primary.Process)
		w.Status("OK")
	case word == "CLIENT" && len(args) == 4 && strings.EqualFold(args[1], "KILL") && strings.EqualFold(args[2], "TYPE"):
		w.Integer(n.kill(s))
	case n.bus != nil:
		return n.bus.command(s, word, args)
	default:
		return nil, false
	}
	return w, true
}

// kill closes every connection except those of replicas and one other: CLIENT KILL TYPE normal.
func (n *Node) kill(but *engine.Session) (killed int64) {
	for _, c := range slices.Clone(n.conns) {
		if c.State == but || slices.ContainsFunc(n.down, func(d *downstream) bool { return d.conn == c }) {
			continue
		}
		killed++
		c.State.(*engine.Session).Close()
		c.Close()
		n.leave(c)
	}
	return killed
}

// ledger is what only the simulation knows about the data of a group: which lease a value stood for when a client wrote it. A
// copy of the value stands for the same lease, wherever and whenever it arrives.
type ledger struct {
	changes   map[written]engine.Owner
	snapshots map[edition]engine.Owners
}

// edition is a state of the data of one history, by its offset. A change belongs to the edition before it.
type edition struct {
	replid string
	offset int64
}

type written struct {
	edition
	key, value string
}

func newLedger() *ledger {
	return &ledger{changes: map[written]engine.Owner{}, snapshots: map[edition]engine.Owners{}}
}

func (l *ledger) change(e edition, key, value string) engine.Owner {
	return l.changes[written{e, key, value}]
}
