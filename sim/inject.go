package sim

import (
	"maps"
	"slices"
	"time"

	"lockstep/sim/history"
	"lockstep/sim/link"
)

// Inject injects a fault now. Only the scheduler may call it: from [World.At] or [World.Watch]. It panics if a process does not
// exist.
func (w *World) Inject(f history.Fault) { w.inject(0, f) }

// inject is Inject for a step of the nemesis.
func (w *World) inject(step int, f history.Fault) {
	if w.branched(w.Now()) {
		return
	}
	w.hold()
	defer w.let()
	w.faults = append(w.faults, injected{fault: f, step: step})
	id := len(w.faults)
	switch f := f.(type) {
	case history.Pause:
		p := w.process(f.Process)
		w.noteFault(f, id)
		if p.pause(id) && f.For > 0 {
			n := p.pauses
			w.At(w.Now()+f.For, func() {
				if p.paused && p.pauses == n {
					w.resume(p, 0)
				}
			})
		}
	case history.Resume:
		w.resume(w.process(f.Process), id)
	case history.Crash:
		p := w.process(f.Process)
		w.noteFault(f, id)
		w.biteIf(p.crash(f), id)
	case history.Stop:
		p := w.process(f.Process)
		w.noteFault(f, id)
		w.biteIf(p.crash(f), id)
	case history.Promote:
		r := w.replica(f.Process)
		w.noteFault(f, id)
		w.biteIf(r.Promote(), id)
	case history.Follow:
		r := w.replica(f.Process)
		w.noteFault(f, id)
		w.biteIf(r.Follow(w.process(f.Primary)), id)
	case history.Restart:
		p := w.process(f.Process)
		w.noteFault(f, id)
		w.biteIf(p.restart(f.Empty), id)
	case history.Jump:
		w.noteFault(f, id)
		w.setWall(w.process(f.Process), id, f)
	case history.Slew:
		w.noteFault(f, id)
		w.setWall(w.process(f.Process), id, f)
	case history.Drift:
		p := w.process(f.Process)
		w.noteFault(f, id)
		p.clock.drift(f)
		p.clockFault(id, false)
	case history.Reset:
		w.noteFault(f, id)
		w.biteIf(w.reset(w.process(f.Link.From), w.process(f.Link.To)), id)
	default:
		if l := history.LinkOf(f); l != (history.Link{}) {
			w.process(l.From)
			w.process(l.To)
		}
		w.noteFault(f, id)
		if !w.links.Inject(f, id, w.effects()) {
			panic("sim: no such fault: " + f.String())
		}
	}
}

// Plan plans to inject a fault at true time t, or now if t has passed. [World.Run] waits for it as for a lane.
func (w *World) Plan(t time.Duration, f history.Fault) { w.PlanStep(0, t, f) }

// PlanStep is Plan for a step of the nemesis, which the history then names; see [history.Event.Step].
func (w *World) PlanStep(step int, t time.Duration, f history.Fault) {
	w.running++
	w.At(t, func() {
		w.inject(step, f)
		w.running--
	})
}

// Miss notes that the condition for the fault of a step never occurred. It counts as a fault that did not bite.
func (w *World) Miss(step int, f history.Fault) {
	w.faults = append(w.faults, injected{fault: f, step: step})
	w.noteAt(f.Target(), history.Event{Kind: history.Injected, Op: history.Missed, ID: len(w.faults), Step: step, Value: f.String(), Error: "its moment never came"})
}

func (w *World) process(name string) *Process {
	p := w.procs[name]
	if p == nil {
		panic("sim: a fault names the process " + name + ", which does not exist")
	}
	return p
}

func (w *World) replica(name string) Replica {
	r, ok := w.process(name).svc.(Replica)
	if !ok {
		panic("sim: " + name + " cannot be a replica")
	}
	return r
}

// injected is a fault of this run, and whether it has had an effect.
type injected struct {
	fault  history.Fault
	step   int // as in Event
	bitten bool
}

// noteFault adds a fault to the history, stamped with the clocks of the process that it acts on. A consequence of another fault
// has the id 0.
func (w *World) noteFault(f history.Fault, id int) {
	e := history.Event{Kind: history.Injected, Op: f.Verb(), ID: id, Value: f.String()}
	if d, ok := f.(history.Drift); ok {
		e.PPM = d.PPM
	}
	if id > 0 {
		e.Step = w.faults[id-1].step
	}
	w.noteAt(f.Target(), e)
}

// noteAt adds an event of a process or a link to the history.
func (w *World) noteAt(target string, e history.Event) {
	if p := w.procs[target]; p != nil {
		p.Note(e)
		return
	}
	e.At = w.Now()
	e.Clock = e.At
	e.Process = target
	w.note(&e)
}

