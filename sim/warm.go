package sim

import (
	"net"
	"slices"
)

// Warm calls f while the world stands still, which it does when nobody is in [World.Run]. Connections that f opens are open at
// once, and what it says on them is answered at once, unseen: they are what a client has that has been up for a while. F must
// say one thing after the other.
func (w *World) Warm(f func()) {
	w.setWarming(true)
	defer w.setWarming(false)
	f()
}

func (w *World) setWarming(on bool) {
	w.mu.Lock()
	w.warming = on
	w.mu.Unlock()
}

// meet opens a connection in no time. The caller holds mu.
func (p *Process) meet(remote *Process) (net.Conn, error) {
	if remote.svc == nil {
		return nil, errRefused
	}
	c, end := newConn(p, remote), newConn(remote, p)
	c.dialled, c.peer, end.peer = true, end, c
	c.open, end.open = true, true
	p.conns[c], remote.conns[end] = true, true
	p.w.mu.Unlock()
	(*opened)(end).act(p.w)
	p.w.mu.Lock()
	return c, nil
}

// hand has the other end read b in no time. The caller holds mu.
func (c *Conn) hand(b []byte) {
	to := c.peer
	if to.proc.svc == nil {
		to.in = append(to.in, b...)
		to.signal()
		return
	}
	c.w.mu.Unlock()
	to.proc.svc.Receive(to, slices.Clone(b))
	c.w.mu.Lock()
}
