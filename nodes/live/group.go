package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/nodes/engine"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// RealGroup says which nodes of a [Cluster] are one Redis and its replicas; see [nodes.GroupConfig].
type RealGroup struct {
	Primary     string
	Replicas    []string
	Sentinels   []string // which are not there yet
	DownAfter   time.Duration
	MinReplicas int
	MaxLag      time.Duration // of a replica that counts as one; whole seconds
}

// GroupPossible says why no group can be had on this system; nil if it can.
func GroupPossible() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%w: servers of a group are told apart by their addresses on loopback, of which %s has only one", ErrSimOnly, runtime.GOOS)
	}
	return nil
}

// realGroup is a [nodes.Group] of redis-server processes. They replicate by themselves, over links with a [door] at the end of each.
//
// What the replication stream does to the keys of a replica is looked for whenever something has been handed to it, and before
// what it says itself is sent on. So nobody hears that a replica has a key before the history says so. Two looks at one state
// are one change: what comes and goes within one piece of the stream is not seen, nor a key whose time is over on arrival.
type realGroup struct {
	c         *Cluster
	nodes     []*realNode // the primary by its configuration, then the replicas
	sentinels []*realNode
	doors     map[string]*door // by process
	sources   map[string]*process
	downAfter time.Duration

	// Guarded by Cluster.mu.
	primary *realNode // where the operator has the address of clients lead
}

// membership is what a node has of the group that it is in.
type membership struct {
	group  *realGroup // nil: it is in none
	source *realNode  // that it is a replica of; nil: it is a primary. Changed under Proxy.serving and Cluster.mu
	basics []string   // of its configuration, in whatever role
	jumps  []int      // the faults that have set the clock of a replica

	sentinel bool // it is no node, but watches some
}

// syncLimit is how long a replica may take for its first copy, and sentinels until they know everybody.
const syncLimit = 10 * time.Second

