package sim

import (
	"cmp"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"
)

// direction is one direction between two processes: all connections from one to the other share its faults.
type direction struct {
	from, to string
	n        uint64 // messages sent so far
	key      uint64 // of its random stream
	delay    time.Duration
	cut      bool
	held     bool
	parked   []*Conn // connections whose next packet waits for heal or release

	cutID, holdID, delayID int // the faults in force, until they have bitten
}

func (d *direction) String() string { return d.from + "->" + d.to }

func (w *World) link(from, to string) *direction {
	k := [2]string{from, to}
	d := w.links[k]
	if d == nil {
		d = &direction{from: from, to: to, key: key("latency", from+"->"+to)}
		w.links[k] = d
	}
	return d
}

type packetKind uint8

const (
	syn packetKind = iota
	synAck
	refuse
	data
	fin
	rst
)

var packetNames = [...]string{syn: "connect", synAck: "connected", refuse: "refused", fin: "close", rst: "reset"}

// packet is what one Write (or a change of the connection's state) sends over the network.
type packet struct {
	conn   *Conn // the sender's end
	kind   packetKind
	kernel bool // sent by the operating system: also for a process that is paused
	data   []byte
	text   string // what it says, with tokens named
	op     string // what its client is doing
	word   string // first word of the request that it is, or answers
	sent   time.Duration

	ready   time.Duration // earliest delivery
	held    int           // fault that holds it; 0 if none does
	arrived bool          // it is in the receiver's socket
}

// less orders packets of one instant by what they are. Which of several connections between the same two processes
// carries a packet follows the Go scheduler, so it must not matter.
func comparePackets(a, b *packet) int {
	return cmp.Or(
		strings.Compare(a.conn.link.from, b.conn.link.from),
		strings.Compare(a.conn.link.to, b.conn.link.to),
		cmp.Compare(a.kind, b.kind),
		strings.Compare(a.text, b.text),
	)
}

// route sends what was written in one quiet period on its way.
func (w *World) route(packets []*packet) {
	leaving := packets[:0]
	for _, p := range packets {
		if from := p.conn.proc; from.paused && !p.kernel {
			from.outbound = append(from.outbound, p)
			from.bitePause()
			continue
		}
		leaving = append(leaving, p)
	}
	if len(leaving) > 1 {
		// Tokens get their names in the order of the packets, and packets their order from the names: so first without
		// the new ones. Packets that differ in nothing but a new token are told apart by the token.
		for _, p := range leaving {
			w.describe(p, false)
		}
		slices.SortStableFunc(leaving, func(a, b *packet) int {
			return cmp.Or(comparePackets(a, b), slices.Compare(a.data, b.data))
		})
	}
	for _, p := range leaving {
		w.describe(p, true)
	}
	if len(leaving) > 1 {
		slices.SortStableFunc(leaving, comparePackets)
	}
	for _, p := range leaving {
		w.send(p)
	}
}

// describe finds out what a packet says. It names tokens that it sees for the first time if naming is allowed.
func (w *World) describe(p *packet, naming bool) {
	if p.kind != data {
		p.text = packetNames[p.kind]
		return
	}
	from := p.conn.proc
	svc, reply := from.svc, true
	if svc == nil {
		svc, reply = p.conn.remote.svc, false
	}
	p.text = svc.Describe(p.data, reply, func(token string) string {
		w.mu.Lock()
		defer w.mu.Unlock()
		name, known := w.names[token]
		switch {
		case known:
			return name
		case !naming || !from.isClient():
			return "?"
		}
		name = from.newLease()
		w.names[token] = name
		return name
	})
	if !reply {
		p.word, _, _ = strings.Cut(p.text, " ")
	}
}

// send puts one packet on its way.
func (w *World) send(p *packet) {
	d := p.conn.link
	d.n++
	delay := w.cfg.Latency.draw(w.cfg.Seed, d.key, d.n) + d.delay
	if d.delay > 0 {
		w.bite(d.delayID)
	}
	if p.kind == data {
		delay += w.choose(p, d)
	}
	p.ready = w.Now() + delay
	if p.conn.err != nil && p.kind == data && p.conn.err != net.ErrClosed {
		return // the connection was reset under it
	}
	p.conn.out = append(p.conn.out, p)
	if len(p.conn.out) == 1 {
		p.schedule(p.ready)
	}
}

func (p *packet) schedule(at time.Duration) {
	w := p.conn.w
	w.mu.Lock()
	w.push(&item{at: max(at, w.Now()), class: classDelivery, act: p})
	w.mu.Unlock()
}

