package live

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"lockstep/nodes/engine"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// ErrSimOnly says that a fault can be injected in simulation only.
var ErrSimOnly = errors.New("sim only")

// Injectable returns nil if a fault can be injected into a [Cluster], or else says why not. The functions node and client report
// whether a process is a Redis node or a client.
//
// The clock of a redis-server process is that of the machine, unless the servers have clocks of their own
// ([StartClusterWithClocks]). A jump can be simulated by moving all deadlines of the server's keys at once. For a drift or a slew
// they would have to be moved all the time.
func Injectable(f history.Fault, node, client func(process string) bool, ownClocks bool) error {
	switch f := f.(type) {
	case history.Pause:
		if redisserver.StopSignal == nil {
			return fmt.Errorf("%w: %s: no process can be stopped from running on %s", ErrSimOnly, f, runtime.GOOS)
		}
		return nil
	case history.Stop:
		if redisserver.TermSignal == nil && node(f.Process) {
			return fmt.Errorf("%w: %s: no process can be asked to end on %s", ErrSimOnly, f, runtime.GOOS)
		}
		return nil
	case history.Resume, history.Crash, history.Restart, history.Promote, history.Follow, history.Cut, history.Heal, history.Hold, history.ReleaseLink, history.Delay, history.Reset, history.Chosen:
		return nil
	case history.Jump:
		if node(f.Process) || client(f.Process) {
			return nil
		}
	case history.Drift:
		if client(f.Process) || ownClocks && node(f.Process) {
			return nil
		}
	case history.Slew:
		if client(f.Process) || ownClocks && node(f.Process) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", ErrSimOnly, f)
}

// Inject injects a fault now. It panics if a process does not exist or the fault is not [Injectable].
func (c *Cluster) Inject(f history.Fault) { c.injectStep(0, f) }

// injectStep is Inject for a step of the nemesis.
func (c *Cluster) injectStep(step int, f history.Fault) {
	c.mu.Lock()
	c.faults = append(c.faults, injected{fault: f, step: step})
	id := len(c.faults)
	if !c.revives(f) { // otherwise the fault is noted once the server is back
		c.noteFault(f, id)
	}
	act := c.inject(f, id)
	c.changed.Broadcast()
	c.mu.Unlock()
	if act != nil {
		act()
	}
}

// inject does the part of f that takes no time. The rest is act, which the caller calls without mu. The caller of inject holds
// mu.
func (c *Cluster) inject(f history.Fault, id int) (act func()) {
	switch f := f.(type) {
	case history.Pause:
		return c.pause(c.process(f.Process), id, f)
	case history.Resume:
		did, act := c.resume(c.process(f.Process))
		c.biteIf(did, id)
		return act
	case history.Crash:
		exit := engine.Killed
		if f.Power {
			exit = engine.PowerLost
		}
		return c.crash(c.process(f.Process), exit, id)
	case history.Stop:
		return c.crash(c.process(f.Process), engine.Stopped, id)
	case history.Promote:
		return c.replication(c.process(f.Process), id, (*realNode).promote)
	case history.Follow:
		primary := c.process(f.Primary).node()
		return c.replication(c.process(f.Process), id, func(n *realNode) bool { return n.follow(primary) })
	case history.Restart:
		return c.restart(c.process(f.Process), f.Empty, id)
	case history.Jump:
		return c.setClock(c.process(f.Process), f, id)
	case history.Slew:
		return c.setClock(c.process(f.Process), f, id)
	case history.Drift:
		return c.setClock(c.process(f.Process), f, id)
	case history.Reset:
		c.biteIf(c.resetLink(c.process(f.Link.From), c.process(f.Link.To)), id)
	default:
		if !c.links.Inject(f, id, c.effects()) {
			panic("live: no such fault on real servers: " + f.String())
		}
	}
	return nil
}

func (c *Cluster) process(name string) *process {
	p := c.processes[name]
	if p == nil {
		panic("live: a fault names the process " + name + ", which does not exist")
	}
	return p
}

// node returns the redis-server of a process; nil if it is not one.
func (p *process) node() *realNode {
	if p.proxy == nil {
		return nil
	}
	n, _ := p.proxy.backend.(*realNode)
	return n
}

// must ends the run upon an error that no fault explains.
func (c *Cluster) must(err error) {
	if err != nil {
		c.fail(err)
	}
}

func (c *Cluster) pause(p *process, id int, f history.Pause) func() {
	if p.paused || p.crashed {
		return nil
	}
	p.paused, p.pauseID = true, id
	p.pauses++
	if this := p.pauses; f.For > 0 {
		c.agenda.at(time.Now().Add(f.For), func() {
			c.mu.Lock()
			var act func()
			if p.paused && p.pauses == this {
				c.noteFault(history.Resume{Process: p.name}, 0)
				_, act = c.resume(p)
			}
			c.mu.Unlock()
			if act != nil {
				act()
			}
		})
	}
	if p.client != nil {
		// Nobody knows what the process would have done meanwhile: the fault bites because the process was stopped.
		c.biteIf(p.client.signal(redisserver.StopSignal), id)
	}
	if n := p.node(); n != nil {
		return func() { c.must(n.server.Pause()) }
	}
	return nil
}

func (c *Cluster) resume(p *process) (did bool, act func()) {
	if !p.paused {
		return false, nil
	}
	p.paused, p.resumed = false, c.Now()
	c.changed.Broadcast()
	if p.client != nil {
		return true, p.client.resume
	}
	if n := p.node(); n != nil {
		return true, func() { c.must(n.server.Resume()) }
	}
	return true, nil
}

func (c *Cluster) crash(p *process, how engine.Exit, id int) func() {
	if p.crashed {
		return nil
	}
	p.paused = false // SIGKILL does not wait for SIGCONT
	p.crashed = true
	p.crashes++
	bite := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bite(id)
	}
	if p.client != nil {
		p.client.cancel() // this kills the process
		return func() {
			p.client.await()
			bite()
		}
	}
	p.proxy.resetAll()
	return func() {
		if n := p.node(); n != nil {
			if err := n.crash(how); err != nil {
				c.fail(fmt.Errorf("%s: %w", p.name, err))
			}
		}
		bite()
	}
}

