package live

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"lockstep/nodes/engine"
	"lockstep/sim/history"
)

// door is where the other servers of a group find a server: a port that stays the same when the server restarts, and behind
// which every link has its faults. Servers tell each other where somebody is, so there is one door to each for all of them. Who
// knocks is told by the address on loopback that it has of its own.
type door struct {
	group    *realGroup
	to       *process
	listener net.Listener
	number   int // from 1
	wires    map[*wire]bool
}

// wire is one connection between two servers, and what is on its way on it: the bytes as they were read, since what a primary
// sends to a replica first is no protocol that could be taken apart. The beginning and the end of the connection are on
// their way as well, and kept by faults like the rest: who is cut off does not learn that the other one is gone.
type wire struct {
	door   *door
	from   *process // who has dialled
	conn   net.Conn // to it
	server net.Conn // nil until the beginning has arrived
	there  flow
	back   flow
	broken bool
	open   int // flows that have not ended
}

// listen opens the door to a server. The caller holds mu, or is alone.
func (g *realGroup) listen(to *process) (*door, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &door{group: g, to: to, listener: l, wires: map[*wire]bool{}}
	g.doors[to.name] = d
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

// host and port are where the door is.
func (d *door) host() string { return d.listener.Addr().(*net.TCPAddr).IP.String() }
func (d *door) port() string { return fmt.Sprint(d.listener.Addr().(*net.TCPAddr).Port) }

// close breaks all connections and allows no more. The caller holds mu.
func (d *door) close() {
	d.listener.Close()
	for w := range d.wires {
		w.reset()
	}
}

func (d *door) accept(conn *net.TCPConn) {
	c := d.group.c
	c.mu.Lock()
	defer c.mu.Unlock()
	from := d.group.sources[conn.RemoteAddr().(*net.TCPAddr).IP.String()]
	if c.closed || from == nil { // nobody of ours
		conn.Close()
		return
	}
	w := &wire{door: d, from: from, conn: conn, open: 2}
	w.there = flow{direction: c.links.Between(from.name, d.to.name), on: w, to: d.to}
	w.back = flow{direction: c.links.Between(d.to.name, from.name), on: w, to: from}
	d.wires[w] = true
	c.send(&w.there, &message{opens: true})
	c.work.Go(func() { w.gather(conn, &w.there) })
	c.work.Go(func() { w.forward(&w.there) })
	c.work.Go(func() { w.forward(&w.back) })
}

func (w *wire) lost() bool { return w.broken }

// reset breaks the connection, and loses what is on its way. The caller holds mu.
func (w *wire) reset() {
	if w.broken {
		return
	}
	w.broken = true
	c := w.door.group.c
	for _, f := range [...]*flow{&w.there, &w.back} {
		for _, m := range f.queue {
			if len(m.data) > 0 {
				c.noteMessage(history.Drop, f.direction, m)
			}
		}
		f.queue = nil
	}
	delete(w.door.wires, w)
	w.conn.Close()
	if w.server != nil {
		w.server.Close()
	}
	c.changed.Broadcast()
}

// gather takes bytes from one of the two as soon as they come, however long they are on their way to the other.
func (w *wire) gather(conn net.Conn, f *flow) {
	g := w.door.group
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

// forward hands on what has arrived, until the end of the connection has.
func (w *wire) forward(f *flow) {
	c := w.door.group.c
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
			w.door.group.deliver(w, f, m)
		}
	}
}

// connect opens the connection to the server, or tells who has dialled that there is none. One that has just come back is not
// let through before the history says what it has come back with.
func (w *wire) connect() {
	c := w.door.group.c
	c.mu.Lock()
	for w.from.crashed && !w.broken {
		c.changed.Wait()
	}
	c.mu.Unlock()
	conn, err := net.Dial("tcp", w.door.to.node().server.Addr())
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

// end closes the connection to who has not closed it, which ends what may still come from there as well.
func (w *wire) end(f *flow) {
	c := w.door.group.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if to := w.towards(f); to != nil {
		to.Close()
	}
	if w.open--; w.open == 0 {
		delete(w.door.wires, w)
	}
}

// towards is where what is on its way arrives; nil if that is nowhere. The caller holds mu.
func (w *wire) towards(f *flow) net.Conn {
	if f == &w.back {
		return w.conn
	}
	return w.server
}

// resetWires breaks every connection between two servers. The caller holds mu.
func (g *realGroup) resetWires(a, b *process) (broke bool) {
	for _, d := range g.doors {
		for w := range d.wires {
			if w.from == a && d.to == b || w.from == b && d.to == a {
				w.reset()
				broke = true
			}
		}
	}
	return broke
}

// describeBytes renders what one server sends to another, as far as it can be read piece by piece.
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
