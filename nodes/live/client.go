package live

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"lockstep/nodes"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// Client is a client of a [Cluster] as the cluster sees it: the ports on which it reaches the servers, and, once started, a
// process of its own, which runs a [Host]. A pause stops that process (SIGSTOP), and a crash kills it.
type Client struct {
	process
	c        *Cluster
	addrs    map[string]string // of its proxies, by server
	ctx      context.Context   // ends when the client crashes
	cancel   context.CancelFunc
	listener net.Listener // where its process connects; nil if no process was started
	key      string
	called   chan struct{} // closed when its process has connected
	begun    chan struct{} // closed when its lane begins
	gone     chan struct{} // closed when its process is gone, if it had one

	// Guarded by Cluster.mu.
	os   *os.Process // nil until it has connected
	op   string      // what the client is doing
	opID int
	open bool // its lane has begun but not ended

	clocks history.Clock
	unmet  []int        // faults of its clocks that it does not know yet
	set    int          // how many faults of its clocks there were
	known  int          // how many of them its process knows
	told   bool         // its lane has begun, so that it must be told at once
	tell   func(answer) // sends it what it has not asked for; nil: it is not connected
}

// Client adds a client, which can reach every server of the cluster.
func (c *Cluster) Client(name string) (*Client, error) {
	p := &Client{
		process: process{name: name}, c: c, addrs: map[string]string{}, key: rand.Text(),
		called: make(chan struct{}), begun: make(chan struct{}), gone: make(chan struct{}),
	}
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
	if g := c.group; g != nil {
		addr, err := g.nodes[0].proxy.listenFor(p, g.leading)
		if err != nil {
			return nil, err
		}
		p.addrs[nodes.GroupAddr] = addr
	}
	return p, nil
}

// Addr is the address at which the client reaches a server, as a literal IP:port.
func (p *Client) Addr(server string) string { return p.addrs[server] }

// Start starts the process of a client: a worker of [workers.Work] with one job. The job is made from a [Contact], with which the
// worker calls [Join]. [Cluster.Begin] waits for that. The run ends with a [*ClientError] if the process ends by itself before
// its lane does, or takes longer than the limit.
func (p *Client) Start(command func() *exec.Cmd, limit time.Duration, job func(Contact) (json.RawMessage, error)) error {
	c := p.c
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	context.AfterFunc(c.ctx, func() { listener.Close() })
	data, err := job(Contact{listener.Addr().String(), p.key})
	if err != nil {
		return err
	}
	p.listener = listener
	c.work.Go(p.serve)
	c.work.Go(func() {
		defer p.leave()
		s := &workers.Supervisor{Command: command, Workers: 1, Limit: limit, Output: os.Stderr}
		err := s.Run(p.ctx, []json.RawMessage{data}, func(_ int, o workers.Outcome) {
			if o.Report != nil {
				c.fail(&ClientError{p.name, o.Report})
			}
		})
		if err != nil && p.ctx.Err() == nil {
			c.fail(fmt.Errorf("%s: %w", p.name, err))
		}
	})
	return nil
}

// ClientError reports that the process of a client ended by itself.
type ClientError struct {
	Client string
	*workers.Report
}

// Error returns the message, with the stacks from the second line on.
func (e *ClientError) Error() string {
	return fmt.Sprintf("%s: %s\n%s", e.Client, e.Reason, e.Stacks)
}

// Go starts the lane of a client whose process has connected. [Cluster.Run] waits for its end.
func (p *Client) Go() {
	p.c.agenda.begin()
	p.c.agenda.at(time.Now(), func() {
		p.c.mu.Lock()
		p.open = true
		p.c.mu.Unlock()
		close(p.begun)
	})
}

// leave notes that the process of the client is gone.
func (p *Client) leave() {
	p.listener.Close()
	p.end()
	close(p.gone)
}

// end ends the lane if it has begun.
func (p *Client) end() {
	p.c.mu.Lock()
	ends := p.open
	p.open = false
	p.c.mu.Unlock()
	if ends {
		p.c.agenda.end()
	}
}

// callLimit is how long a process that connects has to identify itself.
const callLimit = 10 * time.Second

// serve answers the process of the client until it is gone. It does not answer any other process that connects by mistake.
func (p *Client) serve() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		dec := json.NewDecoder(conn)
		var first question
		conn.SetReadDeadline(time.Now().Add(callLimit))
		if dec.Decode(&first) != nil || first.Hello == nil || first.Hello.Key != p.key {
			conn.Close()
			continue
		}
		conn.SetReadDeadline(time.Time{})
		p.listener.Close()
		stop := context.AfterFunc(p.c.ctx, func() { conn.Close() })
		defer stop()
		p.c.mu.Lock()
		// The handle refers to this process even if its number is used again later.
		p.os, err = os.FindProcess(first.Hello.PID)
		p.c.mu.Unlock()
		p.c.must(err)
		close(p.called)
		p.converse(conn, dec, first)
		return
	}
}

// converse answers first and all questions after it, concurrently.
func (p *Client) converse(conn net.Conn, dec *json.Decoder, first question) {
	defer conn.Close()
	var mu sync.Mutex // guards writing
	enc := json.NewEncoder(conn)
	tell := func(a answer) {
		mu.Lock()
		defer mu.Unlock()
		enc.Encode(a) // if this fails, the client is gone
	}
	answer := func(q question) { p.c.work.Go(func() { tell(p.answer(q)) }) }
	p.listens(tell)
	defer p.listens(nil)
	answer(first)
	for {
		var q question
		switch {
		case dec.Decode(&q) != nil:
			return
		case q.Set > 0:
			p.usesClocks(q.Set)
		default:
			answer(q)
		}
	}
}

