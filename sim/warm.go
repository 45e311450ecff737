package sim

import "slices"

// Warm calls f while the world stands still, as it does outside of [World.Run]. Connections that f opens are open at once, and
// requests on them are answered at once, without events: they are the connections of a client that has been up for a while. f
// must not use them concurrently.
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
func (p *Process) meet(remote *Process) (*Conn, error) {
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

// hand delivers b to the other end in no time. The caller holds mu.
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
