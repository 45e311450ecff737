//go:build !wasm

package foreign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/sim"
	"lockstep/sim/history"
	"lockstep/sim/wasm"
)

// machine is what the program of a lock sees: the clocks and the network of an Env. Its standard input carries requests, and its
// standard output answers.
//
// The program and the lane of its client never run at the same time: the lane waits for an answer, and gets it when the program
// waits. So their order does not depend on the Go scheduler.
type machine struct {
	env     clients.Env
	start   time.Time // what the steady clock showed when the program started
	ctx     context.Context
	stop    func()
	wake    chan struct{}
	waits   sync.Once
	idle    chan struct{} // closed when the program waits for the first time
	replies chan string

	mu      sync.Mutex
	request []byte // what the program has not read of the request
	asked   string // the request that it has not answered
	line    []byte // the line that it is writing
	answer  *string
	broken  error // how it violated the protocol
}

func newMachine(env clients.Env) *machine {
	m := &machine{env: env, start: sim.HarnessClock(env.Clock).Now(), wake: make(chan struct{}, 1), idle: make(chan struct{}), replies: make(chan string, 1)}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m
}

func (m *machine) Steady() time.Duration { return max(m.env.Clock.Now().Sub(m.start), 0) }
func (m *machine) Wall() time.Time       { return m.env.Wall.Now() }
func (m *machine) Alive() bool           { return m.ctx.Err() == nil }

// Wait hands over the answer of the program, if there is one, and waits.
func (m *machine) Wait(due time.Duration) {
	select {
	case <-m.wake:
		return
	default:
	}
	m.mu.Lock()
	if m.answer != nil {
		m.replies <- *m.answer
		m.answer, m.asked = nil, ""
	}
	m.mu.Unlock()
	m.waits.Do(func() { close(m.idle) })
	var tick <-chan time.Time
	if due >= 0 {
		t := m.env.Clock.NewTimer(due - m.Steady())
		defer t.Stop()
		tick = t.Chan()
	}
	select {
	case <-m.wake:
	case <-tick:
	case <-m.ctx.Done():
	}
}

func (m *machine) nudge() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// put makes a request available on standard input.
func (m *machine) put(request string) {
	m.mu.Lock()
	m.request, m.asked = []byte(request+"\n"), request
	m.mu.Unlock()
	m.nudge()
}

// breaks ends the program, because it has violated the protocol. The caller holds mu.
func (m *machine) breaks(format string, a ...any) {
	if m.broken == nil {
		m.broken = fmt.Errorf(format, a...)
	}
	m.stop()
}

// starved returns an error if the program waits for a request before it has answered the last one: it would wait for ever.
func (m *machine) starved() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked == "" || m.answer != nil {
		return nil
	}
	why := "it has written nothing to standard output; or it must flush what it has written"
	if len(m.line) > 0 {
		why = fmt.Sprintf("an answer is a line, and %s has no end", quoted(m.line))
	}
	return fmt.Errorf("it waits for the next request, but has not answered %q: %s", m.asked, why)
}

// stdin is the standard input of the program.
type stdin struct{ *machine }

func (s stdin) TryRead(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.request) == 0 {
		return 0, sim.ErrWouldBlock
	}
	n := copy(b, s.request)
	s.request = s.request[n:]
	return n, nil
}

func (s stdin) Readable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.request) > 0
}

func (stdin) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }
func (stdin) Connected() error          { return nil }
func (stdin) Close() error              { return nil }

// longestAnswer is the most bytes that an answer may have.
const longestAnswer = 4 << 10

// stdout is its standard output.
type stdout struct{ *machine }

func (s stdout) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range b {
		switch {
		case s.broken != nil:
			return len(b), nil // it ends at its next call
		case len(s.line) == longestAnswer:
			s.breaks("it wrote more than %d bytes to standard output without an end of line; what is not an answer belongs on standard error", longestAnswer)
		case c != '\n':
			s.line = append(s.line, c)
		case s.asked == "" || s.answer != nil:
			s.breaks("it wrote %s to standard output, but was not asked anything; what is not an answer belongs on standard error", quoted(s.line))
		default:
			line := string(bytes.TrimSpace(s.line))
			s.answer, s.line = &line, nil
		}
	}
	return len(b), nil
}

// quoted is what a program wrote, for an error.
func quoted(line []byte) string { return fmt.Sprintf("%q", history.Shortened(string(line), 100)) }

func (stdout) TryRead([]byte) (int, error) { return 0, errors.ErrUnsupported }
func (stdout) Readable() bool              { return false }
func (stdout) Connected() error            { return nil }
func (stdout) Close() error                { return nil }

// Dial begins to connect.
func (m *machine) Dial(addr string) (wasm.Conn, error) {
	ctx, cancel := context.WithCancel(m.ctx)
	c := &conn{m: m, cancel: cancel}
	go c.run(ctx, addr)
	return c, nil
}

// conn is a connection. A goroutine reads what arrives.
type conn struct {
	m      *machine
	cancel func()

	// Guarded by m.mu.
	net    net.Conn // nil until it is open
	in     []byte
	err    error // why there is nothing more to read
	closed bool
}

func (c *conn) run(ctx context.Context, addr string) {
	n, err := c.m.env.Dial(ctx, "tcp", addr)
	c.m.mu.Lock()
	if err != nil {
		c.fails(err)
		return
	}
	if c.closed {
		c.m.mu.Unlock()
		n.Close()
		return
	}
	c.net = n
	c.m.mu.Unlock()
	c.m.nudge()
	buf := make([]byte, 4<<10)
	for {
		k, err := n.Read(buf)
		c.m.mu.Lock()
		c.in = append(c.in, buf[:k]...)
		if err != nil {
			c.fails(err)
			return
		}
		c.m.mu.Unlock()
		c.m.nudge()
	}
}

// fails ends the reading. It unlocks mu. A connection that the program has not closed itself is closed only if its process is gone.
func (c *conn) fails(err error) {
	c.err = err
	gone := errors.Is(err, net.ErrClosed) && !c.closed
	c.m.mu.Unlock()
	if gone {
		c.m.stop()
	}
	c.m.nudge()
}

func (c *conn) TryRead(b []byte) (int, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	switch {
	case len(c.in) > 0:
		n := copy(b, c.in)
		c.in = c.in[n:]
		return n, nil
	case c.err == io.EOF:
		return 0, io.EOF
	case c.err != nil:
		return 0, c.err
	}
	return 0, sim.ErrWouldBlock
}

func (c *conn) Write(b []byte) (int, error) {
	if err := c.Connected(); err != nil {
		return 0, err
	}
	return c.net.Write(b)
}

func (c *conn) Connected() error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	switch {
	case c.net != nil:
		return nil
	case c.err != nil:
		return c.err
	}
	return sim.ErrWouldBlock
}

func (c *conn) Readable() bool {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	return len(c.in) > 0 || c.err != nil
}

func (c *conn) Close() error {
	c.m.mu.Lock()
	c.closed = true
	n := c.net
	c.m.mu.Unlock()
	c.cancel()
	if n != nil {
		return n.Close()
	}
	return nil
}
