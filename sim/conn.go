package sim

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"time"

	"lockstep/sim/history"
)

// A Conn is one end of a connection between two processes. To clients it is an ordinary [net.Conn]: Read blocks, Write
// never does (the network takes any number of bytes, as a large socket buffer would).
type Conn struct {
	w      *World
	proc   *Process // whose end this is
	remote *Process
	link   *direction // the direction to the remote process
	peer   *Conn      // the other end, once it exists
	wake   chan struct{}

	// State is for use by the service that owns the connection.
	State any

	dialled bool // this end opened the connection

	// Set by the scheduler only.
	out     []*packet     // packets in flight, in order; the first is scheduled or blocked
	served  bool          // at a service: it knows of the connection
	request cause         // at a service: the cause of the current request
	sent    time.Duration // at a service: when the bytes that it is receiving were sent

	// Guarded by w.mu.
	open    bool
	unsent  *packet // the last packet written, until it is sent
	in      []byte  // what has arrived and was not read
	begun   int     // how many bytes of in were read
	eof     bool
	err     error         // why no more I/O is possible
	due     time.Duration // deadline of Read, or of dialling, by the steady clock; 0 if none
	expired bool          // the deadline has passed
	writeBy time.Duration // deadline of Write, by the same clock
	alarm   item          // fires at the deadline, or earlier, and is then set again
}

func newConn(p, remote *Process) *Conn {
	c := &Conn{w: p.w, proc: p, remote: remote, link: p.w.links.Between(p.Name, remote.Name)}
	if p.guest != nil {
		c.wake = p.guest.wake
	} else {
		c.wake = make(chan struct{}, 1)
	}
	c.alarm = item{class: classTimer, key: c.link.String(), proc: p, act: (*deadline)(c), index: -1}
	return c
}

// DialContext connects to a process by its address. It has the signature that client libraries expect of a dialer. The deadline
// of ctx counts on the steady clock of the process, like every deadline of a connection. It fails with ECONNREFUSED if the
// process does not listen, and at once with EHOSTUNREACH if there is none.
func (p *Process) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	remote := w.byAddr[addr]
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: p.addrOf(remote), Err: err}
	}
	if remote == nil {
		return fail(errUnreachable)
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	if p.dead {
		p.countDeadUse()
		return fail(net.ErrClosed)
	}
	if w.warming {
		c, err := p.meet(remote)
		if err != nil {
			return fail(err)
		}
		return c, nil
	}
	c := newConn(p, remote)
	c.dialled = true
	p.conns[c] = true
	c.send(packet{kind: syn})
	done := ctx.Done()
	deadline, timed := ctx.Deadline()
	if timed {
		c.setDue(time.Until(deadline))
	}
	for {
		switch {
		case c.err != nil:
			return fail(c.err)
		case c.open:
			c.due = 0
			return c, nil
		case c.expired:
			c.fail(context.DeadlineExceeded)
			continue
		}
		w.mu.Unlock()
		var cancelled error
		select {
		case <-c.wake:
		case <-done:
			cancelled = ctx.Err()
		}
		w.mu.Lock()
		switch {
		case cancelled == nil || c.open || c.err != nil:
		case timed && cancelled == context.DeadlineExceeded:
			done = nil // this deadline is in true time, which does not count
		default:
			c.fail(cancelled)
		}
	}
}

func (p *Process) addrOf(remote *Process) net.Addr {
	if remote == nil {
		return p.addr
	}
	return remote.addr
}

// Read reads what has arrived. As with a real connection, an expired deadline wins over waiting data.
func (c *Conn) Read(b []byte) (int, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	for {
		if n, err := c.take(b); err != ErrWouldBlock {
			return n, err
		}
		c.w.mu.Unlock()
		<-c.wake
		c.w.mu.Lock()
	}
}

// ErrWouldBlock says that there is nothing to read yet.
var ErrWouldBlock = errors.New("sim: would block")

