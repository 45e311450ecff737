package live

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"lockstep/nodes/engine"
	"lockstep/sim/history"
)

// Proxy stands in front of a server. It listens on a loopback port for each client, so that it knows which client a connection
// belongs to, and lets one message at a time through.
//
// Connections open and close at once, whatever faults there are on the link; only their bytes wait. After a crash of its node a
// proxy accepts a connection and resets it, where a real server would refuse it.
type Proxy struct {
	process
	c         *Cluster
	backend   backend
	serving   sync.Mutex // held while a request is carried out: a server carries out one at a time
	listeners []net.Listener
	relays    map[*relay]bool
}

// backend is the server behind a proxy.
type backend interface {
	// connect opens a connection to the server.
	connect() (io.ReadWriteCloser, error)
	// split reads the first message of data, and returns its size in bytes: 0 if it is not complete.
	split(data []byte) (m *message, n int, err error)
	// describe describes a message, with tokens named.
	describe(m *message, reply bool, name func(string) string) string
	// serve carries out a request, records its effects, and returns the reply. The caller holds Proxy.serving.
	serve(r *relay, m *message) (reply []byte, err error)
	// stop releases the resources of the backend.
	stop()
}

// serve adds a server to the cluster, behind a proxy.
func (c *Cluster) serve(name string, b backend) *Proxy {
	p := &Proxy{process: process{name: name}, c: c, backend: b, relays: map[*relay]bool{}}
	p.process.proxy = p
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes[name] = &p.process
	return p
}

// listen opens a port for a client.
func (p *Proxy) listen(client *Client) (addr string, err error) {
	return p.listenFor(client, func() *Proxy { return p })
}

// listenFor opens a port for a client. Each connection leads to the server that to returns.
func (p *Proxy) listenFor(client *Client, to func() *Proxy) (addr string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		l.Close()
		return "", net.ErrClosed
	}
	p.listeners = append(p.listeners, l)
	c.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) { // too many open files
					c.fail(fmt.Errorf("%s: %w", p.name, err))
				}
				return
			}
			to().accept(client, conn.(*net.TCPConn))
		}
	})
	return l.Addr().String(), nil
}

// close breaks all connections and accepts no more. The caller holds mu.
func (p *Proxy) close() {
	for _, l := range p.listeners {
		l.Close()
	}
	p.resetAll()
}

// resetAll breaks all connections. The caller holds mu.
func (p *Proxy) resetAll() {
	for r := range p.relays {
		r.reset()
	}
}

// errHungUp says that a server has closed a connection. A server may do that to its clients when its role changes.
var errHungUp = errors.New("the server has ended the connection")

// relay is one connection of a client, with the messages in flight on it.
type relay struct {
	proxy    *Proxy
	client   *Client
	conn     *net.TCPConn       // to the client
	up       io.ReadWriteCloser // to the server; of serve only
	requests flow
	replies  flow
	gone     bool // the client has closed its end
	broken   bool // both ends are closed, and nothing is in flight any more
}

func (p *Proxy) accept(client *Client, conn *net.TCPConn) {
	c := p.c
	r := &relay{proxy: p, client: client, conn: conn}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || p.crashed {
		conn.SetLinger(0)
		conn.Close()
		return
	}
	r.requests = flow{direction: c.links.Between(client.name, p.name), on: r, to: &p.process}
	r.replies = flow{direction: c.links.Between(p.name, client.name), on: r, to: &client.process}
	p.relays[r] = true
	c.work.Go(r.read)
	c.work.Go(r.serve)
	c.work.Go(r.write)
}

func (r *relay) lost() bool { return r.broken }

