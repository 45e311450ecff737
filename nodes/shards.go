package nodes

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/nodes/engine"
	"lockstep/sim"
	"lockstep/sim/history"
)

// bus is a node's view of the other nodes of a Redis Cluster, and its communication with them. It follows src/cluster.c of Redis
// 7.0, and uses its names for the times. Its messages are readable here, and share the port of the clients.
//
// Simplifications among the nodes: slots do not move one by one but in ranges, one per shard, and only by a failover; nodes know
// each other by their configuration, which also outlives an empty disk; every message contains all suspicions of its sender, not
// some; a node that claims slots by outdated information hears it only from the new owner, not from all nodes (UPDATE); epochs do
// not collide; a replica stands for election however long it has been without its primary, and does not migrate to another shard.
// Clients can see that these are missing: the error that a client in BLPOP gets when the cluster is down; READONLY, with which a
// replica accepts reads; CLUSTER NODES, SHARDS and whatever else command does not have. A script may use undeclared keys of any
// slot, and databases are not counted.
type bus struct {
	node   *Node
	random *rand.Rand
	self   *member
	others []*member
	owner  []*member // the owner of each range of slots

	epoch  int64 // currentEpoch
	voteIn int64 // lastVoteEpoch
	beats  int

	down       bool          // cluster_state:fail
	minorityAt time.Duration // when it last could not reach a majority
	startedAt  time.Duration // when it restarted; 0: long ago

	election election
}

// report is a primary's statement that a node is down.
type report struct {
	by *member
	at time.Duration
}

const (
	defaultNodeTimeout = 15 * time.Second
	clusterSlots       = 16384
	clusterCron        = 100 * time.Millisecond
	clusterRedial      = time.Second // Redis: at each cron
	clusterWritable    = 2 * time.Second
	clusterRejoinMin   = 500 * time.Millisecond
	clusterRejoinMax   = 5 * time.Second
)

// now is mstime, the time of the wall clock. It is never 0.
func (b *bus) now() time.Duration {
	return b.node.Process.Wall().Now().Sub(b.node.world.Epoch()) + time.Hour
}

func (b *bus) timeout() time.Duration { return b.node.group.downAfter }

func (b *bus) all() []*member { return append([]*member{b.self}, b.others...) }

func (b *bus) member(name string) *member {
	for _, m := range b.all() {
		if m.node.Process.Name == name {
			return m
		}
	}
	return nil
}

// size returns the number of primaries that own slots, each of which has a vote.
func (b *bus) size() (n int) {
	for _, m := range b.all() {
		if m.serves() {
			n++
		}
	}
	return n
}

func (b *bus) majority() int { return b.size()/2 + 1 }

func (b *bus) note(op string, about *member) {
	b.node.Process.Note(history.Event{Kind: history.State, Op: op, Value: about.name()})
}

// restarted resets the state to what nodes.conf keeps. A primary waits before it accepts writes.
func (b *bus) restarted() {
	now := b.now()
	for _, m := range b.others {
		m.fresh(now)
		m.dialled = 0
		if m.failed {
			m.failedAt = now
		}
	}
	b.election = election{}
	b.down, b.startedAt = true, now
	b.cron()
}

// cron is clusterCron.
func (b *bus) cron() {
	now := b.now()
	for _, m := range b.others {
		m.reconnect(now)
	}
	if b.beats++; b.beats%10 == 0 {
		b.pingOne(now)
	}
	for _, m := range b.others {
		m.watch(now)
	}
	b.standForElection(now)
	b.updateState(now)
	b.node.Process.After(clusterCron, b.cron)
}

// pingOne pings the node that was silent for longest out of five random ones.
func (b *bus) pingOne(now time.Duration) {
	var oldest *member
	for range 5 {
		m := b.others[b.random.IntN(len(b.others))]
		if m.pinged == 0 && (oldest == nil || m.ponged < oldest.ponged) {
			oldest = m
		}
	}
	if oldest != nil {
		oldest.ping(now)
	}
}

func (b *bus) message(kind string) []string {
	source, from := "-", b.self
	if b.self.source != nil {
		source = b.self.source.name()
		from = b.self.source
	}
	var slots, suspects []string
	for i, m := range b.owner {
		if m == b.self || kind == "VOTE" && m == from {
			first, last := b.node.group.slots(i)
			slots = append(slots, strconv.Itoa(first)+"-"+strconv.Itoa(last))
		}
	}
	for _, m := range b.others {
		if m.suspected || m.failed {
			suspects = append(suspects, m.name())
		}
	}
	list := func(l []string) string { return cmp.Or(strings.Join(l, ","), "-") }
	return []string{
		"GOSSIP", kind, strconv.FormatInt(b.epoch, 10), strconv.FormatInt(from.epoch, 10), source,
		strconv.FormatInt(b.node.Offset(), 10), list(slots), list(suspects),
	}
}

func (b *bus) broadcast(kind string) {
	for _, m := range b.others {
		if m.up {
			m.send(kind)
		}
	}
}

// publish is clusterPropagatePublish: what a client publishes on one node goes to the subscribers of all.
func (b *bus) publish(channel, message string) {
	for _, m := range b.others {
		if m.up {
			m.conn.Write(engine.Request("GOSSIP", "PUBLISH", strconv.FormatInt(b.epoch, 10), channel, message))
		}
	}
}

