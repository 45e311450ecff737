package sim

import (
	"net"
	"time"
)

// A Guest is the operating system of a client whose code does not run in goroutines of the bubble, but in one thread that
// calls the methods of the Guest: a WebAssembly instance, for example. The thread blocks only in these methods. So a pause stops
// the whole process: its code cannot run on, and no timer of its runtime fires. Each read of one of its clocks counts as a read
// by the code under test.
type Guest struct {
	p    *Process
	wake chan struct{} // something has happened on one of its connections, or Wake was called
}

// Guest makes a client process a guest. It must be called before the process has connections or timers.
func (p *Process) Guest() *Guest {
	g := &Guest{p: p, wake: make(chan struct{}, 1)}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.guest, p.reads = g, true
	return g
}

// Steady is the reading of the steady clock since the start of the run.
func (g *Guest) Steady() time.Duration {
	w := g.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	g.p.noticed(false)
	return g.p.clock.reading(w.Now())
}

// Wall is the reading of the wall clock.
func (g *Guest) Wall() time.Time {
	w := g.p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	g.p.noticed(true)
	return w.start.Add(g.p.times.Wall(w.Now()))
}

// Wait returns when something has happened on a connection since the last call, [Guest.Wake] was called, the steady clock has
// reached the reading due, or the process dies. If due is negative, no reading ends the wait.
func (g *Guest) Wait(due time.Duration) {
	var tick <-chan time.Time
	if due >= 0 {
		t := newTimer(g.p.clock, nil)
		w := g.p.w
		w.mu.Lock()
		t.arm(due)
		w.mu.Unlock()
		defer t.Stop()
		tick = t.c
	}
	select {
	case <-g.wake:
	case <-tick:
	case <-g.p.ctx.Done():
	}
}

// Pause pauses the process. It is called from the code of the process, which continues after the pause.
func (g *Guest) Pause(d time.Duration) { g.p.pauseHere(d) }

// Dead is closed when the process dies.
func (g *Guest) Dead() <-chan struct{} { return g.p.ctx.Done() }

// Alive returns true until the process dies.
func (g *Guest) Alive() bool { return g.p.ctx.Err() == nil }

// Wake ends the current Wait or, if there is none, the next one.
func (g *Guest) Wake() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// Yield returns when everything that is due now has happened and the process is not paused. So a fault that an event of the
// process has triggered takes effect before the code of the process continues. If the process dies, Yield returns at once.
func (g *Guest) Yield() {
	p, done := g.p, make(chan struct{})
	w := p.w
	w.mu.Lock()
	// This event has no process, so it does not join the one that woke the guest: what the guest has recorded enters the history first.
	w.push(&item{at: w.Now(), class: classTimer, key: p.Name, act: actionFunc(func() {
		w.mu.Lock()
		w.push(&item{at: w.Now(), class: classTimer, key: p.Name, proc: p, act: actionFunc(func() { close(done) })})
		w.mu.Unlock()
	})})
	w.mu.Unlock()
	select {
	case <-done:
	case <-p.ctx.Done():
	}
}

// Dial begins to connect to the process that has the address, and does not wait: see [Conn.Connected].
func (g *Guest) Dial(addr string) (*Conn, error) {
	p := g.p
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	remote := w.byAddr[addr]
	switch {
	case remote == nil:
		return nil, errUnreachable
	case p.dead:
		return nil, net.ErrClosed
	case w.warming:
		return p.meet(remote)
	}
	c := newConn(p, remote)
	c.dialled = true
	p.conns[c] = true
	c.send(packet{kind: syn})
	return c, nil
}

// Connected returns nil if the connection is open, [ErrWouldBlock] as long as the other end has not answered, and otherwise an
// error that says why there is no connection.
func (c *Conn) Connected() error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	switch {
	case c.open:
		return nil
	case c.err != nil:
		return c.err
	}
	return ErrWouldBlock
}

// TryRead is Read without waiting.
func (c *Conn) TryRead(b []byte) (int, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.take(b)
}

// Readable reports whether Read would return at once.
func (c *Conn) Readable() bool {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return len(c.in) > 0 || c.eof || c.err != nil || c.expired
}
