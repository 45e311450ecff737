// Package sim is the kernel of the simulation: a world of processes with clocks, connections and timers, in which virtual time passes
// and faults strike, the same way for every run with the same seed. It knows no Redis and no locks.
package sim

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"lockstep/sim/history"
	"lockstep/sim/link"
)

// Config is what a world is made from. The zero value of a field means its default.
type Config struct {
	Seed      uint64        // every random draw of the run derives from it
	Latency   Latency       // one-way delay of a message; default 500µs to 1500µs
	MaxEvents int           // cap on delivered events; default 1,000,000
	MaxTime   time.Duration // cap on virtual time; default 1 hour
	// Reseed, if set, seeds a source that all code of this operating-system process draws from. It is called before each event once a
	// client has crashed: how often the goroutines of a crashed client still draw before they give up is up to the Go scheduler, and
	// must not change what others draw.
	Reseed func(seed int64)
}

// MaxLatency is how long a message takes at most where [Config] does not say otherwise, and no fault does.
const MaxLatency = 1500 * time.Microsecond

// Latency is the range from which the one-way delay of each message is drawn.
type Latency struct{ Min, Max time.Duration }

// A World is virtual time, a network, and the processes on it. It exists inside one bubble (see [Bubble]) and is
// driven by the goroutine that calls [World.Run]: the scheduler.
//
// The rules that make a run reproducible are these. Every byte between processes crosses the world's outbox. The
// scheduler delivers one event at a time, and only when all other goroutines are durably blocked. Processes that
// an event wakes run only after the whole event has happened. What was written in one quiet period is ordered by what it is, never by which
// goroutine came first.
type World struct {
	cfg     Config
	start   time.Time
	timer   *time.Timer // wakes the scheduler
	procs   map[string]*Process
	byAddr  map[string]*Process
	links   *link.Table[wire]
	history history.History
	now     time.Duration // true time, which stands still while the scheduler runs
	trace   trace
	events  int
	period  int // quiet periods so far
	faults  []injected
	watch   []func(history.Event)
	running int // lanes that have not ended
	cap     string
	went    *Progress

	subject *packet                   // what is being described
	naming  bool                      // tokens in it that are new get their names
	name    func(token string) string // World.nameToken, made once

	// mu guards all below, and the buffers and timers of connections and clocks. When Wait has returned, and until it may have
	// woken somebody, the scheduler is alone and needs no lock; what it did so is published when it locks mu to sleep or to wake.
	mu         sync.Mutex
	asleep     bool // the scheduler waits for its timer
	queue      queue
	seq        uint64
	outbox     []*packet
	spare      []*packet  // for the next outbox
	strays     []*Process // that wrote in a pause, onto what they had written before
	pending    []history.Event
	leases     *history.Leases
	holds      int        // the scheduler is in the middle of this many things, one inside the other
	woken      []*Conn    // whose readers wake when it is done with them
	killed     []*Process // likewise
	clientDied bool       // a client has crashed, and its goroutines may not have noticed

	warming bool // Warm is in progress
	closed  bool // Close has been called, and who waited for a clock has had time to give up

	pendingBites []int // clock faults that were noticed in this quiet period
}

// NewWorld makes an empty world. It must be called inside a bubble.
func NewWorld(cfg Config) *World {
	if cfg.Latency == (Latency{}) {
		cfg.Latency = Latency{500 * time.Microsecond, MaxLatency}
	}
	cfg.MaxEvents = cmp.Or(cfg.MaxEvents, 1_000_000)
	cfg.MaxTime = cmp.Or(cfg.MaxTime, time.Hour)
	went := &Progress{}
	Latest.Store(went)
	w := &World{
		went:   went,
		cfg:    cfg,
		start:  time.Now(),
		timer:  time.NewTimer(0),
		procs:  map[string]*Process{},
		byAddr: map[string]*Process{},
		links:  newLinks(),
		leases: history.NewLeases(),
		trace:  newTrace(),
	}
	w.name = w.nameToken
	return w
}

// Now is true time since the start of the run. (Times in a bubble have no monotonic reading, without which time.Since takes
// three times as long.)
func (w *World) Now() time.Duration { return time.Duration(time.Now().UnixNano() - w.start.UnixNano()) }

// Epoch is what every clock shows at the start of the run, unless it was set before.
func (w *World) Epoch() time.Time { return w.start }

// History is what has happened so far.
func (w *World) History() *history.History { return &w.history }

// Checksum identifies the run up to now: equal checksums mean equal traces.
func (w *World) Checksum() string { return w.trace.String() }

// Watch has f called with every event of the history, in order, by the scheduler.
func (w *World) Watch(f func(history.Event)) { w.watch = append(w.watch, f) }

// At has f called by the scheduler at true time t, or now if t has passed.
func (w *World) At(t time.Duration, f func()) { w.at(t, "", f) }

// at is At with a key for the order within an instant, for callers that are not the scheduler.
func (w *World) at(t time.Duration, key string, f func()) {
	w.mu.Lock()
	w.push(&item{at: max(t, w.Now()), class: classFault, key: key, act: actionFunc(f)})
	w.mu.Unlock()
}

