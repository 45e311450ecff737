package live

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/nodes/engine"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// RealGroup says which nodes of a [Cluster] are one Redis and its replicas; see [nodes.GroupConfig].
type RealGroup struct {
	Primary     string
	Replicas    []string
	Sentinels   []string // to be started
	DownAfter   time.Duration
	MinReplicas int
	MaxLag      time.Duration // min-replicas-max-lag; whole seconds
}

// GroupPossible returns nil if this system can run a group of servers, or says why it cannot.
func GroupPossible() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%w: servers of a group are told apart by their addresses on loopback, of which %s has only one", ErrSimOnly, runtime.GOOS)
	}
	return nil
}

// realGroup is a [nodes.Group] of redis-server processes. They replicate by themselves, through a [peerProxy] in front of each.
//
// The keys of a replica are read whenever a chunk of the replication stream has been passed to it, and before anything that it sends
// is passed on. So nobody learns that a replica has a key before the history says so. Only the difference between two readings is
// recorded: a key that comes and goes within one chunk is not seen, nor is one that has expired on arrival.
type realGroup struct {
	c           *Cluster
	nodes       []*realNode // the primary by its configuration, then the replicas
	sentinels   []*realNode
	peerProxies map[string]*peerProxy // by process
	sources     map[string]*process
	downAfter   time.Duration

	// Guarded by Cluster.mu.
	primary *realNode // the node that the address of clients leads to, by the operator
}

// membership is what a node knows of its group.
type membership struct {
	group  *realGroup // nil if it is in none
	source *realNode  // the node of which it is a replica; nil for a primary. Changed under Proxy.serving and Cluster.mu
	basics []string   // its configuration, whatever its role
	jumps  []int      // the faults that have set the clock of a replica

	sentinel bool // it is a sentinel, not a node
}

// syncLimit is how long a replica may take for its first copy, and sentinels until they know all servers. On a busy machine a copy, for which the
// primary forks, has taken more than ten seconds.
const syncLimit = 30 * time.Second

