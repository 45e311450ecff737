package live

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/proto"

	"lockstep/nodes/engine"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// realNode is a redis-server behind a proxy. It records the changes of keys as a simulated [nodes.Node] does.
type realNode struct {
	c     *Cluster
	name  string
	proxy *Proxy

	server   *redisserver.Server
	disk     realDisk
	dead     bool          // the server has crashed, and has not been restarted
	owed     time.Duration // jumps of its clock in the meantime
	observer *observer
	owners   engine.Owners
	marks    map[[2]string]engine.Owner // the leases that values have stood for, by key and value: a restart may bring a value back
	refusals map[[2]string]bool         // by client and command
	alarm    *time.Timer                // rings when the next key expires
	relay    *relay                     // the connection whose request is being carried out
	request  *message
	membership
}

func newRealNode(c *Cluster, name string, s *redisserver.Server, kind engine.Persistence) *realNode {
	n := &realNode{c: c, name: name, server: s, owners: engine.Owners{}, marks: map[[2]string]engine.Owner{}}
	n.disk = realDisk{server: s, Disk: engine.NewDisk(kind)}
	s.Watch(func(err error) { c.fail(fmt.Errorf("%s: %w", name, err)) })
	n.observer = &observer{server: s, report: n.changed, keys: map[string]engine.Entry{}}
	n.alarm = time.AfterFunc(time.Hour, n.ring)
	n.alarm.Stop()
	return n
}

// changed records a change of a key. The caller holds Proxy.serving.
func (n *realNode) changed(change engine.Change) {
	c := n.c
	c.mu.Lock()
	defer c.mu.Unlock()
	e := n.owners.Event(change, c.start, func() engine.Owner {
		if n.relay == nil || n.source != nil { // nobody saw it happen, or a restart brought the value back
			if own, ok := n.marks[[2]string{change.Key, change.New}]; ok {
				return own
			}
			lease, mark := c.leases.Set("", 0, history.TakesNothing, change.Key, change.Marks()...)
			return engine.Owner{Lease: lease, Mark: mark}
		}
		return n.owners.After(change, func(takes history.Taking, key string, values ...string) (lease, value string) {
			return c.leases.Set(n.relay.client.name, n.request.acquire, takes, key, values...)
		})
	})
	if own, value := n.owners[change.Key], [2]string{change.Key, change.New}; own.Lease != "" {
		n.marks[value] = own
	} else {
		delete(n.marks, value) // what is left of a hash after a release may be what it had before its owner was written
	}
	if e.Op == "" {
		return
	}
	if n.request != nil && n.source == nil && e.By != "" {
		e.Sent = n.request.sent
	}
	c.note(n.name, e)
}

// ring reports the keys that have expired. It is called when the next key expires.
func (n *realNode) ring() {
	n.proxy.serving.Lock()
	defer n.proxy.serving.Unlock()
	n.expire()
}

func (n *realNode) expire() {
	n.c.mu.Lock()
	down := n.proxy.crashed || n.c.closed
	n.c.mu.Unlock()
	if down {
		return // keys that have expired meanwhile are reported at the restart
	}
	n.observer.expire()
	n.setAlarm()
}

func (n *realNode) setAlarm() {
	n.alarm.Stop()
	if next := n.observer.next(); !next.IsZero() {
		n.alarm.Reset(max(0, time.Until(next)))
		n.counts()
	}
}

// counts notes that the node used its clock, to expire a key, so that faults of that clock have had an effect.
func (n *realNode) counts() {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.source != nil {
		return
	}
	for _, id := range n.jumps {
		n.c.bite(id)
	}
	n.jumps = nil
}

// duplex is a connection to a server. One goroutine reads the replies, one at a time.
type duplex struct {
	net.Conn
	replies *bufio.Reader
	listen  sync.Once
	answers chan string // replies; closed when there will be no more
	err     error       // why it was closed
}

func (n *realNode) connect() (io.ReadWriteCloser, error) {
	conn, err := net.Dial("tcp", n.server.Addr())
	if err != nil {
		return nil, n.server.Cause(err)
	}
	return &duplex{Conn: conn, replies: bufio.NewReader(conn), answers: make(chan string, 1)}, nil
}

// hear reads what the server sends on a connection: replies, and messages that it pushes when keys change that the client has
// read (CLIENT TRACKING).
func (n *realNode) hear(r *relay, d *duplex) {
	defer close(d.answers)
	for {
		text, err := proto.Read(d.replies)
		if err != nil {
			d.err = err
			n.parted(r)
			return
		}
		if text[0] != '>' {
			d.answers <- text
			continue
		}
		m := &message{data: []byte(text)}
		n.c.mu.Lock()
		m.text = n.describe(m, true, n.c.known)
		n.c.send(&r.replies, m)
		n.c.mu.Unlock()
	}
}

func (n *realNode) split(data []byte) (m *message, size int, err error) {
	cmd, size, err := engine.ParseCommand(data)
	return &message{cmd: cmd}, size, err
}

func (n *realNode) describe(m *message, reply bool, name func(string) string) string {
	if reply {
		return engine.DescribeReply(m.data, name)
	}
	return engine.DescribeRequest(m.data, name)
}

