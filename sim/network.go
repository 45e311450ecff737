package sim

import (
	"cmp"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"lockstep/sim/history"
	"lockstep/sim/link"
)

// direction is one direction between two processes.
type direction = link.Direction[wire]

// wire holds what is in flight in one direction.
type wire struct {
	n, again numbers   // messages sent so far, and those sent again after the end of a fault
	parked   []*Conn   // connections whose next packet waits for heal or release
	kept     []*packet // that a fault holds
}

// newLinks returns a table in which each direction has its own random streams.
func newLinks() *link.Table[wire] {
	return link.NewTable(func(d *direction) {
		d.Own.n.key, d.Own.again.key = key("latency", d.String()), key("latency again", d.String())
	})
}

// numbers counts the draws from one random stream.
type numbers struct{ key, n uint64 }

// latency draws the delay of the next message. A twin of the message before gets the same delay, and number: if two packets that
// differ only in their connection had different delays, the Go scheduler would decide which of them gets which.
func (w *World) latency(s *numbers, twin bool) time.Duration {
	if !twin {
		s.n++
	}
	return w.cfg.Latency.draw(w.seed(), s.key, s.n)
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

// packet is what one Write, or a change of the connection's state, sends over the network.
type packet struct {
	conn   *Conn // the sender's end
	kind   packetKind
	kernel bool // sent by the operating system: even for a process that is paused
	kept   bool // its sender was paused when it was to be sent; guarded by mu
	data   []byte
	text   string // its description, with tokens named
	cause
	sent time.Duration

	ready  time.Duration // earliest delivery
	held   int           // the fault that holds it; 0 if none does
	onTime bool          // no fault of its link affects it
	item   item          // its arrival
}

// cause is the reason for which a message is sent.
type cause struct {
	op      string // the operation of its client
	acquire int    // the number of the acquire that it is part of, or 0
	word    string // first word of the request, or of the request to which it replies
}

// twin reports whether two packets differ only in their connection.
func (p *packet) twin(q *packet) bool { return p.sent == q.sent && comparePackets(p, q) == 0 }

// comparePackets orders packets of one instant by content. Which of several connections between the same two processes carries a
// packet depends on the Go scheduler, so it must not matter.
func comparePackets(a, b *packet) int {
	if a.conn.link != b.conn.link {
		return a.conn.link.Compare(b.conn.link)
	}
	return cmp.Or(cmp.Compare(a.kind, b.kind), strings.Compare(a.text, b.text))
}

// firstSent is the time at which packets of the first instant count as sent: in an [Event] 0 means unknown.
const firstSent = time.Nanosecond

// route sends what was written in one quiet period. Strays are processes that added to a packet which a pause has kept back.
func (w *World) route(packets []*packet, strays []*Process) {
	leaving := packets[:0]
	var stopped []*Process
	w.mu.Lock()
	for _, p := range packets {
		if from := p.conn.proc; from.paused && !p.kernel {
			from.outbound = append(from.outbound, p)
			p.kept = true
			if !slices.Contains(stopped, from) {
				stopped = append(stopped, from)
			}
			continue
		}
		p.sent, p.conn.unsent = max(w.now, firstSent), nil
		leaving = append(leaving, p)
	}
	w.mu.Unlock()
	for _, p := range strays {
		if p.paused && !slices.Contains(stopped, p) {
			stopped = append(stopped, p)
		}
	}
	// Which of several processes wrote first depends on the Go scheduler.
	slices.SortFunc(stopped, func(a, b *Process) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range stopped {
		p.bitePause()
		p.ranOn()
	}
	if len(leaving) > 1 {
		// Tokens get their names in the order of the packets, and the order of packets depends on the names. So packets are
		// first sorted without the names of new tokens. Packets that differ only in a new token are sorted by the token.
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
	for i, p := range leaving {
		w.send(p, i > 0 && p.twin(leaving[i-1]))
	}
}

// describe sets the description of a packet. It names new tokens if naming is allowed.
func (w *World) describe(p *packet, naming bool) {
	if p.kind != data {
		p.text = packetNames[p.kind]
		return
	}
	from := p.conn.proc
	svc, reply := from.svc, true
	if p.conn.dialled {
		svc, reply = p.conn.remote.svc, false
	}
	w.subject, w.naming = p, naming
	p.text = svc.Describe(p.data, reply, w.name)
	if !reply {
		p.word, _, _ = strings.Cut(p.text, " ")
		p.word = strings.TrimSuffix(p.word, ";") // the first of several commands
	}
}

// nameToken returns the name of a token in the packet that is being described.
func (w *World) nameToken(token string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := w.subject.conn.proc
	if !w.naming || !from.isClient() {
		return cmp.Or(w.leases.Known(token), "?")
	}
	return w.leases.Send(from.Name, w.subject.acquire, token)
}

// UnderWay returns when the last of the messages in flight to a process will arrive; 0 if there are none. It ignores messages
// that a fault holds for an unlimited time.
func (w *World) UnderWay(to string) (until time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, it := range w.queue {
		p, ok := it.act.(*packet)
		if !ok || p.conn.link.To != to {
			continue
		}
		for _, q := range p.conn.out { // in order: none arrives before its predecessor
			if q.kind == data {
				until = max(until, it.at, q.ready)
			}
		}
	}
	return until
}

// send schedules the arrival of one packet.
func (w *World) send(p *packet, twin bool) {
	d := p.conn.link
	delay := w.latency(&d.Own.n, twin)
	p.onTime = w.cfg.OnTime.of(p)
	if d.Delay > 0 && !p.onTime {
		delay += d.Delay
		w.bite(d.DelayID)
	}
	if p.kind == data {
		longer, lost := w.choose(p, d)
		if lost {
			return
		}
		delay += longer
	}
	p.ready = w.now + delay
	p.conn.out = append(p.conn.out, p)
	if len(p.conn.out) == 1 {
		p.schedule(p.ready)
	}
}

func (p *packet) schedule(at time.Duration) {
	w := p.conn.w
	w.mu.Lock()
	w.queue.remove(&p.item)
	p.item.at, p.item.class, p.item.act = max(at, w.Now()), classDelivery, p
	w.push(&p.item)
	w.mu.Unlock()
}

// act is the arrival of the packet at the receiver's machine and, unless the receiver is paused, its delivery.
func (p *packet) act(w *World) {
	c := p.conn
	if len(c.out) == 0 || c.out[0] != p {
		return // it was lost in a reset
	}
	d := c.link
	id, blocked := d.Blocked()
	if p.held != 0 {
		id, blocked = p.held, true
	}
	if blocked && !p.onTime {
		w.bite(id)
		d.Own.parked = append(d.Own.parked, c)
		return
	}
	p.arrive(w)
	if p.kind != fin && p.kind != rst {
		return
	}
	// A crash closes all connections, and its clients learn of them all at one instant. Which of them a client waits on, and
	// which is idle, depends on the Go scheduler, so the client must not react to one before it has learned of the others.
	for _, end := range c.remote.sorted() { // the sender has removed them
		if other := end.peer; other != nil && len(other.out) > 0 && other.link == d && other.out[0].ready == p.ready && other.out[0].held == 0 && other.out[0].twin(p) {
			q := end.peer.out[0]
			w.mu.Lock()
			w.queue.remove(&q.item)
			w.mu.Unlock()
			q.arrive(w)
		}
	}
}

// arrive removes a packet from its connection, and delivers it unless the receiver is paused.
func (p *packet) arrive(w *World) {
	c := p.conn
	c.out = slices.Delete(c.out, 0, 1)
	if len(c.out) > 0 {
		c.out[0].schedule(c.out[0].ready)
	}
	// The operating system replies to a connect, even if the process is paused.
	if to := c.remote; to.paused && p.kind != syn {
		to.deferred(&item{at: w.Now(), class: classDelivery, proc: to, act: (*arrived)(p)})
		return
	}
	p.deliver(w)
}

// arrived is a packet that waits in the receiver's socket, as an event.
type arrived packet

func (a *arrived) act(w *World) { (*packet)(a).deliver(w) }

func (p *packet) deliver(w *World) {
	w.trace.timer(w.now, p.conn.link.To, p.text)
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
	// The operating system resets a connection that its client has given up, and tells a client when it writes to a closed
	// connection. A service need not be told: it sees the close, or has seen it.
	if gone && (p.kind == synAck || p.kind == data && p.conn.dialled && p.conn.err == nil) {
		c.send(packet{kind: rst, kernel: true})
	}
	w.mu.Unlock()
	if gone {
		if p.kind == data {
			p.note(w, history.Late)
		}
		return
	}
	to := c.proc
	switch p.kind {
	case data:
		p.note(w, history.Deliver)
		if to.svc != nil {
			if c.sent = p.sent; !c.dialled {
				c.request = p.cause
			}
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
		if to.svc != nil {
			to.svc.Open(c)
		}
	case refuse:
		c.broken(errRefused)
	case rst:
		c.broken(errReset)
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

// broken ends a connection from outside, and tells the service at this end.
func (c *Conn) broken(err error) {
	c.w.mu.Lock()
	was := c.err
	c.fail(err)
	c.w.mu.Unlock()
	if was == nil {
		c.closed()
	}
}

// closed tells the service at this end, if it knows of the connection, that the connection is gone.
func (c *Conn) closed() {
	if c.served {
		c.served = false
		c.proc.svc.Closed(c)
	}
}

// accept handles a connect on the receiver's machine.
func (p *packet) accept(w *World) {
	client := p.conn
	to := client.remote
	c := newConn(to, client.proc)
	c.peer, client.peer = client, c
	w.mu.Lock()
	if to.crashed || to.svc == nil {
		c.send(packet{kind: refuse, kernel: true})
		w.mu.Unlock()
		return
	}
	c.open = true
	to.conns[c] = true
	c.send(packet{kind: synAck, kernel: true})
	w.mu.Unlock()
	if to.paused {
		to.deferred(&item{at: w.Now(), class: classDelivery, proc: to, act: (*opened)(c)})
		return
	}
	(*opened)(c).act(w)
}

// opened is a new connection, as an event that tells its service.
type opened Conn

func (o *opened) act(*World) {
	o.served = true
	o.proc.svc.Open((*Conn)(o))
}

// note adds to the history what became of a message.
func (p *packet) note(w *World, op string) {
	e := history.Event{Kind: history.Message, Op: op, By: p.conn.proc.Name, Sent: p.sent, Value: p.text, Word: p.word}
	p.conn.remote.Note(e)
}

// unpark sends the packets that waited for a heal or a release. They get a new delay: retransmission takes time too.
func (w *World) unpark(d *direction) {
	parked := d.Own.parked
	d.Own.parked = nil
	var last *packet
	for _, c := range parked {
		if len(c.out) == 0 {
			continue
		}
		p := c.out[0]
		p.schedule(w.Now() + w.latency(&d.Own.again, last != nil && p.twin(last)))
		last = p
	}
}

// reset breaks every connection between two processes and drops what is in flight on them.
func (w *World) reset(a, b *Process) (broke bool) {
	var conns []*Conn
	for _, p := range [...]*Process{a, b} {
		other := a
		if p == a {
			other = b
		}
		for _, c := range p.sorted() {
			if c.remote == other {
				conns = append(conns, c)
			}
		}
	}
	w.breakAll(conns)
	return len(conns) > 0
}

// breakAll breaks connections, both ends of each, and drops what is in flight on them. Connections between the same two processes
// have no order, so all are broken at once, and dropped packets are noted in the order of their contents.
func (w *World) breakAll(conns []*Conn) {
	var lost []*packet
	var hit []*Process
	ends := map[*Process][]*Conn{}
	seen := map[*Conn]bool{}
	for _, c := range conns {
		for _, end := range [...]*Conn{c, c.peer} {
			if end == nil || seen[end] {
				continue
			}
			seen[end] = true
			if ends[end.proc] == nil {
				hit = append(hit, end.proc)
			}
			ends[end.proc] = append(ends[end.proc], end)
			for _, p := range end.out {
				if p.kind == data {
					lost = append(lost, p)
				}
			}
			end.out = nil
		}
	}
	slices.SortStableFunc(lost, func(a, b *packet) int {
		return cmp.Or(a.conn.link.Compare(b.conn.link), cmp.Compare(a.sent, b.sent), comparePackets(a, b))
	})
	for _, p := range lost {
		p.note(w, history.Drop)
	}
	for _, p := range hit {
		found := actionFunc(func() {
			for _, end := range ends[p] {
				end.broken(errReset)
			}
		})
		if p.paused { // it learns of this when it resumes, after the bytes that had arrived
			p.deferred(&item{at: w.Now(), class: classDelivery, proc: p, act: found})
			continue
		}
		found()
	}
}

// osError is an error of the operating system with the same text on every system: texts enter histories, and so checksums. It
// matches the number in errors.Is.
type osError struct {
	number syscall.Errno
	text   string
}

func (e *osError) Error() string   { return e.text }
func (e *osError) Unwrap() error   { return e.number }
func (e *osError) Timeout() bool   { return e.number.Timeout() }
func (e *osError) Temporary() bool { return e.number.Temporary() }

var (
	errUnreachable = &osError{syscall.EHOSTUNREACH, "no route to host"}
	errRefused     = &osError{syscall.ECONNREFUSED, "connection refused"}
	errReset       = &osError{syscall.ECONNRESET, "connection reset by peer"}
	errPipe        = &osError{syscall.EPIPE, "broken pipe"}
)