// Run drives the world until every lane has ended, or a cap is hit. It may be called again after more lanes started.
func (w *World) Run() { w.runWhile(func() bool { return w.running > 0 }) }

// RunFor drives the world for d of true time, whether lanes run or not.
func (w *World) RunFor(d time.Duration) {
	over := false
	w.At(w.Now()+d, func() { over = true })
	w.runWhile(func() bool { return !over })
}

func (w *World) runWhile(more func() bool) {
	var last item // of the event in progress; a copy, because timers are used again
	joined := false
	for { // at each turn, and until it steps or flush returns true, the scheduler is alone
		if !joined || !w.wakesNobody(&last) {
			synctest.Wait()
			for w.wakeNext() {
				synctest.Wait()
			}
			w.now = w.Now()
		}
		if joined {
			if next := w.next(&last); next != nil {
				w.step(next)
				continue
			}
			joined = false
		}
		changed := w.flush()
		w.period++
		if changed {
			continue // whoever watches may have woken somebody
		}
		if w.cap != "" || !more() {
			return
		}
		if next := w.next(nil); next != nil {
			if w.clientDied && w.cfg.Reseed != nil {
				// By the trace, which repeats itself. The number of events does not: a crash closes several connections to one
				// node at once, and whether that is one event or two is up to the goroutines that had opened them.
				w.cfg.Reseed(Rand(w.cfg.Seed, "reseed", w.trace.String()+w.now.String()).Int64())
			}
			last, joined = *next, true
			w.step(next)
			continue
		}
		w.sleep()
	}
}

// wakesNobody reports whether an event is one after which every other goroutine still is durably blocked: a message to a
// service, which answers at once, if nobody watches what it does.
func (w *World) wakesNobody(it *item) bool {
	p, ok := it.act.(*packet)
	return ok && p.kind == data && p.conn.remote.svc != nil && len(w.watch) == 0
}

// next takes the next event out of the queue if its time has come; after another one, only if it joins that. It needs no
// lock: the scheduler is alone.
func (w *World) next(after *item) *item {
	it := w.queue.head()
	if it == nil || it.at > w.now || after != nil && !it.joins(after) {
		return nil
	}
	heap.Pop(&w.queue)
	return it
}

// sleep lets time go on to the next event. Timers of the code under test that are due earlier fire meanwhile; what
// they write wakes the scheduler. When its own timer fires, the Wait that follows lets those that share its instant
// run first.
func (w *World) sleep() {
	wake := w.cfg.MaxTime
	if w.now >= wake {
		w.cap = fmt.Sprintf("the cap of %v of virtual time", wake)
		return
	}
	w.mu.Lock()
	if it := w.queue.head(); it != nil {
		wake = min(wake, it.at)
	}
	w.asleep = true
	w.timer.Reset(wake - w.now)
	w.mu.Unlock()
	<-w.timer.C
}

// hold keeps asleep whom the scheduler wakes, until let. Somebody who ran while the scheduler is in the middle of a crash,
// a reset or a flush would see one part of it and not the other, and which part follows the Go scheduler. Holds nest.
func (w *World) hold() {
	w.mu.Lock()
	w.holds++
	w.mu.Unlock()
}

// let ends a hold. The last one begins to wake whom they kept asleep; see wakeNext.
func (w *World) let() {
	w.mu.Lock()
	w.holds--
	over := w.holds == 0
	w.mu.Unlock()
	if over {
		w.wakeNext()
	}
}

// wakeNext wakes those who wait for connections of one link, and reports whether there were any. The next link has its turn when they
// sleep again, and the contexts of those who were killed end when all links have had theirs. Goroutines that run side by side draw their
// delays from math/rand in an order that is up to the Go scheduler.
func (w *World) wakeNext() bool {
	w.mu.Lock()
	if len(w.woken) > 1 {
		slices.SortStableFunc(w.woken, func(a, b *Conn) int { return a.link.Compare(b.link) })
	}
	n := 0
	for ; n < len(w.woken) && w.woken[n].link == w.woken[0].link; n++ {
		w.woken[n].signal()
	}
	w.woken = slices.Delete(w.woken, 0, n)
	var killed []*Process
	if len(w.woken) == 0 {
		killed, w.killed = w.killed, nil
	}
	w.mu.Unlock()
	for _, p := range killed {
		p.cancel()
	}
	return n+len(killed) > 0
}

// step runs one event, unless it belongs to a paused process: then it waits for the resume.
func (w *World) step(it *item) {
	if p := it.proc; p != nil && p.paused {
		p.deferred(it)
		return
	}
	w.events++
	if w.events >= w.cfg.MaxEvents {
		w.cap = fmt.Sprintf("the cap of %d events", w.cfg.MaxEvents)
		return
	}
	w.went.Events.Store(int64(w.events))
	w.went.Now.Store(int64(w.now))
	w.holds++ // as hold does; the scheduler is alone
	defer w.let()
	it.act.act(w)
}

// push adds an event. The caller holds mu.
func (w *World) push(it *item) {
	it.due = it.at
	w.enqueue(it)
}

