package nodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// A Dialer opens a connection, like [net.Dialer.DialContext].
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// A Guide is how a client finds the primary of a group: it asks the sentinels, or the nodes of the cluster. With neither, it
// connects to [GroupAddr].
type Guide struct {
	Sentinels []string `json:"sentinels,omitempty"`
	Cluster   []string `json:"cluster,omitempty"`
}

// Dialer returns the dialer of one client.
func (g Guide) Dialer(direct Dialer) Dialer {
	next := &next{}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != GroupAddr || len(g.Sentinels)+len(g.Cluster) == 0 {
			return direct(ctx, network, addr)
		}
		addr, asked, err := g.find(ctx, direct, next.get())
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
		c, err := direct(ctx, network, addr)
		if c, ok := c.(socket); ok && len(g.Cluster) > 0 {
			return &guided{socket: c, next: next, asked: asked}, nil
		}
		return c, err
	}
}

// find asks for the primary, as client libraries do that support sentinels or clusters: one server after the other, until one
// answers. In a cluster it begins with the server number from.
func (g Guide) find(ctx context.Context, direct Dialer, from int) (addr string, asked int, err error) {
	err = ErrNobodyKnows
	for i := range g.Cluster {
		asked := (from + i) % len(g.Cluster)
		reply, e := Ask(ctx, direct, g.Cluster[asked], "CLUSTER", "SLOTS")
		if e != nil {
			err = e
			continue
		}
		if addr, ok := ownerIn(reply, keySlot(MasterName)); ok {
			return addr, asked, nil
		}
	}
	for i, s := range g.Sentinels {
		reply, e := Ask(ctx, direct, s, "SENTINEL", "get-master-addr-by-name", MasterName)
		if e != nil {
			err = e
			continue
		}
		if found, ok := reply.([]any); ok && len(found) == 2 {
			return fmt.Sprintf("%v:%v", found[0], found[1]), i, nil
		}
	}
	return "", 0, err
}

// next is the node of a cluster that a client asks next.
type next struct {
	mu sync.Mutex
	i  int // index in the list of nodes
}

func (n *next) get() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.i
}

// doubt says that the node number asked does not know the owner.
func (n *next) doubt(asked int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.i = asked + 1
}

// socket is a connection that can be checked before it is used again.
type socket interface {
	net.Conn
	syscall.Conn
}

// guided is a connection to a node of a cluster. When the node says that another one has the slot, or that the cluster is down,
// libraries with support for clusters ask again. Here the connection then fails the check that go-redis makes before it uses the
// connection again, and the next one is dialled by the information of another node.
type guided struct {
	socket
	next  *next
	asked int // the node that named this owner

	mu      sync.Mutex
	refused bool
}

// Read reads what has arrived.
func (c *guided) Read(b []byte) (int, error) {
	n, err := c.socket.Read(b)
	if text := string(b[:n]); strings.HasPrefix(text, "-MOVED ") || strings.HasPrefix(text, "-CLUSTERDOWN ") {
		c.mu.Lock()
		c.refused = true
		c.mu.Unlock()
		c.next.doubt(c.asked)
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
	return c.socket.SyscallConn()
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