// take is Read, but returns [ErrWouldBlock] if it would have to wait. The caller holds mu.
func (c *Conn) take(b []byte) (int, error) {
	switch {
	case c.err == net.ErrClosed:
		c.proc.countDeadUse()
		c.signal() // another goroutine may be reading
		return 0, c.opError("read", c.err)
	case c.expired:
		c.signal()
		return 0, c.opError("read", os.ErrDeadlineExceeded)
	case len(c.in) > 0:
		n := copy(b, c.in[c.begun:])
		if c.begun += n; c.begun == len(c.in) {
			c.in, c.begun = c.in[:0], 0 // to reuse the buffer
		}
		return n, nil
	case c.eof:
		c.signal()
		return 0, io.EOF
	case c.err != nil:
		c.signal()
		return 0, c.opError("read", c.err)
	case len(b) == 0:
		return 0, nil
	}
	return 0, ErrWouldBlock
}

// Write passes b to the network.
func (c *Conn) Write(b []byte) (int, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	switch {
	case c.err == net.ErrClosed:
		c.proc.countDeadUse()
		return 0, c.opError("write", c.err)
	case c.writeBy != 0 && c.proc.clock.reading(c.w.Now()) >= c.writeBy:
		return 0, c.opError("write", os.ErrDeadlineExceeded)
	case c.err != nil && c.eof:
		return 0, c.opError("write", errPipe) // as Linux does if the close came before the reset
	case c.err != nil:
		return 0, c.opError("write", c.err)
	}
	if len(b) == 0 {
		return 0, nil
	}
	if c.w.warming {
		c.hand(b)
		return len(b), nil
	}
	// Bytes written at one instant travel together. That also keeps them in order when packets are sorted.
	if last := c.unsent; last != nil && last.kind == data {
		last.data = append(last.data, b...)
		if last.kept {
			c.w.strays = append(c.w.strays, c.proc)
			c.w.wake()
		}
	} else {
		c.send(packet{kind: data, data: slices.Clone(b)})
	}
	return len(b), nil
}

// Push is Write for a service that sends something other than a reply to the last request. A fault that waits for a reply ignores
// it.
func (c *Conn) Push(b []byte) (int, error) {
	c.w.mu.Lock()
	request := c.request
	c.request = cause{}
	c.w.mu.Unlock()
	defer func() {
		c.w.mu.Lock()
		c.request = request
		c.w.mu.Unlock()
	}()
	return c.Write(b)
}

// Close closes this end. Bytes that were written before may still arrive, even late.
func (c *Conn) Close() error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.err == net.ErrClosed {
		return c.opError("close", c.err)
	}
	c.hangUp(len(c.in) > 0, false)
	return nil
}

// hangUp closes this end as an operating system does: it tells the other end, with a reset if bytes were left unread.
// The caller holds mu.
func (c *Conn) hangUp(unread, kernel bool) {
	kind := fin
	if unread {
		kind = rst
	}
	if c.err == nil && c.open {
		c.send(packet{kind: kind, kernel: kernel})
	}
	c.fail(net.ErrClosed)
}

// LocalAddr is the address of the process. It does not identify the connection: nothing may depend on which connection this is.
func (c *Conn) LocalAddr() net.Addr { return c.proc.addr }

// RemoteAddr is the address of the process at the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.remote.addr }

// Dialled reports whether this end opened the connection.
func (c *Conn) Dialled() bool { return c.dialled }

// Remote returns the name of the process at the other end.
func (c *Conn) Remote() string { return c.remote.Name }

// SetDeadline sets the deadlines of Read and Write.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetWriteDeadline(t); err != nil {
		return err
	}
	return c.SetReadDeadline(t)
}