// serve has redis-server run a command, and records the changes of keys before anybody learns of them.
func (n *realNode) serve(r *relay, m *message) (reply []byte, err error) {
	if len(m.cmd) == 0 {
		return nil, nil // redis-server ignores it, too
	}
	word := strings.ToUpper(m.cmd[0])
	if pushes(word) || word == "CLIENT" && len(m.cmd) > 1 && strings.EqualFold(m.cmd[1], "REPLY") {
		n.refused(r.client.name, word)
		return []byte("-ERR " + word + " is a command of redis-server that Lockstep cannot follow: its replies come unasked or late, or not at all. " +
			"Of these commands, simulated nodes have SUBSCRIBE, PSUBSCRIBE, BLPOP and BRPOP\r\n"), nil
	}
	n.expire()
	n.relay, n.request = r, m
	defer func() { n.relay, n.request = nil, nil }()
	if _, err := r.up.Write(m.data); err != nil {
		return nil, n.server.Cause(err)
	}
	d := r.up.(*duplex)
	d.listen.Do(func() { n.c.work.Go(func() { n.hear(r, d) }) })
	var text string
	var ok bool
	n.timed(word, func() { text, ok = n.await(word, d) })
	if !ok && n.hungUp() {
		return nil, errHungUp
	}
	if !ok {
		return nil, n.server.Cause(fmt.Errorf("no reply to %s: %w", word, d.err))
	}
	if strings.HasPrefix(text, "-MISCONF ") {
		return nil, n.server.LastWarning(redisserver.ErrDisk)
	}
	if n.sentinel {
		return []byte(text), nil
	}
	cause := engine.Change{By: r.client.name, NX: engine.TakesNX(m.cmd), Command: word}
	if n.source != nil { // clients cannot change a replica
		cause = engine.Change{By: n.source.name}
	}
	if err := n.observer.look(cause); err != nil {
		return nil, n.server.Cause(err)
	}
	if err := n.disk.look(n.now()); err != nil {
		return nil, err
	}
	n.setAlarm()
	return []byte(text), nil
}

// pushes reports whether a command does not have exactly one immediate reply, so that requests and replies would no longer match,
// or all others would have to wait. A simulated node has some of these commands, because there nothing has to wait.
func pushes(word string) bool {
	switch word {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "MONITOR", "SYNC", "PSYNC",
		"BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BLMPOP", "BZMPOP", "BZPOPMIN", "BZPOPMAX", "XREAD", "XREADGROUP", "WAITAOF":
		return true
	}
	return false
}

// refused notes that a client sent a command that Lockstep does not pass on.
func (n *realNode) refused(client, command string) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if seen := [2]string{client, command}; !n.refusals[seen] {
		if n.refusals == nil {
			n.refusals = map[[2]string]bool{}
		}
		n.refusals[seen] = true
		n.c.note(n.name, history.Event{Kind: history.State, Op: history.Refuse, Value: command, By: client})
	}
}

func (n *realNode) stop() {
	n.alarm.Stop()
	n.server.Stop()
	n.proxy.serving.Lock()
	defer n.proxy.serving.Unlock()
	n.disk.close()
	n.server.Clock().Close()
}

// now returns the time of the node's wall clock, in milliseconds. The caller holds Proxy.serving.
func (n *realNode) now() int64 { return n.observer.now() }

// crash kills the process of the server.
func (n *realNode) crash(how engine.Exit) error {
	n.alarm.Stop()
	if how == engine.Stopped {
		if err := n.server.Quit(); err != nil {
			return err
		}
	} else {
		n.server.Crash()
	}
	n.proxy.serving.Lock()
	defer n.proxy.serving.Unlock()
	n.dead = true
	return n.disk.crash(how, n.now())
}

// restart restarts a crashed server, calls back to note that it is up, and reports at the same instant what it has lost.
func (n *realNode) restart(empty bool, back func()) error {
	n.proxy.serving.Lock()
	defer n.proxy.serving.Unlock()
	if n.sentinel {
		err := n.restartSentinel(empty)
		if err == nil {
			back()
		}
		return err
	}
	if err := n.server.Restart(empty); err != nil {
		return err
	}
	lost, err := n.disk.begin(n.now())
	if err != nil {
		return err
	}
	n.dead = false
	if by := lost + n.owed; !empty && by != 0 { // jumps of the node's clock outlast a restart
		if _, err := n.server.Jump(by); err != nil {
			return err
		}
		if err := n.disk.jumped(by, n.now()); err != nil {
			return err
		}
	}
	n.owed = 0
	report, err := n.observer.restarted()
	if err != nil {
		return err
	}
	n.c.atOnce(func() {
		back()
		report()
	})
	n.setAlarm()
	return nil
}

// setClock makes the wall clock of the node jump, or run at another rate. It reports whether there is a key whose deadline
// depends on the clock.
func (n *realNode) setClock(f history.Fault) (felt bool, err error) {
	if n.server.Clock() == nil {
		return n.jump(f.(history.Jump).By)
	}
	n.proxy.serving.Lock()
	defer n.proxy.serving.Unlock()
	n.c.mu.Lock()
	k := n.proxy.clocks.After(f, n.c.Now())
	n.proxy.clocks = &k
	n.c.mu.Unlock()
	n.server.Clock().Set(k, n.c.start)
	if n.dead || f == (history.Jump{Process: n.name}) {
		return false, nil
	}
	for _, e := range n.observer.keys {
		felt = felt || e.Deadline != 0
	}
	n.observer.expire()
	n.setAlarm()
	return felt, nil
}

// jump moves the wall clock of the node by moving the deadlines of its keys.
func (n *realNode) jump(by time.Duration) (felt bool, err error) {
	n.proxy.serving.Lock()
	defer n.proxy.serving.Unlock()
	n.c.mu.Lock()
	n.proxy.ahead += by
	n.c.mu.Unlock()
	if n.source != nil { // the deadlines of its keys follow the clock of its primary
		return false, nil
	}
	if n.dead {
		n.owed += by
		n.observer.ahead += by.Milliseconds()
		return false, nil
	}
	if felt, err = n.observer.jump(by); err != nil {
		return felt, n.server.Cause(err)
	}
	n.setAlarm()
	return felt, n.disk.jumped(by, n.now())
}
