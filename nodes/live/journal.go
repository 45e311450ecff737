package live

import (
	"lockstep/sim/history"
)

// injected is a fault of this run, and whether it has had an effect.
type injected struct {
	fault  history.Fault
	step   int // as in history.Event
	bitten bool
}

// note adds an event to the history. The process is that to which it happened, or the link. The caller holds mu.
func (c *Cluster) note(process string, e history.Event) {
	if c.closed {
		return
	}
	e.Process = process
	e.At = c.Now()
	if c.instant != 0 {
		e.At = c.instant
	}
	e.Clock = e.At
	if p := c.processes[process]; p != nil {
		e.Wall = p.ahead
		if k := p.client; k != nil {
			e.Clock, e.Wall = k.clocks.Reading(e.At), k.clocks.Wall(e.At)-e.At
		}
		if k := p.clocks; k != nil {
			e.Clock, e.Wall = k.Reading(e.At), k.Wall(e.At)-e.At
		}
	}
	c.history = append(c.history, e)
	for _, f := range c.watchers {
		f(e)
	}
}

// atOnce gives all events that f notes the same time. f must not take long.
func (c *Cluster) atOnce(f func()) {
	c.mu.Lock()
	c.instant = c.Now()
	c.mu.Unlock()
	f()
	c.mu.Lock()
	c.instant = 0
	c.mu.Unlock()
}

// noteFault adds a fault to the history. A consequence of another fault has the id 0. The caller holds mu.
func (c *Cluster) noteFault(f history.Fault, id int) {
	e := history.Event{Kind: history.Injected, Op: f.Verb(), ID: id, Value: f.String()}
	if d, ok := f.(history.Drift); ok {
		e.PPM = d.PPM
	}
	if id > 0 {
		e.Step = c.faults[id-1].step
	}
	c.note(f.Target(), e)
}

// bite notes the first effect of a fault. The caller holds mu.
func (c *Cluster) bite(id int) {
	if id == 0 || c.faults[id-1].bitten {
		return
	}
	in := &c.faults[id-1]
	in.bitten = true
	c.note(in.fault.Target(), history.Event{Kind: history.Bite, ID: id, Value: in.fault.String()})
}

func (c *Cluster) biteIf(did bool, id int) {
	if did {
		c.bite(id)
	}
}

// Miss notes that the condition for the fault of a step never occurred. It counts as a fault that did not bite.
func (c *Cluster) Miss(step int, f history.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, injected{fault: f, step: step})
	c.note(f.Target(), history.Event{Kind: history.Injected, Op: history.Missed, ID: len(c.faults), Step: step, Value: f.String(), Error: "its moment never came"})
}

// noteMessage notes what became of a message. The caller holds mu.
func (c *Cluster) noteMessage(op string, d *direction, m *message) {
	c.note(d.To, history.Event{Kind: history.Message, Op: op, By: d.From, Sent: m.sent, Value: m.text, Word: m.word})
}