// Group makes a group of nodes that the cluster has, and returns when all replicas are in sync. The clients come after it.
func (c *Cluster) Group(cfg RealGroup) error {
	if err := GroupPossible(); err != nil {
		return err
	}
	g := &realGroup{c: c, doors: map[string]*door{}, sources: map[string]*process{}, downAfter: cfg.DownAfter}
	c.mu.Lock()
	for _, name := range append([]string{cfg.Primary}, cfg.Replicas...) {
		g.nodes = append(g.nodes, c.process(name).node())
	}
	g.primary, c.group = g.nodes[0], g
	c.mu.Unlock()
	if g.primary.server.Clock() != nil { // when the keys of a replica end would be up to two clocks
		return fmt.Errorf("%w as one of a group", redisserver.ErrNoClocks)
	}
	for _, n := range g.nodes {
		if err := g.admit(n, "--min-replicas-to-write", strconv.Itoa(cfg.MinReplicas), "--min-replicas-max-lag", seconds(cfg.MaxLag)); err != nil {
			return err
		}
	}
	for _, n := range g.nodes[1:] { // one after the other: two at once are served one a second later
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

// admit gives a server its door and its address, and a configuration that it has at once and after each restart.
func (g *realGroup) admit(n *realNode, basics ...string) error {
	d, err := g.enter(n.name)
	if err != nil {
		return err
	}
	n.group, n.marks = g, g.nodes[0].marks // which lease a value stands for is the same on all servers
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

// enter opens the door to a process, and tells it apart from now on.
func (g *realGroup) enter(name string) (*door, error) {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	p := g.c.processes[name]
	for _, other := range g.doors {
		g.c.links.Between(name, other.to.name)
		g.c.links.Between(other.to.name, name)
	}
	d, err := g.listen(p)
	if err == nil {
		d.number = len(g.doors)
		g.sources[d.source()] = p
	}
	return d, err
}

// source is the address on loopback from which the server behind the door dials.
func (d *door) source() string { return net.IPv4(127, 0, 0, byte(1+d.number)).String() }

// replicate has a node follow its first primary, and returns when it is in sync.
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

// await returns when what the primary does has reached all replicas, and it counts enough of them. A primary may call a replica
// online and not send it anything before it has heard from it; and a replica writes its log anew when it has got its first copy,
// and would remember nothing if it were killed before that is done.
func (g *realGroup) await(minReplicas int) error {
	conn := g.primary.server.Client().Conn() // WAIT is about what was done on the same connection
	defer conn.Close()
	if err := conn.Publish(g.c.ctx, "lockstep", "").Err(); err != nil { // which is replicated, and leaves nothing behind
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

// pollEvery is how often poll asks.
const pollEvery = 2 * time.Millisecond

// poll waits until something has come about.
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

// begin has what is on its way count from the start of the run. The caller holds mu.
func (g *realGroup) begin() {
	for _, d := range g.doors {
		for w := range d.wires {
			for _, m := range slices.Concat(w.there.queue, w.back.queue) {
				m.sent, m.ready = 0, 0
			}
		}
	}
}

// close breaks all links. The caller holds mu.
func (g *realGroup) close() {
	for _, d := range g.doors {
		d.close()
	}
}

// leading is the proxy before the primary, as far as the operator knows.
func (g *realGroup) leading() *Proxy {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	return g.primary.proxy
}

// known names a token that somebody has sent.
func (g *realGroup) known(token string) string {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	return g.c.known(token)
}

// at returns the process behind a door; nil if there is none.
func (g *realGroup) at(host, port string) *process {
	for _, d := range g.doors {
		if d.host() == host && d.port() == port {
			return d.to
		}
	}
	return nil
}

// stores says whether a process is one of the nodes, and no sentinel.
func (g *realGroup) stores(p *process) bool { return !p.node().sentinel }

// says is called before what a server says is on its way. It returns when what has made the server say so is in the history, and
// a fault that waits for that has come.
func (g *realGroup) says(w *wire, f *flow) {
	n := w.from.node()
	if f == &w.back {
		n = w.door.to.node()
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

// deliver hands to a server what has arrived, and notes what came of it.
func (g *realGroup) deliver(w *wire, f *flow, m *message) {
	n := f.to.node()
	copies := f == &w.back && g.stores(w.from) && g.stores(w.door.to)
	ordered := f == &w.there && !g.stores(w.from) && g.stores(w.door.to) && orders(m.data)
	if copies || ordered {
		n.proxy.serving.Lock()
		defer n.proxy.serving.Unlock()
	}
	if ordered {
		n.copied() // what it has when it gets another role
	}
	g.c.mu.Lock()
	to := w.towards(f)
	if to != nil {
		m.sent = min(m.sent, g.c.Now()) // it may have been sent before the run began
		g.c.noteMessage(history.Deliver, f.direction, m)
	}
	g.c.mu.Unlock()
	if to == nil {
		return // it was sent to a server that has turned out to be down
	}
	to.Write(m.data) // who is gone need not be told
	switch {
	case copies:
		n.copied()
	case ordered:
		n.review()
	}
}

// orders says whether a sentinel gives a server another role.
func orders(data []byte) bool {
	text := strings.ToUpper(string(data))
	return strings.Contains(text, "SLAVEOF") || strings.Contains(text, "REPLICAOF")
}

// copied notes what replication has done to a replica. The caller holds Proxy.serving.
//
// The server is asked on one connection about what has come on another. If it was just about to wait for both, it may take the
// question first, but not the second one too.
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

// down says whether the server has been killed.
func (n *realNode) down() bool {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return n.proxy.crashed || n.c.closed
}

// must ends the run if something went wrong that no fault explains. A replica that is loading what its primary has sent is
// looked at when it has.
func (n *realNode) must(err error) {
	if err != nil && !n.down() && !strings.HasPrefix(err.Error(), "LOADING ") {
		n.c.fail(fmt.Errorf("%s: %w", n.name, err))
	}
}

// turn gives the server another role: now, and when it is started again. The source is nil for a primary.
func (n *realNode) turn(source *realNode) error {
	n.keepRole(source)
	switch {
	case n.down():
		return nil
	case source == nil:
		return n.server.Client().Do(n.c.ctx, "REPLICAOF", "NO", "ONE").Err()
	}
	d := n.group.doors[source.name]
	return n.server.Client().Do(n.c.ctx, "REPLICAOF", d.host(), d.port()).Err()
}

// keepRole sets the role in which the server is started again.
func (n *realNode) keepRole(source *realNode) {
	extra := n.basics
	if source != nil {
		d := n.group.doors[source.name]
		extra = append(slices.Clone(extra), "--replicaof", d.host()+" "+d.port())
	}
	n.server.Configure(extra)
}

// became notes that a node has another role. The caller holds Proxy.serving.
func (n *realNode) became(source *realNode) {
	c := n.c
	c.mu.Lock()
	n.source = source
	e := history.Event{Kind: history.State, Op: history.Promoted}
	if source != nil {
		e.Op, e.Value = history.Followed, source.name
	}
	c.note(n.name, e)
	frame := n.frame()
	jumps := n.jumps
	c.mu.Unlock()
	n.observer.follows = source != nil
	if source != nil {
		n.observer.rebase(frame)
		n.setAlarm()
		return
	}
	// The ends of the keys were those of its primary, as points in time. From now on its own clock says when they are there.
	felt, err := n.observer.jump(frame - time.Duration(n.observer.ahead)*time.Millisecond)
	n.must(err)
	c.mu.Lock()
	for _, id := range jumps {
		c.biteIf(felt, id)
	}
	n.jumps = nil
	c.mu.Unlock()
	n.expire()
}

// frame is the clock by which the keys of a node end: that of the primary at the head of its replication, by how far it is ahead.
// The caller holds Cluster.mu.
func (n *realNode) frame() time.Duration {
	for range n.group.nodes {
		if n.source == nil {
			break
		}
		n = n.source
	}
	return n.proxy.ahead
}

// promote is REPLICAOF NO ONE by an operator, who then tells everybody else.
func (n *realNode) promote() bool {
	n.proxy.serving.Lock()
	if n.down() || n.source == nil {
		n.proxy.serving.Unlock()
		return false
	}
	n.copied() // what it has when it is promoted
	err := n.turn(nil)
	if err == nil {
		n.became(nil)
	}
	n.proxy.serving.Unlock()
	n.must(err)
	if len(n.group.sentinels) > 0 {
		return true
	}
	c := n.c
	var others []*realNode
	c.mu.Lock()
	n.group.primary = n
	for _, other := range n.group.nodes {
		if other != n && other.source != nil {
			others = append(others, other)
		}
	}
	c.mu.Unlock()
	for _, other := range others {
		c.whenAwake(&other.proxy.process, func() { other.follow(n) })()
	}
	return true
}

// follow is REPLICAOF: what the node has of its own is lost when it is in touch with the primary. Of a node that is down it
// changes the configuration.
func (n *realNode) follow(primary *realNode) bool {
	n.proxy.serving.Lock()
	defer n.proxy.serving.Unlock()
	if n == primary || n.source == primary {
		return false
	}
	n.copied()
	err := n.turn(primary)
	if err == nil {
		n.became(primary)
	}
	n.must(err)
	return true
}

// whenAwake returns what does something that the server takes part in, which one that is stopped does later.
func (c *Cluster) whenAwake(p *process, act func()) func() {
	return func() {
		c.mu.Lock()
		paused := p.paused
		c.mu.Unlock()
		if paused {
			c.work.Go(act)
			return
		}
		act()
	}
}

// replication is the fault of an operator who gives a node another role.
func (c *Cluster) replication(p *process, id int, act func(n *realNode) bool) func() {
	return c.whenAwake(p, func() {
		did := act(p.node())
		c.mu.Lock()
		defer c.mu.Unlock()
		c.biteIf(did, id)
	})
}

// review asks a server for its role, after a sentinel has given it one. The caller holds Proxy.serving.
func (n *realNode) review() {
	for range 2 { // for the same reason as in copied
		role, err := askRole(n.c.ctx, n.server)
		if err != nil {
			n.must(err)
			return
		}
		var source *realNode
		if role[0] == "slave" {
			p := n.group.at(fmt.Sprint(role[1]), fmt.Sprint(role[2]))
			if p == nil {
				n.must(fmt.Errorf("it follows %v:%v, which is nobody's address", role[1], role[2]))
				return
			}
			source = p.node()
		}
		if source != n.source {
			n.keepRole(source)
			n.became(source)
			return
		}
	}
}

// askRole returns the answer to ROLE. A sentinel that gives a server a role ends its connections, ours among them.
func askRole(ctx context.Context, s *redisserver.Server) (role []any, err error) {
	err = untilAnswered(func() error {
		role, err = s.Client().Do(ctx, "ROLE").Slice()
		return err
	})
	return role, err
}

// untilAnswered asks again if the server has ended the connection before it was asked.
func untilAnswered(ask func() error) (err error) {
	for range killedTries {
		if err = ask(); !isKilled(err) {
			break
		}
	}
	return err
}

// killedTries is how often a question is asked whose connection the server has just ended: there may be many such
// connections in the pool.
const killedTries = 10

// isKilled says whether an error is that the server has ended the connection.
func isKilled(err error) bool {
	var netErr *net.OpError
	return err != nil && (strings.HasSuffix(err.Error(), "EOF") || errors.As(err, &netErr) && netErr.Op != "dial")
}

// await waits for the answer to a request. Others are served while a client waits for replicas.
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

// parted ends a connection of a client that the server has ended.
func (n *realNode) parted(r *relay) {
	if n.down() || !n.hungUp() {
		return
	}
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	r.reset()
}

// hungUp says whether a server that has ended a connection is still there.
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

// overdueKeys counts the keys that a replica still has though their time is over. It answers as if they were gone.
var overdueKeys = redis.NewScript(`return redis.call('DBSIZE') - #redis.call('KEYS', '*')`)

// hidden adds to the keys of a replica those that it keeps until its primary has them deleted. If some of several are deleted, and
// others not, that is seen when all are.
func (o *observer) hidden(at int64, is map[string]engine.Entry) error {
	var missing []string
	for _, name := range engine.Overdue(o.keys, at) {
		if _, lives := is[name]; !lives {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	kept, err := o.server.Run(overdueKeys).Int()
	if err != nil || kept == 0 {
		return err
	}
	for _, name := range missing {
		is[name] = o.keys[name]
	}
	return nil
}

// rebase has the keys end by another clock. What is known of them stays true.
func (o *observer) rebase(ahead time.Duration) {
	by := ahead.Milliseconds() - o.ahead
	o.ahead += by
	for name, e := range o.keys {
		if e.Deadline != 0 {
			e.Deadline += by
			o.keys[name] = e
		}
	}
}