// act is the arrival of the packet at the receiver's machine and, unless the receiver is paused, its delivery.
func (p *packet) act(w *World) {
	if p.arrived {
		p.deliver(w)
		return
	}
	c := p.conn
	if len(c.out) == 0 || c.out[0] != p {
		return // lost in a reset
	}
	d := c.link
	if d.cut || d.held || p.held != 0 {
		switch {
		case p.held != 0:
			w.bite(p.held)
		case d.cut:
			w.bite(d.cutID)
		default:
			w.bite(d.holdID)
		}
		d.parked = append(d.parked, c)
		return
	}
	p.arrived = true
	c.out = c.out[1:]
	if len(c.out) > 0 {
		c.out[0].schedule(c.out[0].ready)
	}
	// The operating system answers a connect, whatever the process does.
	if to := c.remote; to.paused && p.kind != syn {
		to.deferred(&item{class: classDelivery, proc: to, act: p})
		return
	}
	p.deliver(w)
}

func (p *packet) deliver(w *World) {
	w.trace.timer(w.Now(), p.conn.link.to, p.text)
	if p.kind == syn {
		p.accept(w)
		return
	}
	c := p.conn.peer
	if c == nil {
		return
	}
	w.mu.Lock()
	gone := c.err != nil
	w.mu.Unlock()
	if gone {
		if p.kind == data {
			p.note(w, Drop)
		}
		if p.kind == synAck { // its client has given up on it
			c.peer = p.conn
			w.mu.Lock()
			c.send(packet{kind: rst, kernel: true})
			w.mu.Unlock()
		}
		return
	}
	to := c.proc
	switch p.kind {
	case data:
		p.note(w, Deliver)
		if to.svc != nil {
			c.request = packet{op: p.op, word: p.word, sent: p.sent}
			to.svc.Receive(c, p.data)
			return
		}
		w.mu.Lock()
		c.in = append(c.in, p.data...)
		c.signal()
		w.mu.Unlock()
	case synAck:
		w.mu.Lock()
		c.open = true
		c.signal()
		w.mu.Unlock()
	case refuse:
		c.broken(syscall.ECONNREFUSED)
	case rst:
		c.broken(syscall.ECONNRESET)
	case fin:
		if to.svc != nil {
			c.broken(net.ErrClosed)
			return
		}
		w.mu.Lock()
		c.eof = true
		c.signal()
		w.mu.Unlock()
	}
}

// broken ends a connection from outside, and tells the service whose end it is.
func (c *Conn) broken(err error) {
	c.w.mu.Lock()
	was := c.err
	c.fail(err)
	c.w.mu.Unlock()
	if was == nil && c.proc.svc != nil {
		c.proc.svc.Closed(c)
	}
}

// accept is what the machine of the receiver does with a connect.
func (p *packet) accept(w *World) {
	client := p.conn
	to := client.remote
	c := newConn(to, client.proc)
	c.peer, client.peer = client, c
	w.mu.Lock()
	if to.crashed {
		c.send(packet{kind: refuse, kernel: true})
		w.mu.Unlock()
		return
	}
	c.open = true
	to.conns[c] = true
	c.send(packet{kind: synAck, kernel: true})
	w.mu.Unlock()
	opened := actionFunc(func() { to.svc.Open(c) })
	if to.paused {
		to.deferred(&item{class: classDelivery, proc: to, act: opened})
		return
	}
	opened()
}

// note enters what became of a message into the history.
func (p *packet) note(w *World, op string) {
	e := Event{Kind: Message, Op: op, By: p.conn.proc.Name, Sent: p.sent, Value: p.text}
	p.conn.remote.Note(e)
}

// unpark lets the packets go on that waited for a heal or release. They set out again: retransmission has a delay too.
func (w *World) unpark(d *direction) {
	parked := d.parked
	d.parked = nil
	for _, c := range parked {
		if len(c.out) == 0 {
			continue
		}
		d.n++
		c.out[0].schedule(w.Now() + w.cfg.Latency.draw(w.cfg.Seed, d.key, d.n))
	}
}

// reset breaks every connection between two processes and loses what is in flight on them.
func (w *World) reset(a, b *Process) (broke bool) {
	for _, p := range [...]*Process{a, b} {
		other := a
		if p == a {
			other = b
		}
		for _, c := range p.sorted() {
			if c.remote != other {
				continue
			}
			broke = true
			for _, lost := range c.out {
				if lost.kind == data {
					lost.note(w, Drop)
				}
			}
			c.out = nil
			c.broken(syscall.ECONNRESET)
		}
	}
	return broke
}
