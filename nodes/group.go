package nodes

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"lockstep/nodes/engine"
	"lockstep/sim"
)

// GroupConfig configures a [Group].
type GroupConfig struct {
	Primary     string        // default n1
	Replicas    int           // r1 ... replicate the primary
	Sentinels   int           // s1 ... watch it, and promote a replica when it is down
	Shards      int           // of a cluster whose first shard is the group; p2 ... are the primaries of the others. 0: no cluster
	DownAfter   time.Duration // after how long without a reply a server counts as down; default 30s for sentinels, 15s in a cluster
	MinReplicas int           // min-replicas-to-write of every server in the group, with a lag of at most 10s
	Persistence string        // see [engine.Persistence]; default [engine.AOFAlways]
	Seed        uint64
}

// Group is one Redis and its replicas, as clients see it: one address, which leads to the current primary.
//
// The address is virtual. With sentinels the dialer of a client asks the sentinels for the primary, and in a cluster the nodes.
// Otherwise an operator keeps the address up to date: [history.Promote] moves it, and makes the other replicas follow the new
// primary. The old primary is down or out of reach, and is not told: it stays a primary until a [history.Follow].
type Group struct {
	cfg     GroupConfig
	world   *sim.World
	nodes   []*Node // the primary by its configuration, then the replicas
	primary *Node   // the node to which the address leads, by the operator
	ledger  *ledger

	sentinels []*Sentinel
	downAfter time.Duration
}

// GroupAddr is the address at which clients find a group. No process listens there.
const GroupAddr = "10.1.0.1:6379"

// ServeGroup adds the processes of a group to the world.
func ServeGroup(w *sim.World, cfg GroupConfig) *Group {
	if cfg.Primary == "" {
		cfg.Primary = "n1"
	}
	g := &Group{cfg: cfg, world: w, ledger: newLedger()}
	g.primary = g.serve(cfg.Primary)
	for i := range cfg.Replicas {
		r := g.serve("r" + strconv.Itoa(i+1))
		r.source = g.primary.Process
		r.Redis.Follow(r.source.Name)
		r.dialPrimary()
		g.primary.Acked(r.Process.Name, 0) // they have been connected for long
	}
	switch {
	case cfg.Sentinels > 0 && cfg.Shards > 0:
		panic("nodes: a cluster needs no sentinels")
	case cfg.Shards > 0:
		g.serveShards()
	case cfg.Sentinels > 0:
		g.downAfter = cmp.Or(cfg.DownAfter, defaultDownAfter)
		for i := range cfg.Sentinels {
			g.sentinels = append(g.sentinels, g.serveSentinel("s"+strconv.Itoa(i+1)))
		}
		for _, s := range g.sentinels {
			s.configure()
			s.start()
		}
	}
	return g
}

func (g *Group) serve(name string) *Node {
	n := Serve(g.world, name)
	if g.cfg.Persistence != "" {
		n.Persist(engine.Persistence(g.cfg.Persistence))
	}
	n.MinReplicas(g.cfg.MinReplicas, 10*time.Second)
	n.replicates(g)
	g.nodes = append(g.nodes, n)
	return n
}

// Addrs is the address at which clients find the group: one literal IP:port.
func (g *Group) Addrs() []string { return []string{GroupAddr} }

// Dial returns the dialer of a client process, which connects to the primary.
func (g *Group) Dial(p *sim.Process) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return g.Guide().Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		return p.DialContext(ctx, network, g.Resolve(addr))
	})
}

// Resolve returns the address at which the primary listens that the operator chose, instead of [GroupAddr].
func (g *Group) Resolve(addr string) string {
	if addr == GroupAddr {
		return g.primary.Process.Addr()
	}
	return addr
}

// Guide returns how clients of the group find its primary.
func (g *Group) Guide() Guide {
	var guide Guide
	switch {
	case g.cfg.Shards > 0:
		for _, n := range g.nodes {
			guide.Cluster = append(guide.Cluster, n.Process.Addr())
		}
	case g.cfg.Sentinels > 0:
		for _, s := range g.sentinels {
			guide.Sentinels = append(guide.Sentinels, s.Process.Addr())
		}
	}
	return guide
}

// ErrNobodyKnows says that no server has told a client who the primary is.
var ErrNobodyKnows = errors.New("nobody knows the primary")

// askLimit is how long a client waits for the reply of a sentinel, by its steady clock.
const askLimit = 200 * time.Millisecond

// Ask sends one command to a server, over a connection of its own. The reply has the form that [engine.ReadReply] returns, except
// that an error reply is returned as err.
func Ask(ctx context.Context, dial Dialer, addr string, args ...string) (reply any, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	c, err := dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return nil, err
	}
	if _, err := c.Write(engine.Request(args...)); err != nil {
		return nil, err
	}
	var data []byte
	for buf := make([]byte, 4096); ; {
		n, err := c.Read(buf)
		data = append(data, buf[:n]...)
		if reply, used := engine.ReadReply(data); used > 0 {
			if failed, ok := reply.(error); ok {
				return nil, failed
			}
			return reply, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Close releases the resources of the servers.
func (g *Group) Close() {
	for _, n := range g.nodes {
		n.Redis.Close()
	}
}

// promoted is what the operator does after promoting a replica.
func (g *Group) promoted(n *Node) {
	switch {
	case g.cfg.Sentinels > 0:
		return
	case g.cfg.Shards > 0:
		n.bus.takeOver()
		return
	}
	g.primary = n
	for _, other := range g.nodes {
		if other != n && other.Following() != "" {
			other.Follow(n.Process)
		}
	}
}

// at returns the node that listens at an address.
func (g *Group) at(addr string) *Node {
	for _, n := range g.nodes {
		if n.Process.Addr() == addr {
			return n
		}
	}
	return nil
}

// addressOf returns the address of a process of the group.
func (g *Group) addressOf(process string) (host string, port int) {
	for _, n := range g.nodes {
		if n.Process.Name == process {
			return hostPort(n.Process)
		}
	}
	return process, 6379
}

func hostPort(p *sim.Process) (host string, port int) {
	host, text, _ := net.SplitHostPort(p.Addr())
	port, _ = strconv.Atoi(text)
	return host, port
}