// SetWriteDeadline sets the deadline of Write, which never waits, but fails once it has passed.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.err == net.ErrClosed {
		return c.opError("set", c.err)
	}
	c.writeBy = 0
	if !t.IsZero() && !w.warming {
		c.writeBy = -1 // long ago
		if d := time.Until(t); d > 0 {
			c.writeBy = c.proc.clock.reading(w.Now()) + d
		}
	}
	return nil
}

// SetReadDeadline sets the read deadline. The duration until t counts on the steady clock of the process, and a
// deadline that passes during a pause fires after the bytes that had arrived.
func (c *Conn) SetReadDeadline(t time.Time) error {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.err == net.ErrClosed {
		return c.opError("set", c.err)
	}
	c.expired, c.due = false, 0
	if !t.IsZero() && !w.warming { // otherwise a reply is there before any deadline
		c.setDue(time.Until(t))
	}
	return nil
}

// setDue sets the deadline of Read, or of dialling, to d from now. The caller holds mu.
func (c *Conn) setDue(d time.Duration) {
	if d <= 0 {
		c.expired = true
		c.signal()
		return
	}
	now := c.w.Now()
	c.due = c.proc.clock.reading(now) + d
	// Deadlines mostly move forward. An alarm that is set too early fires and is then set again.
	if at := c.proc.clock.when(c.due); c.alarm.index < 0 || at < c.alarm.at {
		c.setAlarm(max(now, at))
	}
}

func (c *Conn) setAlarm(at time.Duration) {
	c.w.queue.remove(&c.alarm)
	c.alarm.at = at
	c.w.push(&c.alarm)
}

// rearm sets the alarm again after the rate of the clock has changed. The caller holds mu.
func (c *Conn) rearm() {
	if c.due != 0 && !c.expired && !c.alarm.waits {
		c.setAlarm(max(c.w.Now(), c.proc.clock.when(c.due)))
	}
}

// deadline is the read deadline of a connection as an event.
type deadline Conn

func (d *deadline) act(w *World) {
	c := (*Conn)(d)
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.Now(); c.err != nil || c.due == 0 || c.expired || c.proc.clock.reading(now) < c.due {
		if c.err == nil && c.due != 0 && !c.expired {
			c.setAlarm(c.proc.clock.when(c.due))
		}
		w.events-- // nothing happened; such alarms depend on which connections were used before, which must not matter
		return
	}
	c.proc.noticed(false)
	w.trace.timer(w.Now(), c.proc.Name, c.alarm.key)
	c.expired = true
	c.signal()
}

// fail ends all I/O. The caller holds mu.
func (c *Conn) fail(err error) {
	if c.err == nil || err == net.ErrClosed {
		c.err = err
	}
	c.w.queue.remove(&c.alarm)
	delete(c.proc.conns, c)
	c.signal()
}

// signal wakes a goroutine that waits for the connection. The caller holds mu.
func (c *Conn) signal() {
	if c.w.holds > 0 {
		c.w.woken = append(c.w.woken, c)
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.proc.addr, Addr: c.remote.addr, Err: err}
}

// send puts a packet into the outbox. The caller holds mu.
func (c *Conn) send(p packet) {
	p.conn, p.item.index = c, -1
	if p.cause = c.request; c.dialled {
		p.cause = cause{op: c.proc.op, acquire: c.proc.acquire()}
	}
	c.unsent = &p
	c.w.outbox = append(c.w.outbox, &p)
	c.w.wake()
}

// Sent is when the bytes that [Service.Receive] is processing were sent.
func (c *Conn) Sent() time.Duration { return c.sent }

func sortedConns(set map[*Conn]bool) []*Conn {
	return slices.SortedFunc(maps.Keys(set), func(a, b *Conn) int { return cmp.Compare(a.alarm.key, b.alarm.key) })
}

// Lease returns the name of the lease that a key stands for once the current request has set it to values; see
// [history.Leases.Set].
func (c *Conn) Lease(takes history.Taking, key string, values ...string) (lease, value string) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.w.leases.Set(c.remote.Name, c.request.acquire, takes, key, values...)
}
