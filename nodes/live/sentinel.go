package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/alicebob/miniredis/v2/proto"

	"lockstep/nodes"
	"lockstep/nodes/engine"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// Sentinels are redis-server processes in another mode. A cluster treats a sentinel as a node without keys: clients query it
// through a proxy, and it can be killed and stopped. It reaches other servers, and they reach it, through their peer proxies. Its
// configuration file contains what it would otherwise find out within some seconds.

// serveSentinels starts the sentinels of a group, and returns when all of them know all servers.
func (g *realGroup) serveSentinels(names []string) error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		n, err := g.newSentinel(name)
		if err != nil {
			return err
		}
		g.sentinels = append(g.sentinels, n)
		if _, err := g.enter(name); err != nil {
			return err
		}
	}
	if err := g.startSentinels(); err != nil {
		return err
	}
	for _, n := range g.sentinels {
		if err := n.listenToSentinel(); err != nil {
			return err
		}
	}
	for _, n := range g.sentinels {
		err := g.c.poll(func() (bool, error) { return knowsAll(g.c.ctx, n.server, len(g.nodes)-1, len(names)-1), nil },
			n.name+" does not know the group")
		if err != nil {
			return err
		}
	}
	return nil
}

// startSentinels starts all of them at once. A sentinel that dials another before that one listens waits until it does, and not
// for a second.
func (g *realGroup) startSentinels() error {
	var servers []*redisserver.Server
	var confs []string
	for i, n := range g.sentinels {
		servers, confs = append(servers, n.server), append(confs, g.sentinelConf(i))
	}
	return redisserver.StartSentinels(servers, confs)
}

// newSentinel returns a sentinel that has not been started.
func (g *realGroup) newSentinel(name string) (*realNode, error) {
	s, err := redisserver.NewSentinel(g.c.ctx, g.c.dir)
	if err != nil {
		return nil, err
	}
	n := newRealNode(g.c, name, s, engine.AOFAlways)
	n.group, n.sentinel = g, true
	n.proxy = g.c.serve(name, n)
	return n, nil
}

// sentinelConf is the initial configuration of a sentinel.
func (g *realGroup) sentinelConf(i int) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "sentinel "+format+"\n", args...) }
	at := func(n *realNode) string {
		d := g.peerProxies[n.name]
		return d.host() + " " + d.port()
	}
	id := func(i int) string { return fmt.Sprintf("%040x", i+1) }
	me := g.peerProxies[g.sentinels[i].name]
	fmt.Fprintf(&b, "bind-source-addr %s\n", me.source())
	line("myid %s", id(i))
	line("announce-ip %s", me.host())
	line("announce-port %s", me.port())
	line("monitor %s %s %d", nodes.MasterName, at(g.nodes[0]), len(g.sentinels)/2+1)
	line("down-after-milliseconds %s %d", nodes.MasterName, g.downAfter.Milliseconds())
	for _, n := range g.nodes[1:] {
		line("known-replica %s %s", nodes.MasterName, at(n))
	}
	for j, n := range g.sentinels {
		if j != i {
			line("known-sentinel %s %s %s", nodes.MasterName, at(n), id(j))
		}
	}
	return b.String()
}

// knowsAll reports whether a sentinel is connected to all replicas and to all other sentinels.
func knowsAll(ctx context.Context, s *redisserver.Server, replicas, others int) bool {
	for list, want := range map[string]int{"REPLICAS": replicas, "SENTINELS": others} {
		all, err := s.Client().Do(ctx, "SENTINEL", list, nodes.MasterName).Slice()
		if err != nil {
			return false
		}
		for _, one := range all {
			fields := map[string]string{}
			words, _ := one.([]any)
			for i := 0; i+1 < len(words); i += 2 {
				fields[fmt.Sprint(words[i])] = fmt.Sprint(words[i+1])
			}
			up := list != "REPLICAS" || fields["master-link-status"] == "ok"
			if flags := fields["flags"]; up && (flags == "slave" || flags == "sentinel") {
				want--
			}
		}
		if want != 0 {
			return false
		}
	}
	return true
}

