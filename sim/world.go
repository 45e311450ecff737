// Package sim is the kernel of the simulation: a world of processes with clocks, connections and timers, in which virtual time
// passes and faults are injected. With the same seed, every run is the same. It knows nothing of Redis or locks.
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

// Config configures a world. The zero value of a field means its default.
type Config struct {
	Seed      uint64        // every random draw of the run derives from it
	Latency   Latency       // one-way delay of a message; default 500µs to 1500µs
	MaxEvents int           // cap on delivered events; default 1,000,000
	MaxTime   time.Duration // cap on virtual time; default 1 hour
	// Reseed, if set, seeds a source from which all code of this operating-system process draws. It is called before each event
	// once a client has crashed: how often the goroutines of a crashed client still draw before they give up depends on the Go
	// scheduler, and must not change the draws of others.
	Reseed func(seed int64)
	Branch *Branch  // default: the run has none
	OnTime *Sending // a message that no fault delays, holds or loses; default: none
	// TimersFirst says that a client that resumes after a pause first finds the timers that came due, then the bytes that arrived. By default it
	// finds the bytes first. The order matters only if [World.EitherOrder] is true.
	TimersFirst bool
}

// MaxLatency is the largest one-way delay of a message by default, without faults.
const MaxLatency = 1500 * time.Microsecond

// Latency is the range from which the one-way delay of each message is drawn.
type Latency struct{ Min, Max time.Duration }

// A World is virtual time, a network, and the processes on it. It exists inside one bubble (see [Bubble]) and is driven by the
// goroutine that calls [World.Run]: the scheduler.
//
// These rules make a run reproducible. Every byte between processes crosses the world's outbox. The scheduler delivers one event
// at a time, and only when all other goroutines are durably blocked. Processes that an event wakes run only after the whole event
// has happened. What was written in one quiet period is ordered by its contents, never by which goroutine came first.
type World struct {
	cfg     Config
	start   time.Time
	timer   *time.Timer // wakes the scheduler
	procs   map[string]*Process
	byAddr  map[string]*Process
	links   *link.Table[wire]
	history history.History
	now     time.Duration // true time; it stands still while the scheduler runs
	trace   trace
	events  int
	period  int // how many quiet periods so far
	faults  []injected
	watch   []func(history.Event)
	running int // lanes that have not ended
	// Some client had both bytes and timers waiting when it resumed.
	eitherOrder bool
	cap         string
	went        *Progress

	subject *packet                   // the packet that is being described
	naming  bool                      // new tokens in it get names
	name    func(token string) string // World.nameToken, made once

	// mu guards the fields below, and the buffers and timers of connections and clocks. Between the return of Wait and the first
	// goroutine that it may have woken, the scheduler runs alone and needs no lock. What it did is published when it locks mu to
	// sleep or to wake others.
	mu         sync.Mutex
	asleep     bool // the scheduler waits for its timer
	queue      queue
	seq        uint64
	outbox     []*packet
	spare      []*packet  // for the next outbox
	strays     []*Process // that wrote during a pause, after what they had written before
	pending    []history.Event
	leases     *history.Leases
	holds      int        // how many nested holds there are
	woken      []*Conn    // whose readers wake when the holds end
	killed     []*Process // likewise
	clientDied bool       // a client has crashed, and its goroutines may not have noticed

	warming bool // Warm is in progress
	closed  bool // Close was called, and code that waited for a clock has had time to give up

	pendingBites []int // clock faults that bit in this quiet period
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
	w.planBranch()
	return w
}

// Now is true time since the start of the run. (Times in a bubble have no monotonic reading, without which time.Since takes
// three times as long.)
func (w *World) Now() time.Duration { return time.Duration(time.Now().UnixNano() - w.start.UnixNano()) }

// Epoch is what every clock shows at the start of the run, unless a fault has set it.
func (w *World) Epoch() time.Time { return w.start }

// History returns the events so far.
func (w *World) History() *history.History { return &w.history }

// Checksum identifies the run so far: equal checksums mean equal traces.
func (w *World) Checksum() string { return w.trace.String() }

// Watch makes the scheduler call f with every event of the history, in order.
func (w *World) Watch(f func(history.Event)) { w.watch = append(w.watch, f) }

// At makes the scheduler call f at true time t, or now if t has passed.
func (w *World) At(t time.Duration, f func()) { w.at(t, "", f) }

// at is At with a key for the order within an instant, for callers that are not the scheduler.
func (w *World) at(t time.Duration, key string, f func()) {
	w.mu.Lock()
	w.push(&item{at: max(t, w.Now()), class: classFault, key: key, act: actionFunc(f)})
	w.mu.Unlock()
}

// Run drives the world until every lane has ended, or a limit is reached. It may be called again after more lanes have started.
func (w *World) Run() { w.runWhile(func() bool { return w.running > 0 }) }

// RunFor drives the world for d of true time, even if no lane runs.
func (w *World) RunFor(d time.Duration) {
	over := false
	w.At(w.Now()+d, func() { over = true })
	w.runWhile(func() bool { return !over })
}

