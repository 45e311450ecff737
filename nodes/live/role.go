package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// turn changes the role of the server, now and for its next start. The source is nil for a primary.
func (n *realNode) turn(source *realNode) error {
	n.keepRole(source)
	switch {
	case n.down():
		return nil
	case source == nil:
		return n.server.Client().Do(n.c.ctx, "REPLICAOF", "NO", "ONE").Err()
	}
	d := n.group.peerProxies[source.name]
	return n.server.Client().Do(n.c.ctx, "REPLICAOF", d.host(), d.port()).Err()
}

// keepRole sets the role in which the server starts the next time.
func (n *realNode) keepRole(source *realNode) {
	extra := n.basics
	if source != nil {
		d := n.group.peerProxies[source.name]
		extra = append(slices.Clone(extra), "--replicaof", d.host()+" "+d.port())
	}
	n.server.Configure(extra)
}

// became notes that the role of a node has changed. The caller holds Proxy.serving.
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
	// The deadlines of the keys are points in time by the clock of its primary. From now on its own clock decides when they are reached.
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

// frame returns how far the clock is ahead by which the keys of a node expire: that of the primary at the head of its replication chain.
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

// promote is REPLICAOF NO ONE by an operator, who then makes the other replicas follow this node.
func (n *realNode) promote() bool {
	n.proxy.serving.Lock()
	if n.down() || n.source == nil {
		n.proxy.serving.Unlock()
		return false
	}
	n.copied() // the keys that it has when it is promoted
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

// follow is REPLICAOF: the node loses its own keys once it has reached the primary. If the node is down, only its
// configuration changes.
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

// whenAwake returns a function that calls act, which needs an answer of the server: in the background if the server is paused.
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

// replication returns a function that carries out a fault in which an operator changes the role of a node.
func (c *Cluster) replication(p *process, id int, act func(n *realNode) bool) func() {
	return c.whenAwake(p, func() {
		did := act(p.node())
		c.mu.Lock()
		defer c.mu.Unlock()
		c.biteIf(did, id)
	})
}

// review asks a server for its role, after a sentinel may have changed it. The caller holds Proxy.serving.
func (n *realNode) review() {
	for range 2 { // as in copied
		role, err := askRole(n.c.ctx, n.server)
		if err != nil {
			n.must(err)
			return
		}
		var source *realNode
		if role[0] == "slave" {
			p := n.group.at(fmt.Sprint(role[1]), fmt.Sprint(role[2]))
			if p == nil {
				n.must(fmt.Errorf("it follows %v:%v, which is not the address of a server in the group", role[1], role[2]))
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

// askRole returns the reply to ROLE. A sentinel that changes the role of a server also kills its client connections, including ours.
func askRole(ctx context.Context, s *redisserver.Server) (role []any, err error) {
	err = untilAnswered(func() error {
		role, err = s.Client().Do(ctx, "ROLE").Slice()
		return err
	})
	return role, err
}

// untilAnswered retries a query if the server closed the connection before it arrived.
func untilAnswered(ask func() error) (err error) {
	for range killedTries {
		if err = ask(); !isKilled(err) {
			break
		}
	}
	return err
}

// killedTries is how often a query is sent when the server has closed its connection: the pool may have several such
// connections.
const killedTries = 10

// isKilled reports whether an error means that the server has closed the connection.
func isKilled(err error) bool {
	var netErr *net.OpError
	return err != nil && (strings.HasSuffix(err.Error(), "EOF") || errors.As(err, &netErr) && netErr.Op != "dial")
}
