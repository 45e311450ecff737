package nodes

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"lockstep/nodes/engine"
	"lockstep/sim"
	"lockstep/sim/history"
)

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

func (m *member) name() string { return m.node.Process.Name }

func (m *member) serves() bool { return slices.Contains(m.bus.owner, m) }

func (m *member) fresh(now time.Duration) {
	m.pinged, m.ponged, m.heard, m.suspected, m.reports = 0, now, now, false, nil
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
