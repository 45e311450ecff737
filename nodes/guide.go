package nodes

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"lockstep/sim"
)

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