// listenToSentinel records what a sentinel publishes, until it is gone.
func (n *realNode) listenToSentinel() error {
	conn, err := net.Dial("tcp", n.server.Addr())
	if err != nil {
		return err
	}
	stop := context.AfterFunc(n.c.ctx, func() { conn.Close() })
	if _, err := conn.Write(engine.Request("SUBSCRIBE", "+sdown", "+odown", "+elected-leader")); err != nil {
		conn.Close()
		return err
	}
	n.c.work.Go(func() {
		defer stop()
		defer conn.Close()
		replies := bufio.NewReader(conn)
		for {
			text, err := proto.Read(replies)
			if err != nil {
				return
			}
			value, _ := engine.ReadReply([]byte(text))
			if words, ok := value.([]any); ok && len(words) == 3 && words[0] == "message" {
				n.thinks(fmt.Sprint(words[1]), strings.Fields(fmt.Sprint(words[2])))
			}
		}
	})
	return nil
}

// thinks records a message of a sentinel: "master lock 127.0.0.1 6379", or one about a server of another type, perhaps with more
// words.
func (n *realNode) thinks(channel string, words []string) {
	op := map[string]string{"+sdown": history.Sdown, "+odown": history.Odown, "+elected-leader": history.Leader}[channel]
	if len(words) < 4 {
		return
	}
	about := n.group.at(words[2], words[3])
	if about == nil {
		return
	}
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if !n.proxy.crashed {
		n.c.note(n.name, history.Event{Kind: history.State, Op: op, Value: about.name})
	}
}

// restartSentinel restarts a crashed sentinel, with its configuration file or with the initial one.
func (n *realNode) restartSentinel(empty bool) error {
	if empty {
		for i, o := range n.group.sentinels {
			if o == n {
				if err := n.server.SetSentinel(n.group.sentinelConf(i)); err != nil {
					return err
				}
			}
		}
	}
	if err := n.server.Restart(false); err != nil {
		return err
	}
	return n.listenToSentinel()
}

// A Guide is how the process of a client finds the primary of a group that sentinels watch.
type Guide struct {
	Sentinels []string          `json:"sentinels"` // the addresses at which the client reaches them
	Servers   map[string]string `json:"servers"`   // the addresses at which the client reaches the servers, by the addresses that sentinels know
}

// GroupAddr is the address at which a client finds the primary that the operator chose.
func (p *Client) GroupAddr() string { return p.addrs[nodes.GroupAddr] }

// Guide returns what a client needs to query the sentinels instead; nil if there are none.
func (p *Client) Guide() *Guide {
	g := p.c.group
	if len(g.sentinels) == 0 {
		return nil
	}
	guide := &Guide{Servers: map[string]string{}}
	for _, s := range g.sentinels {
		guide.Sentinels = append(guide.Sentinels, p.Addr(s.name))
	}
	for _, n := range g.nodes {
		d := g.peerProxies[n.name]
		guide.Servers[net.JoinHostPort(d.host(), d.port())] = p.Addr(n.name)
	}
	return guide
}

// Addrs is the address of the group: nobody listens there, as with a [nodes.Group].
func (g *Guide) Addrs() []string { return []string{nodes.GroupAddr} }

// Dial is [nodes.Group.Dial] for a group with sentinels.
func (g *Guide) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	if addr != nodes.GroupAddr {
		return d.DialContext(ctx, network, addr)
	}
	err := nodes.ErrNobodyKnows
	for _, s := range g.Sentinels {
		reply, e := nodes.Ask(ctx, d.DialContext, s, "SENTINEL", "get-master-addr-by-name", nodes.MasterName)
		if e != nil {
			err = e
			continue
		}
		if found, ok := reply.([]any); ok && len(found) == 2 {
			at := fmt.Sprintf("%v:%v", found[0], found[1])
			if g.Servers[at] == "" {
				return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("a sentinel names " + at + ", where no server is")}
			}
			return d.DialContext(ctx, network, g.Servers[at])
		}
	}
	return nil, &net.OpError{Op: "dial", Net: network, Err: err}
}
