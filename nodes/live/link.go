package live

import (
	"time"

	"lockstep/sim/history"
	"lockstep/sim/link"
)

// direction is one direction between a client and a server, or two servers.
type direction = link.Direction[struct{}]

// message is one request of a client, or one reply; between servers it is one chunk that was read.
type message struct {
	data    []byte
	cmd     []string // if it is a request to a Redis node
	text    string   // its description, with tokens named
	op      string   // the operation in which its client sent the request
	acquire int      // the number of the acquire that the request is part of, or 0
	word    string   // the first word of the request
	sent    time.Duration

	ready time.Duration // earliest arrival
	held  int           // the fault that holds it; 0 if none does

	opens, ends bool // between servers: the opening or the closing of the connection, without bytes
}

// flow is one direction of one connection, with the messages in flight in order.
type flow struct {
	*direction
	on    carrier
	to    *process
	queue []*message
	taken bool // a message was taken, and its receiver may not have it yet
	ended bool // nothing more will be sent
}

// carrier is the connection that two flows belong to. The caller of its methods holds mu.
type carrier interface {
	lost() bool // it was reset
	reset()
}

// send puts a message on its way. The caller holds mu.
func (c *Cluster) send(f *flow, m *message) {
	m.sent = c.Now()
	if f.on.lost() {
		c.noteMessage(history.Drop, f.direction, m)
		return
	}
	delay := f.Delay
	if delay > 0 {
		c.bite(f.DelayID)
	}
	delay += c.choose(f, m)
	m.ready = m.sent + delay
	if f.on.lost() {
		return // a fault chose this message and reset the connection
	}
	f.queue = append(f.queue, m)
	if delay > 0 {
		time.AfterFunc(delay, c.wake)
	}
	c.changed.Broadcast()
}

// wake makes all that wait check again.
func (c *Cluster) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed.Broadcast()
}

// choose applies the faults that choose this message, and returns the delay that they add. The caller holds mu.
func (c *Cluster) choose(f *flow, m *message) (delay time.Duration) {
	like := link.Message{From: f.From, To: f.To, Reply: f.to.client != nil, Word: m.word, Op: m.op}
	c.links.Choose(like, func(fault history.Chosen, id int) (lost bool) {
		switch fault.Action {
		case history.HoldMessage:
			m.held = id
		case history.DelayMessage:
			c.bite(id)
			delay += fault.By
		case history.ResetMessage:
			c.bite(id)
			c.noteMessage(history.Drop, f.direction, m)
			f.on.reset()
			return true
		}
		return false
	})
	return delay
}

// next waits until the first message in flight may arrive, and takes it. It returns nil when there will be no more.
func (c *Cluster) next(f *flow) *message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.taken {
		f.taken = false
		c.changed.Broadcast()
	}
	for {
		switch {
		case f.on.lost(), len(f.queue) == 0 && f.ended:
			return nil
		case len(f.queue) == 0, c.blocked(f):
			c.changed.Wait()
		default:
			m := f.queue[0]
			f.queue, f.taken = f.queue[1:], true
			return m
		}
	}
}

// blocked reports whether a fault keeps the first message from arriving. The caller holds mu.
func (c *Cluster) blocked(f *flow) bool {
	m := f.queue[0]
	id, closed := f.Blocked()
	switch {
	case c.Now() < m.ready:
	case m.held != 0:
		c.bite(m.held)
	case closed:
		c.bite(id)
	case f.to.paused:
		c.bite(f.to.pauseID)
	default:
		return false
	}
	return true
}

// arriving reports whether a client is about to receive a message that no fault blocks. The caller holds mu.
func (c *Cluster) arriving(p *Client) bool {
	for _, server := range c.processes {
		if server.proxy == nil {
			continue
		}
		for r := range server.proxy.relays {
			f := &r.replies
			if r.client == p && (f.taken || len(f.queue) > 0 && !c.blocked(f)) {
				return true
			}
		}
	}
	return false
}

// UnderWay returns when the last of the messages in flight from clients to a server will arrive; 0 if there are none. It ignores
// messages that a fault holds for an unlimited time.
func (c *Cluster) UnderWay(to string) (until time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[to]
	if p == nil || p.proxy == nil {
		return 0
	}
	for r := range p.proxy.relays {
		for _, m := range r.requests.queue {
			if m.held == 0 {
				until = max(until, m.ready)
			}
		}
	}
	return until
}

// effects are the actions of the proxies when faults on links begin or end. The caller holds mu while they are used.
func (c *Cluster) effects() link.Effects[struct{}] {
	return link.Effects[struct{}]{Bite: c.bite, Release: c.release}
}

// release releases single messages that a fault holds in a direction. The caller holds mu.
func (c *Cluster) release(d *direction, id int) {
	for _, p := range c.processes {
		if p.proxy == nil {
			continue
		}
		for r := range p.proxy.relays {
			for _, f := range [...]*flow{&r.requests, &r.replies} {
				if f.direction == d && len(f.queue) > 0 && f.queue[0].held != 0 {
					c.bite(id)
					f.queue[0].held = 0
				}
			}
		}
	}
	c.changed.Broadcast()
}