// Group makes a group of nodes of the cluster, and returns when all replicas are in sync. It is called before the clients are
// added.
func (c *Cluster) Group(cfg RealGroup) error {
	if err := GroupPossible(); err != nil {
		return err
	}
	g := &realGroup{c: c, peerProxies: map[string]*peerProxy{}, sources: map[string]*process{}, downAfter: cfg.DownAfter}
	c.mu.Lock()
	for _, name := range append([]string{cfg.Primary}, cfg.Replicas...) {
		g.nodes = append(g.nodes, c.process(name).node())
	}
	g.primary, c.group = g.nodes[0], g
	c.mu.Unlock()
	if g.primary.server.Clock() != nil { // two clocks would determine when the keys of a replica end
		return fmt.Errorf("%w as one of a group", redisserver.ErrNoClocks)
	}
	for _, n := range g.nodes {
		if err := g.admit(n, "--min-replicas-to-write", strconv.Itoa(cfg.MinReplicas), "--min-replicas-max-lag", seconds(cfg.MaxLag)); err != nil {
			return err
		}
	}
	for _, n := range g.nodes[1:] { // one after the other: of two at once, the primary serves one a second later
		if err := n.replicate(g.primary); err != nil {
			return err
		}
	}
	if err := g.await(cfg.MinReplicas); err != nil {
		return err
	}
	return g.serveSentinels(cfg.Sentinels)
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// admit gives a server its proxy and its address, and a configuration that applies now and after each restart.
func (g *realGroup) admit(n *realNode, basics ...string) error {
	d, err := g.enter(n.name)
	if err != nil {
		return err
	}
	n.group, n.marks = g, g.nodes[0].marks // a value stands for the same lease on all servers
	n.basics = append(slices.Clone(n.server.Configuration()), append(basics,
		"--bind-source-addr", d.source(), "--replica-announce-ip", d.host(), "--replica-announce-port", d.port(),
		"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0", "--shutdown-timeout", "0")...)
	set := []any{"CONFIG", "SET"}
	for i, word := range n.basics[len(n.server.Configuration()):] {
		if i%2 == 0 {
			word = strings.TrimPrefix(word, "--")
		}
		set = append(set, word)
	}
	n.server.Configure(n.basics)
	return n.server.Client().Do(g.c.ctx, set...).Err()
}

// enter starts the proxy of a process, and remembers the source address of the process.
func (g *realGroup) enter(name string) (*peerProxy, error) {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	p := g.c.processes[name]
	for _, other := range g.peerProxies {
		g.c.links.Between(name, other.to.name)
		g.c.links.Between(other.to.name, name)
	}
	d, err := g.listen(p)
	if err == nil {
		d.number = len(g.peerProxies)
		g.sources[d.source()] = p
	}
	return d, err
}

// source is the loopback address from which the server behind the proxy dials.
func (d *peerProxy) source() string { return net.IPv4(127, 0, 0, byte(1+d.number)).String() }

// replicate makes a node a replica of its first primary, and returns when it is in sync.
func (n *realNode) replicate(source *realNode) error {
	n.proxy.serving.Lock()
	n.c.mu.Lock()
	n.source = source
	n.c.mu.Unlock()
	n.observer.follows = true
	n.proxy.serving.Unlock()
	if err := n.turn(source); err != nil {
		return err
	}
	return n.c.poll(func() (bool, error) {
		info, err := n.server.Client().Info(n.c.ctx, "replication").Result()
		return strings.Contains(info, "\r\nmaster_link_status:up\r\n"), err
	}, n.name+" is not in sync with "+source.name)
}

// await returns when commands of the primary reach all replicas, and it counts enough of them. A primary may call a replica
// online but send it nothing until it has heard from it. A replica rewrites its log after its first copy, and would lose its keys
// if it were killed before it has finished.
func (g *realGroup) await(minReplicas int) error {
	conn := g.primary.server.Client().Conn() // WAIT is about commands on the same connection
	defer conn.Close()
	if err := conn.Publish(g.c.ctx, "lockstep", "").Err(); err != nil { // it is replicated, but changes no key
		return err
	}
	if n, err := conn.Wait(g.c.ctx, len(g.nodes)-1, syncLimit).Result(); err != nil || int(n) < len(g.nodes)-1 {
		return cmp.Or(err, fmt.Errorf("only %d of the replicas of %s are in sync after %v", n, g.primary.name, syncLimit))
	}
	for _, n := range g.nodes[1:] {
		err := g.c.poll(func() (bool, error) {
			info, err := n.server.Client().Info(g.c.ctx, "persistence").Result()
			return strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0"), err
		}, n.name+" has not written its log")
		if err != nil {
			return err
		}
	}
	return g.c.poll(func() (bool, error) {
		info, err := g.primary.server.Client().Info(g.c.ctx, "replication").Result()
		online := strings.Count(info, "state=online") == len(g.nodes)-1
		return online && (minReplicas == 0 || strings.Contains(info, fmt.Sprintf("\r\nmin_slaves_good_slaves:%d\r\n", len(g.nodes)-1))), err
	}, g.primary.name+" does not know that its replicas are in sync")
}

// pollEvery is the interval of poll.
const pollEvery = 2 * time.Millisecond

// poll waits until done returns true.
func (c *Cluster) poll(done func() (bool, error), otherwise string) error {
	for deadline := time.Now().Add(syncLimit); ; {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s after %v", otherwise, syncLimit)
		}
		select {
		case <-time.After(pollEvery):
		case <-c.ctx.Done():
			return c.Err()
		}
	}
}

// begin makes messages in flight count as sent at the start of the run. The caller holds mu.
func (g *realGroup) begin() {
	for _, d := range g.peerProxies {
		for w := range d.wires {
			for _, m := range slices.Concat(w.there.queue, w.back.queue) {
				m.sent, m.ready = 0, 0
			}
		}
	}
}

// close breaks all links. The caller holds mu.
func (g *realGroup) close() {
	for _, d := range g.peerProxies {
		d.close()
	}
}

// leading returns the proxy of the node that is the primary by the operator.
func (g *realGroup) leading() *Proxy {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	return g.primary.proxy
}