// revives reports whether a fault restarts a crashed server. The caller holds mu.
func (c *Cluster) revives(f history.Fault) bool {
	r, ok := f.(history.Restart)
	if !ok {
		return false
	}
	p := c.process(r.Process)
	return p.crashed && !p.revived && p.proxy != nil
}

// restart returns at once; the server starts in the background.
func (c *Cluster) restart(p *process, empty bool, id int) func() {
	if !p.crashed || p.revived || p.proxy == nil {
		return nil
	}
	p.revived = true
	c.agenda.begin()
	return func() {
		c.work.Go(func() {
			defer c.agenda.end()
			c.revive(p, empty, id)
		})
	}
}

func (c *Cluster) revive(p *process, empty bool, id int) {
	c.mu.Lock()
	crashes := p.crashes
	c.mu.Unlock()
	back := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.noteFault(history.Restart{Process: p.name, Empty: empty}, id)
	}
	if n := p.node(); n == nil {
		back()
	} else if err := n.restart(empty, back); err != nil {
		c.fail(fmt.Errorf("%s: %w", p.name, err))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bite(id)
	p.revived = false
	if p.crashes == crashes {
		p.crashed = false
		c.changed.Broadcast()
	}
}

func (c *Cluster) setClock(p *process, f history.Fault, id int) func() {
	if p.client != nil {
		return p.client.setClocks(f, id)
	}
	n := p.node()
	act := func() {
		felt, err := n.setClock(f)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil && !p.crashed {
			c.fail(fmt.Errorf("%s: %w", p.name, err))
		}
		if !felt { // it bites later, when the node uses its clock: see counts
			n.jumps = append(n.jumps, id)
		}
		c.biteIf(felt, id)
	}
	if p.paused {
		return func() { c.work.Go(act) } // a stopped server answers only when it is resumed
	}
	return act
}

// resetLink breaks every connection between two processes. The caller holds mu.
func (c *Cluster) resetLink(a, b *process) (broke bool) {
	if a.proxy == nil {
		a, b = b, a
	}
	if b.client == nil {
		return c.group != nil && c.group.resetWires(a, b)
	}
	for r := range a.proxy.relays {
		if r.client == b.client {
			r.reset()
			broke = true
		}
	}
	return broke
}

// Restore undoes every fault that can be undone, so that the rest of the run shows whether the system recovers: links heal,
// paused processes resume, crashed servers restart with the keys that they kept. It is recorded, but is not a fault itself.
func (c *Cluster) Restore() {
	var acts sync.WaitGroup
	c.mu.Lock()
	c.noteFault(history.Heal{}, 0)
	c.links.Disarm()
	c.links.Inject(history.Heal{}, 0, c.effects())
	for _, name := range slices.Sorted(maps.Keys(c.processes)) {
		p := c.processes[name]
		if p.paused {
			c.noteFault(history.Resume{Process: name}, 0)
			if _, act := c.resume(p); act != nil {
				acts.Go(act)
			}
		}
		if p.crashed && !p.revived && p.proxy != nil {
			acts.Go(func() { c.revive(p, false, 0) })
		}
	}
	c.mu.Unlock()
	acts.Wait()
}
