package nodes

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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
// What clients can see and is missing: READONLY, with which a replica accepts reads; CLUSTER NODES, SHARDS and whatever else
// command does not have. A script may use undeclared keys of any slot, and databases are not counted.
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

// election is an election in which a replica stands.
type election struct {
	at    time.Duration // failover_auth_time: when to ask for votes; 0: never
	sent  bool
	epoch int64
	rank  int
	votes []*member
}

// member is a node of the cluster, as another node sees it. Times are those of the other node's wall clock.
type member struct {
	node *Node
	bus  *bus

	conn    *sim.Conn
	up      bool
	unread  []byte
	dialled time.Duration
	linked  time.Duration
	pinged  time.Duration // ping_sent: the first ping without a reply; 0: none
	ponged  time.Duration
	heard   time.Duration // data_received

	suspected bool // PFAIL
	failed    bool // FAIL
	failedAt  time.Duration
	reports   []report

	epoch   int64   // configEpoch
	source  *member // its primary; nil if it is one itself
	offset  int64
	votedAt time.Duration // when this node last voted for a replica of it
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

// keySlot returns the slot of a key: CRC-16 (XMODEM) of what is between the first pair of braces, or of the whole key.
func keySlot(key string) int {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(after, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % clusterSlots
}

// InOtherSlot reports whether a reply says that a command is for another node because its key is not in the slot of the lock.
func InOtherSlot(reply string) bool {
	word, rest, _ := strings.Cut(reply, " ")
	slot, _, _ := strings.Cut(rest, " ")
	return word == "MOVED" && slot != strconv.Itoa(keySlot(MasterName))
}

// Ranges divide the slots into as many equal parts as there are shards.
func (g *Group) rangeOf(slot int) int { return ((slot+1)*g.cfg.Shards - 1) / clusterSlots }

func (g *Group) slots(i int) (first, last int) {
	return i * clusterSlots / g.cfg.Shards, (i+1)*clusterSlots/g.cfg.Shards - 1
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

func (m *member) name() string { return m.node.Process.Name }

func (m *member) serves() bool { return slices.Contains(m.bus.owner, m) }

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

func (m *member) fresh(now time.Duration) {
	m.pinged, m.ponged, m.heard, m.suspected, m.reports = 0, now, now, false, nil
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

func (m *member) reconnect(now time.Duration) {
	if m.conn != nil || m.dialled != 0 && now-m.dialled < clusterRedial {
		return
	}
	m.dialled, m.linked = now, now
	m.conn = m.bus.node.Process.Connect(m.node.Process)
	m.conn.State = m
}

func (m *member) opened() {
	m.up = true
	m.pinged = cmp.Or(m.pinged, m.bus.now()) // when a ping without a reply was first due, on any link
	m.send("PING")
}

func (m *member) closed() { m.conn, m.up, m.unread = nil, false, nil }

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

// ping begins to wait for a reply. If there is no link yet, the wait is no shorter than with a link, because it takes time to
// learn that a connection is refused.
func (m *member) ping(now time.Duration) {
	m.pinged = now
	if m.up {
		m.send("PING")
	}
}

// watch pings nodes that have been silent for long, and suspects nodes that do not reply.
func (m *member) watch(now time.Duration) {
	limit := m.bus.timeout()
	if m.conn != nil && now-m.linked > limit && m.pinged != 0 && now-m.pinged > limit/2 && now-m.heard > limit/2 {
		m.conn.State = nil
		m.conn.Close()
		m.closed()
	}
	if m.pinged == 0 && now-m.ponged > limit/2 {
		m.ping(now)
	}
	if m.pinged == 0 || m.suspected || m.failed || min(now-m.pinged, now-m.heard) <= limit {
		return
	}
	m.suspected = true
	m.bus.note(history.Sdown, m)
}

// send sends a message. All begin with the epochs, the primary of the sender, its offset, the slots that it serves or (asking for
// a vote) wants to serve, and the nodes that it suspects.
func (m *member) send(kind string) { m.conn.Write(engine.Request(m.bus.message(kind)...)) }

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

// receive handles replies on the link to a node.
func (m *member) receive(data []byte) {
	cmds, rest, err := engine.ParseCommands(append(m.unread, data...))
	m.unread = slices.Clone(rest)
	if err != nil {
		panic("nodes: " + err.Error())
	}
	for _, args := range cmds {
		m.bus.heard(m, args)
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

// believe is markNodeAsFailingIfNeeded.
func (m *member) believe(now time.Duration) {
	b := m.bus
	if !m.suspected || m.failed {
		return
	}
	m.reports = slices.DeleteFunc(m.reports, func(r report) bool { return now-r.at > 2*b.timeout() })
	n := len(m.reports)
	if b.self.serves() {
		n++
	}
	if n < b.majority() {
		return
	}
	m.fail(now)
	for _, o := range b.others {
		if o.up {
			o.conn.Write(engine.Request("GOSSIP", "FAIL", strconv.FormatInt(b.epoch, 10), m.name()))
		}
	}
}

func (m *member) fail(now time.Duration) {
	m.failed, m.failedAt, m.suspected = true, now, false
	m.bus.note(history.Odown, m)
	m.bus.updateState(now)
}

// votes is clusterSendFailoverAuthIfNeeded: whether this primary votes for a replica that wants to replace its primary.
func (b *bus) votes(candidate *member, epoch, config int64, slots string, now time.Duration) bool {
	p := candidate.source
	if !b.self.serves() || epoch < b.epoch || b.voteIn == b.epoch || p == nil || !p.failed ||
		p.votedAt != 0 && now-p.votedAt < 2*b.timeout() {
		return false
	}
	for i, o := range b.owner {
		first, _ := b.node.group.slots(i)
		if strings.Contains(","+slots, ","+strconv.Itoa(first)+"-") && o.epoch > config {
			return false
		}
	}
	p.votedAt, b.voteIn = now, b.epoch
	return true
}

// standForElection is clusterHandleSlaveFailover.
func (b *bus) standForElection(now time.Duration) {
	p, e := b.self.source, &b.election
	if p == nil || !p.failed || !p.serves() {
		return
	}
	timeout := max(2*b.timeout(), 2*time.Second)
	switch {
	case e.at == 0 || now-e.at > 2*timeout:
		*e = election{rank: b.rank()}
		e.at = now + 500*time.Millisecond + time.Duration(b.random.IntN(500))*time.Millisecond + time.Duration(e.rank)*time.Second
		for _, m := range b.others { // so that the other replicas learn the offset
			if m.source == p && m.up {
				m.send("PONG")
			}
		}
		return
	case !e.sent:
		if rank := b.rank(); rank > e.rank {
			e.at += time.Duration(rank-e.rank) * time.Second
			e.rank = rank
		}
	}
	switch {
	case now < e.at || now-e.at > timeout:
	case !e.sent:
		b.epoch++
		e.epoch, e.sent = b.epoch, true
		b.broadcast("VOTE")
	case len(e.votes) >= b.majority():
		b.note(history.Leader, p)
		b.node.promote()
		b.replace(p, max(b.self.epoch, e.epoch))
	}
}

// rank returns how many other replicas of the same primary have more of its data.
func (b *bus) rank() (n int) {
	for _, m := range b.others {
		if m.source == b.self.source && m.offset > b.node.Offset() {
			n++
		}
	}
	return n
}

// replace is clusterFailoverReplaceYourMaster.
func (b *bus) replace(p *member, epoch int64) {
	b.self.source, b.self.epoch, b.election = nil, epoch, election{}
	for i, o := range b.owner {
		if o == p {
			b.owner[i] = b.self
		}
	}
	b.updateState(b.now())
	b.broadcast("PONG")
}

// takeOver is CLUSTER FAILOVER TAKEOVER after a promotion: without votes.
func (b *bus) takeOver() {
	if p := b.self.source; p != nil {
		b.epoch++
		b.replace(p, b.epoch)
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

// refuses says why this node does not run a command; empty if it does. For EXEC it checks all queued commands.
func (b *bus) refuses(s *engine.Session, args []string) string {
	slot := -1
	keys := b.node.KeysOf(args)
	if strings.EqualFold(args[0], "EXEC") {
		for _, queued := range s.Queued() {
			keys = append(keys, b.node.KeysOf(queued)...)
		}
	}
	for _, key := range keys {
		if slot >= 0 && keySlot(key) != slot {
			return "CROSSSLOT Keys in request don't hash to the same slot"
		}
		slot = keySlot(key)
	}
	if slot < 0 {
		return ""
	}
	if b.down {
		return "CLUSTERDOWN The cluster is down"
	}
	if owner := b.owner[b.node.group.rangeOf(slot)]; owner != b.self {
		return "MOVED " + strconv.Itoa(slot) + " " + owner.node.Process.Addr()
	}
	return ""
}

// command replies to commands that only a node of a cluster has.
func (b *bus) command(s *engine.Session, word string, args []string) (reply []byte, ok bool) {
	var w engine.Replies
	switch {
	case word == "GOSSIP":
		if m := b.member(s.Client()); m != nil {
			return b.heard(m, args), true
		}
	case word == "CLUSTER" && len(args) == 2 && strings.EqualFold(args[1], "SLOTS"):
		w.Array(len(b.owner))
		for i, o := range b.owner {
			first, last := b.node.group.slots(i)
			serving := []*member{o}
			for _, m := range b.all() {
				if m.source == o && !m.failed {
					serving = append(serving, m)
				}
			}
			w.Array(2 + len(serving))
			w.Integer(int64(first))
			w.Integer(int64(last))
			for _, m := range serving {
				host, port := hostPort(m.node.Process)
				w.Array(3)
				w.Bulk(host)
				w.Integer(int64(port))
				w.Bulk(m.name())
			}
		}
		return w, true
	case word == "CLUSTER" && len(args) == 2 && strings.EqualFold(args[1], "MYID"):
		w.Bulk(b.self.name())
		return w, true
	case word == "CLUSTER" && len(args) == 2 && strings.EqualFold(args[1], "INFO"):
		state := "ok"
		if b.down {
			state = "fail"
		}
		w.Bulk("cluster_enabled:1\r\ncluster_state:" + state + "\r\ncluster_known_nodes:" + strconv.Itoa(len(b.all())) +
			"\r\ncluster_size:" + strconv.Itoa(b.size()) + "\r\ncluster_current_epoch:" + strconv.FormatInt(b.epoch, 10) + "\r\n")
		return w, true
	case word == "CLUSTER" && len(args) == 3 && strings.EqualFold(args[1], "KEYSLOT"):
		w.Integer(int64(keySlot(args[2])))
		return w, true
	default:
		if refusal := b.refuses(s, args); refusal != "" {
			s.Refused(args)
			w.Fail(refusal)
			return w, true
		}
	}
	return nil, false
}

// ownerIn finds the address of a slot's owner in the reply to CLUSTER SLOTS.
func ownerIn(reply any, slot int) (addr string, ok bool) {
	ranges, _ := reply.([]any)
	for _, r := range ranges {
		r, _ := r.([]any)
		if len(r) < 3 {
			continue
		}
		first, _ := r[0].(int64)
		last, _ := r[1].(int64)
		if node, _ := r[2].([]any); first <= int64(slot) && int64(slot) <= last && len(node) >= 2 {
			host, _ := node[0].(string)
			port, _ := node[1].(int64)
			return net.JoinHostPort(host, strconv.FormatInt(port, 10)), true
		}
	}
	return "", false
}

// guide is what a client knows of a cluster: the node that it asks next.
type guide struct {
	mu   sync.Mutex
	next int // index in the list of nodes
}

func (g *guide) first() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.next
}

func (g *guide) doubt(asked int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next = asked + 1
}

// guided is a connection to a node of a cluster. When the node says that another one has the slot, or that the cluster is down,
// libraries with support for clusters ask again. Here the connection then fails the check that go-redis makes before it uses the
// connection again, and the next one is dialled by the information of another node.
type guided struct {
	*sim.Conn
	guide *guide
	asked int // the node that named this owner

	mu      sync.Mutex
	refused bool
}

// Read reads what has arrived.
func (c *guided) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if text := string(b[:n]); strings.HasPrefix(text, "-MOVED ") || strings.HasPrefix(text, "-CLUSTERDOWN ") {
		c.mu.Lock()
		c.refused = true
		c.mu.Unlock()
		c.guide.doubt(c.asked)
	}
	return n, err
}

var errRefusedHere = errors.New("another node has the slot")

// SyscallConn is called by go-redis for that check.
func (c *guided) SyscallConn() (syscall.RawConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused {
		return nil, errRefusedHere
	}
	return c.Conn.SyscallConn()
}