func (w *World) runWhile(more func() bool) {
	var last item // the last item of the current event; a copy, because timers are reused
	joined := false
	for { // the scheduler is alone in each iteration until it steps or flush returns true
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
			continue // a watcher may have woken a goroutine
		}
		if w.cap != "" || !more() {
			return
		}
		if next := w.next(nil); next != nil {
			if w.clientDied && w.cfg.Reseed != nil {
				// By the trace, which is reproducible. The number of events is not: a crash closes several connections to one
				// node at once, and whether that is one event or two depends on the goroutines that had opened them.
				w.cfg.Reseed(Rand(w.seed(), "reseed", w.trace.String()+w.now.String()).Int64())
			}
			last, joined = *next, true
			w.step(next)
			continue
		}
		w.sleep()
	}
}

// wakesNobody reports whether all other goroutines are still durably blocked after an event: it is a message to a service, which
// replies at once, and nobody watches.
func (w *World) wakesNobody(it *item) bool {
	p, ok := it.act.(*packet)
	return ok && p.kind == data && p.conn.remote.svc != nil && len(w.watch) == 0
}

// next removes the next event from the queue if its time has come; if after is not nil, only if it joins that. It needs no lock:
// the scheduler is alone.
func (w *World) next(after *item) *item {
	it := w.queue.head()
	if it == nil || it.at > w.now || after != nil && !it.joins(after) {
		return nil
	}
	heap.Pop(&w.queue)
	return it
}

// sleep lets time pass until the next event. Timers of the code under test that are due earlier fire meanwhile; what they write
// wakes the scheduler. When its own timer fires, the Wait that follows lets others of the same instant run first.
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

// hold defers waking goroutines until let. A goroutine that ran while the scheduler is in the middle of a crash, a reset or a
// flush would see only a part of it, and which part depends on the Go scheduler. Holds nest.
func (w *World) hold() {
	w.mu.Lock()
	w.holds++
	w.mu.Unlock()
}

// let ends a hold. The last one begins to wake the goroutines; see wakeNext.
func (w *World) let() {
	w.mu.Lock()
	w.holds--
	over := w.holds == 0
	w.mu.Unlock()
	if over {
		w.wakeNext()
	}
}

// wakeNext wakes the goroutines that wait for connections of one link, and reports whether there were any. The next link follows
// when they are blocked again, and the contexts of killed processes end after all links. Goroutines that ran concurrently would
// draw their delays from math/rand in an order that depends on the Go scheduler.
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
	w.holds++ // as in hold; the scheduler is alone
	defer w.let()
	it.act.act(w)
}

// push adds an event. The caller holds mu.
func (w *World) push(it *item) {
	it.due = it.at
	if it.class == classOverdue { // the timer has been set again, so it is no longer overdue
		it.class = classTimer
	}
	w.enqueue(it)
}

func (w *World) enqueue(it *item) {
	w.seq++
	it.seq, it.waits = w.seq, false
	heap.Push(&w.queue, it)
	w.wake()
}

// wake makes the scheduler check for work, if it is asleep: otherwise it will check anyway. Setting the timer is cheaper than a
// second channel for the scheduler to wait for. The caller holds mu.
func (w *World) wake() {
	if w.asleep {
		w.timer.Reset(0)
		w.asleep = false
	}
}

// note adds an event to the history at once. Only the scheduler may call it.
func (w *World) note(e *history.Event) {
	if e.Error != "" {
		e.Error = w.leases.Name(e.Error)
	}
	w.trace.event(e)
	if all := &w.history.Events; len(*all) == cap(*all) {
		*all = slices.Grow(*all, max(256, len(*all))) // events are large: append would copy them more often
	}
	w.history.Events = append(w.history.Events, *e)
	for _, f := range w.watch {
		f(*e)
	}
}

// flush sorts what was recorded and written in the quiet period just ended, and processes it. It reports whether events were
// added to the history, because then watchers may have done anything.
func (w *World) flush() bool {
	w.asleep = false // this and what follows need no lock: the scheduler is alone
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

// compareRecords orders events that were recorded at one instant: by process, then by operation, with its invocation first.
// Events that belong to no operation, such as an exit, come last, in the order of their contents: any goroutine may have recorded
// them.
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

// Close ends the world: connections break, contexts are cancelled, and time passes until nobody waits for a clock any more, but
// for no more than ten minutes. What still runs then is a leak.
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
	for range 10 { // code that still waits for a clock may wait for long
		synctest.Wait()
		woke := false
		for _, p := range w.procs {
			woke = p.wakeSleepers() || woke
		}
		if !woke {
			break
		}
	}
	time.Sleep(time.Minute) // code that sleeps by package time wakes now
	synctest.Wait()
	w.went.Over.Store(true)
}

// windDown makes the timers of dead processes tick, each when it is due, so that of two timers that a goroutine waits for always
// the same one fires first. A goroutine that sets new timers again and again, or waits for a ticker, gets some ticks in which to
// see that its I/O fails and its context is done.
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

// EitherOrder reports whether some client, when it resumed after a pause, could have found either bytes or timers first, because both were waiting. A real
// process nearly always finds the bytes first; on a busy machine it may be the other way round.
func (w *World) EitherOrder() bool { return w.eitherOrder }

// Cap says which limit ended the run early; empty if none did.
func (w *World) Cap() string { return w.cap }