// known returns the name of a token that was sent.
func (g *realGroup) known(token string) string {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	return g.c.known(token)
}

// at returns the process behind the proxy at an address; nil if there is none.
func (g *realGroup) at(host, port string) *process {
	for _, d := range g.peerProxies {
		if d.host() == host && d.port() == port {
			return d.to
		}
	}
	return nil
}

// stores reports whether a process is a node and not a sentinel.
func (g *realGroup) stores(p *process) bool { return !p.node().sentinel }

// says is called before a message of a server is sent. It returns once the history has the changes that led to the message, and
// a fault that waits for them has been injected.
func (g *realGroup) says(w *wire, f *flow) {
	n := w.from.node()
	if f == &w.back {
		n = w.proxy.to.node()
	}
	if n.sentinel {
		return
	}
	n.proxy.serving.Lock()
	n.expire()
	n.copied()
	n.proxy.serving.Unlock()
	g.c.agenda.settle()
}

// deliver passes a message that has arrived to a server, and notes its effects.
func (g *realGroup) deliver(w *wire, f *flow, m *message) {
	n := f.to.node()
	copies := f == &w.back && g.stores(w.from) && g.stores(w.proxy.to)
	ordered := f == &w.there && !g.stores(w.from) && g.stores(w.proxy.to) && orders(m.data)
	if copies || ordered {
		n.proxy.serving.Lock()
		defer n.proxy.serving.Unlock()
	}
	if ordered {
		n.copied() // the keys that it has when its role changes
	}
	g.c.mu.Lock()
	to := w.towards(f)
	if to != nil {
		m.sent = min(m.sent, g.c.Now()) // it may have been sent before the run began
		g.c.noteMessage(history.Deliver, f.direction, m)
	}
	g.c.mu.Unlock()
	if to == nil {
		return // the server is down
	}
	to.Write(m.data) // an error means that the server is gone
	switch {
	case copies:
		n.copied()
	case ordered:
		n.review()
	}
}

// orders reports whether a sentinel changes the role of a server.
func orders(data []byte) bool {
	text := strings.ToUpper(string(data))
	return strings.Contains(text, "SLAVEOF") || strings.Contains(text, "REPLICAOF")
}

// copied notes what replication has done to a replica. The caller holds Proxy.serving.
//
// It queries the server on one connection about bytes that have come on another. The server may read the query before the
// bytes, but then it reads the bytes before a second query.
func (n *realNode) copied() {
	if n.source == nil || n.down() {
		return
	}
	before := maps.Clone(n.observer.keys)
	err := n.observer.look(engine.Change{By: n.source.name})
	if err == nil && maps.Equal(before, n.observer.keys) {
		err = n.observer.look(engine.Change{By: n.source.name})
	}
	n.must(err)
}

// down reports whether the server has been killed.
func (n *realNode) down() bool {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.proxy.crashed || n.c.closed
}

// must ends the run upon an error that no fault explains. It ignores that a replica is still loading the data set of its primary:
// its keys are read later.
func (n *realNode) must(err error) {
	if err != nil && !n.down() && !strings.HasPrefix(err.Error(), "LOADING ") {
		n.c.fail(fmt.Errorf("%s: %w", n.name, err))
	}
}

// await waits for the reply to a request. Other requests are served while a client waits in WAIT.
func (n *realNode) await(word string, d *duplex) (text string, ok bool) {
	if word != "WAIT" {
		text, ok = <-d.answers
		return text, ok
	}
	r, m := n.relay, n.request
	n.relay, n.request = nil, nil
	n.proxy.serving.Unlock()
	text, ok = <-d.answers
	n.proxy.serving.Lock()
	n.relay, n.request = r, m
	return text, ok
}

// parted closes a client's connection after the server has closed its end.
func (n *realNode) parted(r *relay) {
	if n.down() || !n.hungUp() {
		return
	}
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	r.reset()
}

// hungUp reports whether a server that has closed a connection is still running.
func (n *realNode) hungUp() bool {
	if n.group == nil {
		return false
	}
	select {
	case <-n.server.Exited():
		return false
	default:
		return true
	}
}
