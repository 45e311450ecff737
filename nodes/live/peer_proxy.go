package live

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"lockstep/nodes/engine"
	"lockstep/sim/history"
)

// peerProxy is the proxy through which the other servers of a group reach a server. Its port stays the same when the server restarts,
// and it applies the faults of every link to the server. Servers tell each other their addresses, so all of them use the same proxy
// to a server. It recognises who connects by the source address: each server dials from a loopback address of its own.
type peerProxy struct {
	group    *realGroup
	to       *process
	listener net.Listener
	number   int // from 1
	wires    map[*wire]bool
}

// wire is one connection between two servers, with the messages in flight on it. A message is a chunk of bytes as it was read: what
// a primary sends to a replica first is no protocol that could be split into commands. The opening and the closing of the connection are
// messages too, and are subject to faults: a server that is cut off does not learn that its peer is gone.
type wire struct {
	proxy  *peerProxy
	from   *process // the server that dialled
	conn   net.Conn // to from
	server net.Conn // nil until the opening has arrived
	there  flow
	back   flow
	broken bool
	open   int // flows that have not ended
}

// listen starts the proxy of a server. The caller holds mu, unless no other goroutine runs yet.
func (g *realGroup) listen(to *process) (*peerProxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &peerProxy{group: g, to: to, listener: l, wires: map[*wire]bool{}}
	g.peerProxies[to.name] = d
	g.c.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) { // too many open files
					g.c.fail(fmt.Errorf("%s: %w", to.name, err))
				}
				return
			}
			d.accept(conn.(*net.TCPConn))
		}
	})
	return d, nil
}

// host and port are the address of the proxy.
func (d *peerProxy) host() string { return d.listener.Addr().(*net.TCPAddr).IP.String() }
func (d *peerProxy) port() string { return fmt.Sprint(d.listener.Addr().(*net.TCPAddr).Port) }

// close breaks all connections and allows no more. The caller holds mu.
func (d *peerProxy) close() {
	d.listener.Close()
	for w := range d.wires {
		w.reset()
	}
}

func (d *peerProxy) accept(conn *net.TCPConn) {
	c := d.group.c
	c.mu.Lock()
	defer c.mu.Unlock()
	from := d.group.sources[conn.RemoteAddr().(*net.TCPAddr).IP.String()]
	if c.closed || from == nil { // not a server of this group
		conn.Close()
		return
	}
	w := &wire{proxy: d, from: from, conn: conn, open: 2}
	w.there = flow{direction: c.links.Between(from.name, d.to.name), on: w, to: d.to}
	w.back = flow{direction: c.links.Between(d.to.name, from.name), on: w, to: from}
	d.wires[w] = true
	c.send(&w.there, &message{opens: true})
	c.work.Go(func() { w.gather(conn, &w.there) })
	c.work.Go(func() { w.forward(&w.there) })
	c.work.Go(func() { w.forward(&w.back) })
}

func (w *wire) lost() bool { return w.broken }

// reset breaks the connection, and drops what is in flight. The caller holds mu.
func (w *wire) reset() {
	if w.broken {
		return
	}
	w.broken = true
	c := w.proxy.group.c
	for _, f := range [...]*flow{&w.there, &w.back} {
		for _, m := range f.queue {
			if len(m.data) > 0 {
				c.noteMessage(history.Drop, f.direction, m)
			}
		}
		f.queue = nil
	}
	delete(w.proxy.wires, w)
	w.conn.Close()
	if w.server != nil {
		w.server.Close()
	}
	c.changed.Broadcast()
}

// gather reads bytes from one server as soon as they come, however long they take to the other.
func (w *wire) gather(conn net.Conn, f *flow) {
	g := w.proxy.group
	for buf := make([]byte, 16<<10); ; {
		n, err := conn.Read(buf)
		if n > 0 {
			data := slices.Clone(buf[:n])
			m := &message{data: data, text: describeBytes(data, g.known)}
			g.says(w, f)
			g.c.mu.Lock()
			if !w.broken {
				g.c.send(f, m)
			}
			g.c.mu.Unlock()
		}
		if err != nil {
			g.c.mu.Lock()
			if !w.broken {
				g.c.send(f, &message{ends: true})
			}
			g.c.mu.Unlock()
			return
		}
	}
}

// forward delivers messages as they arrive, until the closing of the connection has arrived.
func (w *wire) forward(f *flow) {
	c := w.proxy.group.c
	for {
		switch m := c.next(f); {
		case m == nil:
			return
		case m.opens:
			w.connect()
		case m.ends:
			w.end(f)
			return
		default:
			w.proxy.group.deliver(w, f, m)
		}
	}
}

// connect opens the connection to the server, or closes that of the dialler if the server is down. A server that has just restarted
// gets through only after the history says with which keys it came back.
func (w *wire) connect() {
	c := w.proxy.group.c
	c.mu.Lock()
	for w.from.crashed && !w.broken {
		c.changed.Wait()
	}
	c.mu.Unlock()
	conn, err := net.Dial("tcp", w.proxy.to.node().server.Addr())
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil && !w.broken:
		c.send(&w.back, &message{ends: true})
	case err != nil:
	case w.broken:
		conn.Close()
	default:
		w.server = conn
		c.work.Go(func() { w.gather(conn, &w.back) })
	}
}

// end closes the connection to the server that has not closed it yet. That server can then send no more either.
func (w *wire) end(f *flow) {
	c := w.proxy.group.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if to := w.towards(f); to != nil {
		to.Close()
	}
	if w.open--; w.open == 0 {
		delete(w.proxy.wires, w)
	}
}

// towards returns the connection on which messages of f are delivered; nil if there is none. The caller holds mu.
func (w *wire) towards(f *flow) net.Conn {
	if f == &w.back {
		return w.conn
	}
	return w.server
}

// resetWires breaks every connection between two servers. The caller holds mu.
func (g *realGroup) resetWires(a, b *process) (broke bool) {
	for _, d := range g.peerProxies {
		for w := range d.wires {
			if w.from == a && d.to == b || w.from == b && d.to == a {
				w.reset()
				broke = true
			}
		}
	}
	return broke
}

// describeBytes describes a chunk that one server sends to another, by its size if it cannot be parsed by itself.
func describeBytes(data []byte, name func(string) string) string {
	if text, ok := engine.DescribeStream(data, name); ok {
		return text
	}
	if cmds, rest, err := engine.ParseCommands(data); data[0] == '*' && err == nil && len(rest) == 0 && len(cmds) > 0 {
		return engine.DescribeRequest(data, name)
	}
	if _, size := engine.ReadReply(data); size == len(data) {
		return engine.DescribeReply(data, name)
	}
	return fmt.Sprintf("%d bytes", len(data))
}