// heard is clusterProcessPacket. The reply is sent on the same link.
func (b *bus) heard(m *member, args []string) (answer []byte) {
	now := b.now()
	m.heard = now
	kind := args[1]
	epoch, _ := strconv.ParseInt(args[2], 10, 64)
	b.epoch = max(b.epoch, epoch)
	if kind == "FAIL" {
		if about := b.member(args[3]); about != b.self && !about.failed {
			about.fail(now)
		}
		return nil
	}
	if kind == "PUBLISH" {
		b.node.Publish(args[3], args[4])
		return nil
	}
	if kind == "VOTED" {
		e := &b.election
		if m.serves() && e.sent && epoch >= e.epoch && !slices.Contains(e.votes, m) {
			e.votes = append(e.votes, m)
		}
		return nil
	}
	config, _ := strconv.ParseInt(args[3], 10, 64)
	m.offset, _ = strconv.ParseInt(args[5], 10, 64)
	if kind == "VOTE" {
		if b.votes(m, epoch, config, args[6], now) {
			return engine.Request("GOSSIP", "VOTED", strconv.FormatInt(b.epoch, 10))
		}
		return nil
	}
	if kind == "PONG" {
		m.ponged, m.pinged = now, 0
		m.suspected = false
		if m.failed && (m.source != nil || !m.serves() || now-m.failedAt > 2*b.timeout()) {
			m.failed = false
		}
	}
	if m.source = nil; args[4] != "-" {
		m.source = b.member(args[4])
	} else {
		m.epoch = max(m.epoch, config)
		b.claimed(m, args[6])
	}
	b.gossiped(m, args[7], now)
	b.updateState(now)
	if kind == "PING" {
		return engine.Request(b.message("PONG")...)
	}
	return nil
}

// claimed is clusterUpdateSlotsConfigWith: the slots belong to the node with the higher epoch; a node that loses its slots
// follows the new owner, as do its replicas.
func (b *bus) claimed(m *member, slots string) {
	primary := cmp.Or(b.self.source, b.self)
	lost := false
	for i, o := range b.owner {
		first, _ := b.node.group.slots(i)
		if !strings.Contains(","+slots, ","+strconv.Itoa(first)+"-") || o.epoch >= m.epoch {
			continue
		}
		lost = lost || o == primary
		b.owner[i] = m
	}
	if lost && !primary.serves() && m != b.self {
		b.node.Follow(m.node.Process)
	}
}

// replicate is CLUSTER REPLICATE. A node with slots refuses it.
func (b *bus) replicate(primary *sim.Process) bool {
	m := b.member(primary.Name)
	if b.self.serves() || m == nil || m.source != nil {
		return false
	}
	b.self.source, b.election = m, election{}
	return true
}

// gossiped notes which nodes a primary suspects; a node that most primaries suspect counts as failed.
func (b *bus) gossiped(m *member, suspects string, now time.Duration) {
	if m.source != nil || !m.serves() {
		return
	}
	for _, about := range b.others {
		about.reports = slices.DeleteFunc(about.reports, func(r report) bool { return r.by == m })
		if about == m || !slices.Contains(strings.Split(suspects, ","), about.name()) {
			continue
		}
		about.reports = append(about.reports, report{m, now})
		about.believe(now)
	}
}

// updateState is clusterUpdateState: the cluster is down while an owner of some slots is down, or while this node cannot reach a
// majority of the primaries.
func (b *bus) updateState(now time.Duration) {
	if b.down && b.self.source == nil && b.startedAt != 0 && now-b.startedAt < clusterWritable {
		return
	}
	down, reached := false, 0
	for _, m := range b.all() {
		if !m.serves() {
			continue
		}
		down = down || m.failed
		if !m.failed && !m.suspected {
			reached++
		}
	}
	if reached < b.majority() {
		down, b.minorityAt = true, now
	}
	rejoin := min(max(b.timeout(), clusterRejoinMin), clusterRejoinMax)
	if b.down && !down && b.self.source == nil && b.minorityAt != 0 && now-b.minorityAt < rejoin {
		return
	}
	b.down = down
}

// serveShards makes the group part of a cluster: it owns the slot of the lock, and other shards own the others.
func (g *Group) serveShards() {
	g.downAfter = cmp.Or(g.cfg.DownAfter, defaultNodeTimeout)
	primaries := []*Node{g.primary}
	for i := 2; i <= g.cfg.Shards; i++ {
		primaries = append(primaries, g.serve("p"+strconv.Itoa(i)))
	}
	// The shards in the order of their ranges; n1 owns the slot of the lock.
	mine := g.rangeOf(keySlot(MasterName))
	ranges := slices.Insert(slices.Clone(primaries[1:]), mine, g.primary)
	for _, n := range g.nodes {
		b := &bus{node: n, random: g.world.Rand(g.cfg.Seed, "cluster", n.Process.Name), epoch: int64(g.cfg.Shards)}
		n.bus = b
		n.SetClustered()
		n.OnPublish(b.publish)
		for _, o := range g.nodes {
			m := &member{node: o, bus: b, epoch: int64(slices.Index(primaries, o) + 1)}
			m.fresh(b.now())
			if o == n {
				b.self = m
			} else {
				b.others = append(b.others, m)
			}
		}
		for _, m := range b.all() {
			if p := m.node.source; p != nil {
				m.source = b.member(p.Name)
			}
		}
		for _, o := range ranges {
			b.owner = append(b.owner, b.member(o.Process.Name))
		}
		b.cron()
	}
}
