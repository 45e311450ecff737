package sim

import (
	"runtime"
	"slices"
	"time"

	"lockstep/sim/history"
)

// Pause pauses the process from one of its own goroutines, which continues after the pause.
func (p *Process) Pause(d time.Duration) {
	if !p.pauseHere(d) {
		runtime.Goexit()
	}
}

// pauseHere is Pause, but returns false if the process has died.
func (p *Process) pauseHere(d time.Duration) bool {
	done := make(chan struct{})
	w := p.w
	w.at(w.Now(), p.Name, func() {
		if p.dead {
			return
		}
		w.Inject(history.Pause{Process: p.Name, For: d})
		p.bitePause() // it stopped at least the goroutine that asked for it
		w.mu.Lock()
		w.push(&item{at: w.Now(), class: classTimer, proc: p, act: actionFunc(func() { close(done) })})
		w.mu.Unlock()
	})
	select {
	case <-done:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// pause stops the process: nothing is delivered to it, nothing that it writes is sent, its timers wait. It returns false if the
// process is not running.
func (p *Process) pause(id int) bool {
	if p.paused || p.crashed || p.exited {
		return false
	}
	p.paused, p.pauseID = true, id
	p.pauses++
	p.period, p.caught = p.w.period, false
	return true
}

func (p *Process) bitePause() {
	p.w.bite(p.pauseID)
	p.pauseID = 0
}

// ranOn notes that code of a client ran while the client was paused, which a stopped process cannot do: the code waited by
// package time, or did not wait at all. What it wrote in the quiet period in which the pause began may have come before the
// pause.
func (p *Process) ranOn() {
	if p.isClient() && !p.caught && p.w.period > p.period {
		p.caught = true
		p.Note(history.Event{Kind: history.Info, Op: history.Unpaused})
	}
}

// deferred keeps an event until the process resumes.
func (p *Process) deferred(it *item) {
	p.bitePause()
	it.due, it.waits = it.at, true
	if it.class == classDelivery {
		p.inbox = append(p.inbox, it)
	} else {
		p.overdue = append(p.overdue, it)
	}
}

// resume ends a pause: first the bytes that had arrived, in order of arrival, then the timers that came due, in order of their deadlines,
// each as an event of its own. The end of a pause that a lane gave its own process counts as a timer, too. With [Config.TimersFirst] a client
// finds its timers first.
func (p *Process) resume() bool {
	if !p.paused {
		return false
	}
	p.paused = false
	w := p.w
	w.mu.Lock()
	now := w.Now()
	if p.isClient() && slices.ContainsFunc(p.inbox, stillWaits) && slices.ContainsFunc(p.overdue, stillWaits) {
		w.eitherOrder = true
		for _, it := range p.overdue {
			if w.cfg.TimersFirst && stillWaits(it) {
				it.class = classOverdue
			}
		}
	}
	waiting := append(p.inbox, p.overdue...)
	if p.guest != nil && len(p.inbox) > 1 {
		// Its runtime looks at all its connections at once. After the first, it would find that the deadlines of the others have passed.
		waiting = append([]*item{{at: now, due: now, class: classDelivery, proc: p, waits: true, act: inOrder(p.inbox)}}, p.overdue...)
	}
	for _, it := range hangUpsAtOnce(waiting) {
		if stillWaits(it) {
			it.at = now
			w.enqueue(it)
		}
	}
	for _, it := range p.outbound {
		it.kept = false
	}
	w.outbox = append(w.outbox, p.outbound...)
	w.wake()
	w.mu.Unlock()
	p.inbox, p.overdue, p.outbound = nil, nil, nil
	return true
}

// stillWaits reports whether something that was due in a pause has been neither stopped nor reset since.
func stillWaits(it *item) bool { return it.waits }

// hangUpsAtOnce makes one event of the ends of connections that arrived at one instant: without the pause the client would have learned of them
// together; see [packet.act].
func hangUpsAtOnce(waiting []*item) (events []*item) {
	before := false
	for _, it := range waiting {
		a, ok := it.act.(*arrived)
		hangUp := ok && (a.kind == fin || a.kind == rst)
		if end := len(events) - 1; hangUp && before && it.due == events[end].due {
			all, grouped := events[end].act.(inOrder)
			if !grouped {
				all = inOrder{events[end]}
			}
			events[end] = &item{due: it.due, class: it.class, proc: it.proc, waits: true, act: append(all, it)}
		} else {
			events = append(events, it)
		}
		before = hangUp
	}
	return events
}

// inOrder does several things as one event.
type inOrder []*item

func (all inOrder) act(w *World) {
	for _, it := range all {
		if it.waits {
			it.act.act(w)
		}
	}
}