// answer does what the process of the client asks for, and returns when it is done. If the process is stopped while its question
// is on its way, the question counts from the end of the pause.
func (p *Client) answer(q question) (a answer) {
	c := p.c
	a.ID = q.ID
	if q.Hello != nil {
		select {
		case <-p.begun:
			a.Start, a.Clocks = c.start.UnixNano(), p.begins()
		case <-c.ctx.Done():
		}
		return a
	}
	p.awake()
	switch {
	case q.Record != nil:
		p.Record(*q.Record)
	case q.Doing != nil:
		p.Doing(q.Doing.Op, q.Doing.ID, q.Doing.Lock)
	case q.Lease:
		c.mu.Lock()
		a.Lease = c.leases.Asked(p.name, p.acquire())
		c.mu.Unlock()
	case q.Pause > 0:
		c.Inject(history.Pause{Process: p.name, For: q.Pause})
	case len(q.Bite) > 0:
		c.mu.Lock()
		for _, id := range q.Bite {
			c.bite(id)
		}
		c.mu.Unlock()
	case q.End:
		p.end()
	case q.Late != nil:
		p.stood(*q.Late)
	}
	p.awake()
	return a
}

// listens stores the function that sends the process what it has not asked for.
func (p *Client) listens(tell func(answer)) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.tell = tell
	p.c.changed.Broadcast()
}

// begins returns the clock faults that the process must know when its lane begins; nil if its clocks are right.
func (p *Client) begins() *setClocks {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.told, p.known = true, p.set
	if p.set == 0 {
		return nil
	}
	return &setClocks{p.set, p.clocks, p.unmet}
}

// usesClocks notes which clock faults the process has learned of.
func (p *Client) usesClocks(nr int) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.known = max(p.known, nr)
	p.c.changed.Broadcast()
}

// setClocks applies a fault to the clocks of the process. The function that it returns returns when the process has learned of
// the fault; a process that is stopped learns of it when it resumes. The caller holds Cluster.mu.
func (p *Client) setClocks(f history.Fault, id int) func() {
	c := p.c
	p.clocks = p.clocks.After(f, c.Now())
	p.set++
	if !p.told {
		p.unmet = append(p.unmet, id)
		return nil
	}
	tell, news := p.tell, setClocks{p.set, p.clocks, []int{id}}
	if tell == nil {
		return nil // the process is gone
	}
	return func() {
		tell(answer{Clocks: &news})
		c.mu.Lock()
		defer c.mu.Unlock()
		for p.known < news.Nr && p.tell != nil && !p.paused && !c.closed {
			c.changed.Wait()
		}
	}
}

// Record enters an event of this client into the history, with the time of this moment. A fault that was planned to
// follow it at once has been injected when Record returns.
func (p *Client) Record(e history.Event) {
	p.c.mu.Lock()
	if !p.crashed {
		p.c.note(p.name, e)
	}
	p.c.mu.Unlock()
	p.c.agenda.settle()
}

// Doing sets the operation that the client is carrying out, on the lock with a name.
func (p *Client) Doing(op string, id int, lock string) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.op, p.opID = op, id
	if op == history.Acquire {
		p.c.leases.Acquire(p.name, id, lock)
	}
}

// acquire is the number of the acquire in progress, 0 if there is none. The caller holds Cluster.mu.
func (p *Client) acquire() int {
	if p.op == history.Acquire {
		return p.opID
	}
	return 0
}

// awake waits while the client is paused.
func (p *Client) awake() {
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for p.paused && !c.closed {
		c.changed.Wait()
	}
}

// token returns the name of a token that the client sends. The caller holds Cluster.mu.
func (p *Client) token(token string) string { return p.c.leases.Send(p.name, p.acquire(), token) }

// known returns the name of a token that was sent before. The caller holds mu.
func (c *Cluster) known(token string) string { return cmp.Or(c.leases.Known(token), "?") }

// await returns when the process is gone.
func (p *Client) await() {
	if p.listener != nil {
		<-p.gone
	}
}

// signal sends a signal to the process, and reports whether there was one. The caller holds Cluster.mu.
func (p *Client) signal(sig os.Signal) bool {
	if p.os == nil {
		return false
	}
	err := p.os.Signal(sig)
	if !errors.Is(err, os.ErrProcessDone) {
		p.c.must(err)
	}
	return err == nil
}

// bytesFirst is how long a process that resumes waits for the bytes that have arrived during its pause. They take no time, unless
// there are more of them than fit into a socket buffer.
const bytesFirst = time.Second

// resume continues the process once the bytes that arrived during the pause are there: after SIGCONT the bytes come first, then
// the timers.
func (p *Client) resume() {
	c := p.c
	defer time.AfterFunc(bytesFirst, c.wake).Stop()
	end := time.Now().Add(bytesFirst)
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && c.arriving(p) && time.Now().Before(end) {
		c.changed.Wait()
	}
	if !p.paused { // it was paused again
		p.signal(redisserver.ContSignal)
	}
}
