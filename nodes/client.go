package nodes

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"lockstep/sim"
)

// Client is a client of a [Cluster]: the host of a worker, a dialer, and a clock. All clients live in this process, so a
// pause is less than SIGSTOP. What a paused client cannot do is to send or receive a byte, to read or wait for its clock,
// and to go on with its lane; its timers fire after the pause, and after the bytes that arrived meanwhile. What it still
// does is to compute: a goroutine that needs none of these runs on, and so do timers of package time that the code under
// test sets itself, up to the next of them.
type Client struct {
	process
	c      *Cluster
	addrs  map[string]string // of the proxies, for this client
	ctx    context.Context
	cancel context.CancelFunc

	// Guarded by Cluster.mu.
	conns map[*clientConn]bool
	op    string // what the client is doing
	opID  int
}

// Client adds a client, which can reach every server that the cluster has.
func (c *Cluster) Client(name string) (*Client, error) {
	p := &Client{process: process{name: name}, c: c, addrs: map[string]string{}, conns: map[*clientConn]bool{}}
	p.process.client = p
	p.ctx, p.cancel = context.WithCancel(c.ctx)
	var servers []*Proxy
	c.mu.Lock()
	for _, other := range c.processes {
		if other.proxy != nil {
			servers = append(servers, other.proxy)
		}
	}
	c.processes[name] = &p.process
	c.mu.Unlock()
	for _, s := range servers {
		addr, err := s.listen(p)
		if err != nil {
			return nil, err
		}
		p.addrs[s.name] = addr
	}
	return p, nil
}

// Addr is where the client reaches a server, as a literal IP:port.
func (p *Client) Addr(server string) string { return p.addrs[server] }

// Clock is the clock of the machine, for a process that can be paused.
func (p *Client) Clock() Clock { return Clock{p} }

// Go starts a lane: a goroutine that [Cluster.Run] waits for. Its context ends when the client crashes.
func (p *Client) Go(f func(ctx context.Context)) { p.c.lane(func() { f(p.ctx) }) }

// Record enters an event of this client into the history, with the time of this moment. A fault that was to come right
// after it has come when Record returns.
func (p *Client) Record(e sim.Event) {
	p.awake()
	p.c.mu.Lock()
	if !p.crashed {
		p.c.note(p.name, e)
	}
	p.c.mu.Unlock()
	p.c.agenda.settle()
	p.awake()
}

// Doing says what the client does from now on.
func (p *Client) Doing(op string, id int) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.op, p.opID = op, id
}

// Lease is the name of the lease that the client asked for last in the operation in progress.
func (p *Client) Lease() string {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	return p.c.leases.Asked(p.name, p.acquire())
}

// acquire is the number of the acquire in progress, 0 if there is none. The caller holds Cluster.mu.
func (p *Client) acquire() int {
	if p.op == sim.Acquire {
		return p.opID
	}
	return 0
}

// Steady is the time since the start of the run.
func (p *Client) Steady() time.Duration { return p.c.Now() }

// Until waits until a time of the run, or longer if the client is paused.
func (p *Client) Until(t time.Duration) { p.sleep(t - p.c.Now()) }

// Pause pauses the client from its own lane.
func (p *Client) Pause(d time.Duration) {
	p.c.Inject(sim.Pause{Process: p.name, For: d})
	p.awake() // which notices the pause, so that it bites
	p.live()
}

// sleep waits by the clock of the machine, and then for the end of a pause. If the client is gone it does not return: the
// goroutine ends.
func (p *Client) sleep(d time.Duration) {
	if d > 0 {
		select {
		case <-time.After(d):
		case <-p.ctx.Done():
		}
	}
	p.wake()
	p.live()
}

func (p *Client) live() {
	if p.ctx.Err() != nil {
		runtime.Goexit()
	}
}

// awake waits while the client is paused. It says whether it had to.
func (p *Client) awake() (waited bool) {
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for p.paused && !c.closed {
		waited = true
		c.bite(p.pauseID)
		c.changed.Wait()
	}
	return waited
}

// grace is how long a timer that came due in a pause waits after it, for bytes that have arrived come first, as after
// SIGCONT; and how long a read whose deadline has passed in a pause still looks for them.
const grace = 10 * time.Millisecond

// wake is awake for timers. It says whether the client still lives.
func (p *Client) wake() bool {
	if p.awake() {
		time.Sleep(grace)
	}
	return p.ctx.Err() == nil
}

// token names a token that the client sends. The caller holds Cluster.mu.
func (p *Client) token(token string) string { return p.c.leases.Send(p.name, p.acquire(), token) }

// known names a token that somebody has sent. The caller holds mu.
func (c *Cluster) known(token string) string { return cmp.Or(c.leases.Known(token), "?") }

// DialContext connects to a server by its [Client.Addr].
func (p *Client) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	p.awake()
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || p.crashed {
		conn.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Addr: conn.RemoteAddr(), Err: net.ErrClosed}
	}
	wrapped := &clientConn{conn, p}
	p.conns[wrapped] = true
	return wrapped, nil
}

// disconnect closes all connections. The caller holds Cluster.mu.
func (p *Client) disconnect() {
	for conn := range p.conns {
		conn.Conn.Close()
	}
	clear(p.conns)
}

// clientConn is a connection of a process that can be paused.
type clientConn struct {
	net.Conn
	client *Client
}

// Read reads what has arrived. What arrives in a pause comes after it, even if the deadline has passed by then.
func (c *clientConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if waited := c.client.awake(); !waited || n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		c.Conn.SetReadDeadline(time.Now().Add(grace))
	}
}

func (c *clientConn) Write(b []byte) (int, error) {
	c.client.awake()
	return c.Conn.Write(b)
}

// SyscallConn lets client libraries see whether an idle connection is still alive, as they can without a proxy.
func (c *clientConn) SyscallConn() (syscall.RawConn, error) {
	c.client.awake()
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return s.SyscallConn()
}

func (c *clientConn) Close() error {
	c.client.awake()
	c.client.c.mu.Lock()
	delete(c.client.conns, c)
	c.client.c.mu.Unlock()
	return c.Conn.Close()
}