// bite notes the first effect of a fault. Until a fault has bitten, a run proves nothing about it.
func (w *World) bite(id int) {
	if id == 0 || w.faults[id-1].bitten {
		return
	}
	in := &w.faults[id-1]
	in.bitten = true
	w.noteAt(in.fault.Target(), history.Event{Kind: history.Bite, ID: id, Value: in.fault.String()})
}

func (w *World) biteIf(did bool, id int) {
	if did {
		w.bite(id)
	}
}

func (w *World) resume(p *Process, id int) {
	w.noteFault(history.Resume{Process: p.Name}, id)
	w.biteIf(p.resume(), id)
}

// setWall steps or slews a wall clock.
func (w *World) setWall(p *Process, id int, f history.Fault) {
	w.mu.Lock()
	p.times = p.times.After(f, w.Now())
	w.mu.Unlock()
	p.clockFault(id, true)
}

// effects are the actions of the network when faults on its links begin or end.
func (w *World) effects() link.Effects[wire] {
	return link.Effects[wire]{Bite: w.bite, Release: func(d *direction, id int) {
		for _, p := range d.Own.kept {
			if slices.Contains(p.conn.out, p) { // otherwise it was lost in a reset
				w.bite(id)
			}
			p.held = 0
		}
		d.Own.kept = nil
		w.unpark(d)
	}}
}

// choose applies the faults that choose this message. It returns the delay that they add, and whether the message is lost.
func (w *World) choose(p *packet, d *direction) (delay time.Duration, lost bool) {
	m := link.Message{From: d.From, To: d.To, Reply: !p.conn.dialled, Word: p.word, Op: p.op}
	w.links.Choose(m, func(f history.Chosen, id int) bool {
		if p.onTime {
			return false // and the fault does not wait for another message
		}
		switch f.Action {
		case history.HoldMessage:
			p.held = id
			d.Own.kept = append(d.Own.kept, p)
		case history.DelayMessage:
			w.bite(id)
			delay += f.By
		case history.ResetMessage:
			w.bite(id)
			p.note(w, history.Drop)
			w.breakAll([]*Conn{p.conn})
			lost = true
		}
		return lost
	})
	if lost {
		return 0, true
	}
	return delay, false
}

// clockFault notes that the clocks of p are wrong. The fault bites when a clock is read; see noticed.
func (p *Process) clockFault(id int, wallOnly bool) {
	p.w.mu.Lock()
	p.clockFaults = append(p.clockFaults, clockFault{id, wallOnly})
	p.w.mu.Unlock()
	if s, ok := p.svc.(ClockWatcher); ok {
		s.ClockChanged()
	}
}

type clockFault struct {
	id       int
	wallOnly bool // the steady clock is right
}

// noticed notes that a clock of p was read. If a client reads its steady clock, a jump of the wall clock bites too: the client
// has both, and chose the one that does not show it. (That does not hold for a guest, whose runtime reads its steady clock all the
// time.) Faults do not bite a dead process, nor a client whose code under test uses package time, which no fault can change: readings by
// the code that carries out its lane do not count. The caller holds mu.
func (p *Process) noticed(wall bool) {
	if p.dead || p.isClient() && !p.reads {
		return
	}
	rest := p.clockFaults[:0]
	for _, f := range p.clockFaults {
		if f.wallOnly && !wall && (!p.isClient() || p.guest != nil) {
			rest = append(rest, f)
			continue
		}
		p.w.pendingBites = append(p.w.pendingBites, f.id)
		p.w.wake()
	}
	p.clockFaults = rest
}

// Alarm makes the scheduler call f when the wall clock of the process first shows t, even if the process is paused. There is one
// alarm: setting it again replaces it, and the zero time removes it.
func (p *Process) Alarm(t time.Time, f func()) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.IsZero() {
		w.queue.remove(&p.alarm)
		return
	}
	p.noticed(true)
	at := p.times.WallWhen(w.Now(), t.Sub(w.start))
	p.alarm.act = actionFunc(f)
	if p.alarm.index >= 0 && p.alarm.at == at {
		return // the usual case: most commands change no deadline
	}
	w.queue.remove(&p.alarm)
	p.alarm.class, p.alarm.key, p.alarm.at = classTimer, p.Name, at
	w.push(&p.alarm)
}

// Restore undoes every fault that can be undone, so that the rest of the run shows whether the system recovers: links heal,
// paused processes resume, crashed servers restart with the keys that they kept. It is recorded, but is not a fault itself.
func (w *World) Restore() {
	w.noteFault(history.Heal{}, 0)
	w.links.Disarm()
	w.links.Inject(history.Heal{}, 0, w.effects())
	for _, name := range slices.Sorted(maps.Keys(w.procs)) {
		p := w.procs[name]
		if p.paused {
			w.resume(p, 0)
		}
		if p.crashed && p.svc != nil {
			w.noteFault(history.Restart{Process: name}, 0)
			p.restart(false)
		}
	}
}
