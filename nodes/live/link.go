package live

import (
	"cmp"
	"slices"
	"time"

	"lockstep/sim/history"
)

// direction is one direction between a client and a server, or two servers: all connections from one to the other share its faults.
type direction struct {
	from, to string
	delay    time.Duration
	cut      bool
	held     bool

	cutID, holdID, delayID int // the faults in force
}

// message is one request of a client, or one reply; between servers, what was read at once.
type message struct {
	data    []byte
	cmd     []string // of a request to a Redis node
	text    string   // what it says, with tokens named
	op      string   // what its client was doing when it sent the request
	acquire int      // the number of the acquire that the request is part of, or 0
	word    string   // the first word of the request
	sent    time.Duration

	ready time.Duration // earliest arrival
	held  int           // fault that holds it; 0 if none does

	opens, ends bool // between servers: no bytes, but the beginning or the end of the connection
}

// armed is a fault that waits for its message.
type armed struct {
	history.Chosen
	id   int
	seen int // messages that fitted
}

// flow is one direction of one connection: what is on its way, in order.
type flow struct {
	*direction
	on    carrier
	to    *process
	queue []*message
	taken bool // a message was taken off, and its receiver may not have it yet
	ended bool // nothing more will be sent
}

// carrier is a connection whose two flows share its end. The caller of its methods holds mu.
type carrier interface {
	lost() bool // it was reset
	reset()
}

// link returns the direction from one process to another. The caller holds mu.
func (c *Cluster) link(from, to string) *direction {
	k := [2]string{from, to}
	d := c.links[k]
	if d == nil {
		d = &direction{from: from, to: to}
		c.links[k] = d
	}
	return d
}

// directions lists what a link covers, in the order of its names. The caller holds mu.
func (c *Cluster) directions(l history.Link) []*direction {
	if l != (history.Link{}) {
		ds := []*direction{c.link(l.From, l.To)}
		if l.Both {
			ds = append(ds, c.link(l.To, l.From))
		}
		return ds
	}
	var ds []*direction
	for _, d := range c.links {
		ds = append(ds, d)
	}
	slices.SortFunc(ds, func(a, b *direction) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	return ds
}

// send puts a message on its way. The caller holds mu.
func (c *Cluster) send(f *flow, m *message) {
	m.sent = c.Now()
	if f.on.lost() {
		c.noteMessage(history.Drop, f.direction, m)
		return
	}
	delay := f.delay
	if delay > 0 {
		c.bite(f.delayID)
	}
	delay += c.choose(f, m)
	m.ready = m.sent + delay
	if f.on.lost() {
		return // a chosen fault reset it
	}
	f.queue = append(f.queue, m)
	if delay > 0 {
		time.AfterFunc(delay, c.wake)
	}
	c.changed.Broadcast()
}

// wake has everybody who waits look again.
func (c *Cluster) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed.Broadcast()
}

// choose applies the faults that wait for this message, and returns how much longer it takes. The caller holds mu.
func (c *Cluster) choose(f *flow, m *message) (delay time.Duration) {
	reply := f.to.client != nil
	c.chosen = slices.DeleteFunc(c.chosen, func(a *armed) bool {
		if a.Reply != reply || a.Link.From != f.from || a.Link.To != f.direction.to || a.What != m.word && a.What != m.op {
			return false
		}
		if a.seen++; a.seen < a.Nth {
			return false
		}
		switch a.Action {
		case history.HoldMessage:
			m.held = a.id
		case history.DelayMessage:
			c.bite(a.id)
			delay += a.By
		case history.ResetMessage:
			c.bite(a.id)
			c.noteMessage(history.Drop, f.direction, m)
			f.on.reset()
		}
		return true
	})
	return delay
}

// next waits until the first message on its way may arrive, and takes it off. It returns nil when there will be none.
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

// blocked says whether something keeps the first message from arriving. The caller holds mu.
func (c *Cluster) blocked(f *flow) bool {
	m := f.queue[0]
	switch {
	case c.Now() < m.ready:
	case m.held != 0:
		c.bite(m.held)
	case f.cut:
		c.bite(f.cutID)
	case f.direction.held:
		c.bite(f.holdID)
	case f.to.paused:
		c.bite(f.to.pauseID)
	default:
		return false
	}
	return true
}

// arriving says whether a client is about to get something that nothing keeps from it. The caller holds mu.
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

// heal undoes cuts, holds and delays. Healing everything also lets go of single messages. The caller holds mu.
func (c *Cluster) heal(l history.Link, id int) {
	for _, d := range c.directions(l) {
		c.biteIf(d.delay > 0 || d.cut, id)
		d.delay, d.cut = 0, false
		c.release(d, id)
	}
}

// UnderWay returns when the last of the messages that are on their way from clients to a server will have arrived; 0 if there are
// none. What a fault holds back without an end does not count.
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

// release lets go of what is held on a direction. The caller holds mu.
func (c *Cluster) release(d *direction, id int) {
	c.biteIf(d.held, id)
	d.held = false
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