func (w *World) enqueue(it *item) {
	w.seq++
	it.seq, it.waits = w.seq, false
	heap.Push(&w.queue, it)
	w.wake()
}

// wake has the scheduler look at what there is to do, if it sleeps: while it does not, it looks anyway. To set the timer is
// cheaper than a second channel for the scheduler to wait for. The caller holds mu.
func (w *World) wake() {
	if w.asleep {
		w.timer.Reset(0)
		w.asleep = false
	}
}

// note enters an event into the history at once. Only the scheduler may call it.
func (w *World) note(e *history.Event) {
	w.trace.event(e)
	if all := &w.history.Events; len(*all) == cap(*all) {
		*all = slices.Grow(*all, max(256, len(*all))) // events are large: append would copy them more often
	}
	w.history.Events = append(w.history.Events, *e)
	for _, f := range w.watch {
		f(*e)
	}
}

// flush puts what was recorded and written in the quiet period just ended into its order. It reports whether anything
// entered the history, because then those who watch it may have done anything.
func (w *World) flush() bool {
	w.asleep = false // no lock is needed for that, and what follows: the scheduler is alone
	records, packets, bites, strays := w.pending, w.outbox, w.pendingBites, w.strays
	if len(records)+len(packets)+len(bites)+len(strays) == 0 {
		return false
	}
	w.pending, w.outbox, w.pendingBites, w.strays = nil, w.spare[:0], nil, nil
	w.holds++
	defer w.let()
	before := len(w.history.Events)
	slices.Sort(bites)
	for _, id := range bites {
		w.bite(id)
	}

	if len(records) > 1 {
		slices.SortStableFunc(records, compareRecords)
	}
	for i := range records {
		if p := w.procs[records[i].Process]; p.paused {
			p.ranOn()
		}
		w.note(&records[i])
	}
	if len(packets)+len(strays) > 0 {
		w.route(packets, strays)
		clear(packets)
	}
	w.spare = packets
	return len(w.history.Events) > before
}

// compareRecords orders what was recorded at one instant: by process, by operation, an operation's invocation first.
// Events that belong to no operation, such as an exit, come last, in the order of what they say: they may come from
// any goroutine.
func compareRecords(a, b history.Event) int {
	if a.Process != b.Process || a.ID != b.ID {
		return cmp.Or(
			cmp.Compare(a.Process, b.Process),
			cmp.Compare(uint(a.ID)-1, uint(b.ID)-1), // 0 wraps around to the end
		)
	}
	if a.ID != 0 {
		return rank(a.Kind) - rank(b.Kind)
	}
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Op, b.Op),
		cmp.Compare(a.Lock, b.Lock),
		cmp.Compare(a.Lease, b.Lease),
		cmp.Compare(a.Value, b.Value),
		cmp.Compare(a.Error, b.Error),
	)
}

func rank(k history.Kind) int {
	if k == history.Invoke {
		return 0
	}
	return 1
}

// Close ends the world: connections break, contexts are cancelled, and time goes on until nobody waits for a clock any more, or
// for ten minutes. What still runs afterwards is a leak.
func (w *World) Close() {
	for _, p := range w.procs {
		p.kill()
	}
	for w.wakeNext() {
		synctest.Wait()
	}
	w.windDown(10 * time.Minute)
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	for range 10 { // what still waits for a clock would wait for long
		synctest.Wait()
		woke := false
		for _, p := range w.procs {
			woke = p.wakeSleepers() || woke
		}
		if !woke {
			break
		}
	}
	time.Sleep(time.Minute) // code that sleeps by package time wakes by itself
	synctest.Wait()
}

// windDown has the timers of dead processes tick, each when it is due, so that of two that a goroutine waits for always the
// same one comes first. A goroutine that sets new ones again and again, or waits for a ticker, gets some ticks in which to see that
// its I/O fails and its context is over.
func (w *World) windDown(limit time.Duration) {
	const most = 10 // ticks of one ticker
	end := w.Now() + limit
	ticks := map[*timer]int{}
	for range maxDeadUses {
		synctest.Wait()
		var due []*timer
		next := end
		w.mu.Lock()
		for _, p := range w.procs {
			for t := range p.timers {
				switch at := max(w.Now(), p.clock.when(t.due)); {
				case t.f != nil || t.call != nil:
					delete(p.timers, t) // there is no process to call it
				case ticks[t] == most:
				case at < next:
					due, next = []*timer{t}, at
				case at == next:
					due = append(due, t)
				}
			}
		}
		w.mu.Unlock()
		if len(due) == 0 {
			return
		}
		time.Sleep(next - w.Now())
		w.mu.Lock()
		for _, t := range due {
			p := t.clock.p
			if !p.timers[t] {
				continue // stopped meanwhile
			}
			if t.every > 0 {
				t.due += t.every
				ticks[t]++
			} else {
				delete(p.timers, t)
			}
			t.tick(t.clock.now())
		}
		w.mu.Unlock()
	}
}

// Cap says which limit ended the run before its time; empty if none did.
func (w *World) Cap() string { return w.cap }