// reset breaks the connection as a middlebox does that has lost its state, and drops what is in flight. A request that the server
// is carrying out is completed. The caller holds mu.
func (r *relay) reset() {
	if r.broken {
		return
	}
	r.broken = true
	c := r.proxy.c
	for _, f := range [...]*flow{&r.requests, &r.replies} {
		for _, m := range f.queue {
			c.noteMessage(history.Drop, f.direction, m)
		}
		f.queue = nil
	}
	delete(r.proxy.relays, r)
	r.conn.SetLinger(0)
	r.conn.Close()
	c.changed.Broadcast()
}

// read reads requests from the client as soon as it sends them, however long they then take to the server.
func (r *relay) read() {
	var unread []byte
	buf := make([]byte, 16<<10)
	for {
		n, err := r.conn.Read(buf)
		unread = append(unread, buf[:n]...)
		if err == nil {
			unread, err = r.requested(unread)
		}
		if err != nil {
			r.finish(err)
			return
		}
	}
}

// requested sends the complete requests in data on their way, and returns the incomplete rest.
func (r *relay) requested(data []byte) (rest []byte, err error) {
	p, c := r.proxy, r.proxy.c
	for len(data) > 0 {
		m, n, err := p.backend.split(data)
		if n == 0 || err != nil {
			return data, err
		}
		m.data, data = data[:n:n], data[n:]
		c.mu.Lock()
		m.op, m.acquire = r.client.op, r.client.acquire()
		m.text = p.backend.describe(m, false, r.client.token)
		m.word, _, _ = strings.Cut(m.text, " ")
		c.send(&r.requests, m)
		c.mu.Unlock()
	}
	return nil, nil
}

// finish ends the requests: the client has closed its end, or has violated the protocol and is told so.
func (r *relay) finish(err error) {
	c := r.proxy.c
	c.mu.Lock()
	defer c.mu.Unlock()
	r.requests.ended = true
	if wrong := engine.ProtocolError(""); errors.As(err, &wrong) {
		text := "ERR " + wrong.Error()
		c.send(&r.replies, &message{data: []byte("-" + text + "\r\n"), text: text})
	} else {
		r.gone = true
		if id, blocked := r.requests.Blocked(); blocked { // the end of the connection does not reach the server
			c.bite(id)
		}
	}
	c.changed.Broadcast()
}

// serve has the server carry out the requests, one after the other.
func (r *relay) serve() {
	p, c := r.proxy, r.proxy.c
	up, err := p.backend.connect()
	if err == nil {
		r.up = up
		defer up.Close()
	}
	for err == nil {
		m := c.next(&r.requests)
		if m == nil {
			break
		}
		var reply []byte
		p.serving.Lock()
		c.mu.Lock()
		c.noteMessage(history.Deliver, r.requests.direction, m)
		c.mu.Unlock()
		reply, err = p.backend.serve(r, m)
		p.serving.Unlock()
		c.agenda.settle() // a fault that waits for the new state is injected before anybody learns of that state
		if err == nil && reply != nil {
			r.answer(m, reply)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if !p.crashed && !errors.Is(err, errHungUp) {
			c.fail(fmt.Errorf("%s: %w", p.name, err))
		}
		r.reset()
	}
	r.replies.ended = true
	c.changed.Broadcast()
}

// answer sends the reply to a request on its way.
func (r *relay) answer(request *message, reply []byte) {
	p, c := r.proxy, r.proxy.c
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &message{data: reply, op: request.op, word: request.word}
	m.text = p.backend.describe(m, true, c.known)
	c.send(&r.replies, m)
}

// write writes replies to the client.
func (r *relay) write() {
	p, c := r.proxy, r.proxy.c
	for {
		m := c.next(&r.replies)
		c.mu.Lock()
		if m == nil {
			delete(p.relays, r)
			r.conn.Close()
			c.mu.Unlock()
			return
		}
		gone := r.gone
		op := history.Deliver
		if gone {
			op = history.Late
		}
		c.noteMessage(op, r.replies.direction, m)
		c.mu.Unlock()
		if !gone {
			r.conn.Write(m.data) // if this fails, the client has just gone
		}
	}
}
