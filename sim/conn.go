package sim

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// A Conn is one end of a connection between two processes. To clients it is an ordinary [net.Conn]: Read blocks, Write
// never does (the network takes any number of bytes, as a large socket buffer would).
type Conn struct {
	w      *World
	proc   *Process // whose end this is
	remote *Process
	link   *direction // towards the remote process
	peer   *Conn      // the other end, once it exists
	wake   chan struct{}

	// State is for the service that owns the connection to keep what it likes.
	State any

	// Set by the scheduler only.
	out     []*packet // on their way, in order; the first is scheduled or blocked
	request packet    // of a service's end: the request in progress, without its data

	// Guarded by w.mu.
	open    bool
	in      []byte
	eof     bool
	err     error         // why no more I/O is possible
	due     time.Duration // read deadline by the steady clock, 0 if none
	expired bool          // the deadline has fired
	alarm   item          // fires the deadline, or earlier and then again
}

func newConn(p, remote *Process) *Conn {
	c := &Conn{w: p.w, proc: p, remote: remote, link: p.w.link(p.Name, remote.Name), wake: make(chan struct{}, 1)}
	c.alarm = item{class: classTimer, key: c.link.String(), proc: p, act: (*deadline)(c), index: -1}
	return c
}

// DialContext connects to a process by its address; it has the form that client libraries expect of a dialer. The
// deadline of ctx counts on the steady clock of the process, like every deadline of a connection. It fails with
// ECONNREFUSED if nothing listens there.
func (p *Process) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	w := p.w
	remote := w.byAddr[addr]
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: p.addrOf(remote), Err: err}
	}
	if remote == nil || remote.svc == nil {
		return fail(syscall.EHOSTUNREACH)
	}
	w.mu.Lock()
	if p.dead {
		w.mu.Unlock()
		return fail(net.ErrClosed)
	}
	c := newConn(p, remote)
	p.conns[c] = true
	c.send(packet{kind: syn})
	w.mu.Unlock()
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			if ctx.Err() == context.DeadlineExceeded {
				// In a pause this timer fires late, after what arrived meanwhile.
				if resumed := p.pausing(); resumed != nil {
					<-resumed
				}
			}
			w.mu.Lock()
			if !c.open && c.err == nil {
				c.fail(ctx.Err())
			}
			w.mu.Unlock()
		}
		w.mu.Lock()
		open, err := c.open, c.err
		w.mu.Unlock()
		switch {
		case err != nil:
			return fail(err)
		case open:
			return c, nil
		}
	}
}

func (p *Process) addrOf(remote *Process) net.Addr {
	if remote == nil {
		return p.addr
	}
	return remote.addr
}

// pausing returns a channel that is closed when the current pause ends, nil without a pause. Other goroutines than the
// scheduler may call it because it is set only while they are blocked.
func (p *Process) pausing() <-chan struct{} {
	if !p.paused {
		return nil
	}
	return p.resumed
}

// Read reads what has arrived. As with a real connection, an expired deadline wins over waiting data.
func (c *Conn) Read(b []byte) (int, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	for {
		switch {
		case c.err == net.ErrClosed:
			return 0, c.opError("read", c.err)
		case c.expired:
			return 0, c.opError("read", os.ErrDeadlineExceeded)
		case len(c.in) > 0:
			n := copy(b, c.in)
			c.in = c.in[n:]
			return n, nil
		case c.err != nil:
			return 0, c.opError("read", c.err)
		case c.eof:
			return 0, io.EOF
		case len(b) == 0:
			return 0, nil
		}
		c.w.mu.Unlock()
		<-c.wake
		c.w.mu.Lock()
	}
}

// Write hands b to the network.
func (c *Conn) Write(b []byte) (int, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.err != nil {
		return 0, c.opError("write", c.err)
	}
	if len(b) > 0 {
		c.send(packet{kind: data, data: slices.Clone(b)})
	}
	return len(b), nil
}

// Close closes this end. What was written before may still arrive, even late.
func (c *Conn) Close() error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.err == net.ErrClosed {
		return c.opError("close", c.err)
	}
	if c.err == nil && c.open {
		c.send(packet{kind: fin})
	}
	c.fail(net.ErrClosed)
	return nil
}

// LocalAddr is the address of the process, not of the connection: nothing may depend on which connection this is.
func (c *Conn) LocalAddr() net.Addr { return c.proc.addr }

// RemoteAddr is the address of the process at the other end.
func (c *Conn) RemoteAddr() net.Addr { return c.remote.addr }

// Remote names the process at the other end.
func (c *Conn) Remote() string { return c.remote.Name }

// SetDeadline sets the read deadline; writes never wait.
func (c *Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline does nothing: writes never wait.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline sets the read deadline. The duration until t counts on the steady clock of the process, and a
// deadline that passes during a pause fires after the bytes that had arrived.
func (c *Conn) SetReadDeadline(t time.Time) error {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	c.expired, c.due = false, 0
	if t.IsZero() {
		return nil
	}
	d := time.Until(t)
	if d <= 0 {
		c.expired = true
		c.signal()
		return nil
	}
	c.due = c.proc.clock.reading(w.Now()) + d
	// Deadlines mostly move forward. An alarm that is set for an earlier one is left to fire and be set again.
	if at := c.proc.clock.when(c.due); c.alarm.index < 0 || at < c.alarm.at {
		c.setAlarm(at)
	}
	return nil
}

func (c *Conn) setAlarm(at time.Duration) {
	if c.proc.dead {
		return
	}
	c.w.queue.remove(&c.alarm)
	c.alarm.at = at
	c.w.push(&c.alarm)
}

// rearm sets the alarm anew after the rate of the clock has changed. The caller holds mu.
func (c *Conn) rearm() {
	if c.due != 0 && !c.expired {
		c.setAlarm(max(c.w.Now(), c.proc.clock.when(c.due)))
	}
}

// deadline is the read deadline of a connection as an event.
type deadline Conn

func (d *deadline) act(w *World) {
	c := (*Conn)(d)
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.err != nil || c.due == 0 || c.expired {
		return
	}
	now := w.Now()
	if c.proc.clock.reading(now) < c.due {
		c.setAlarm(c.proc.clock.when(c.due))
		return
	}
	w.trace.timer(now, c.proc.Name, c.alarm.key)
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

// abort is what the operating system does for a process that dies: the other end is told.
func (c *Conn) abort() {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.err == nil && c.open {
		c.send(packet{kind: rst, kernel: true})
	}
	c.fail(net.ErrClosed)
}

func (c *Conn) signal() {
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
	p.conn, p.sent = c, c.w.Now()
	p.op, p.word = c.proc.op, ""
	if c.proc.svc != nil {
		p.op, p.word = c.request.op, c.request.word
	}
	c.w.outbox = append(c.w.outbox, &p)
	c.w.wake()
}

// Sent is when the bytes that [Service.Receive] is being given left their sender.
func (c *Conn) Sent() time.Duration { return c.request.sent }

func sortedConns(set map[*Conn]bool) []*Conn {
	return slices.SortedFunc(maps.Keys(set), func(a, b *Conn) int { return cmp.Compare(a.alarm.key, b.alarm.key) })
}
