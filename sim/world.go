package sim

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// Config is what a world is made from. The zero value of a field means its default.
type Config struct {
	Seed      uint64        // every random draw of the run derives from it
	Latency   Latency       // one-way delay of a message; default 500µs to 1500µs
	MaxEvents int           // cap on delivered events; default 1,000,000
	MaxTime   time.Duration // cap on virtual time; default 1 hour
}

// Latency is the range from which the one-way delay of each message is drawn.
type Latency struct{ Min, Max time.Duration }

// A World is virtual time, a network, and the processes on it. It exists inside one bubble (see [Bubble]) and is
// driven by the goroutine that calls [World.Run]: the scheduler.
//
// The rules that make a run reproducible are these. Every byte between processes crosses the world's outbox. The
// scheduler delivers one event at a time, and only when all other goroutines are durably blocked. What was written in
// one quiet period is ordered by what it is, never by which goroutine came first.
type World struct {
	cfg     Config
	start   time.Time
	kick    chan struct{} // wakes the scheduler when something was written or set while it slept
	procs   map[string]*Process
	byAddr  map[string]*Process
	links   map[[2]string]*direction
	history History
	trace   trace
	events  int
	faults  []injected
	watch   []func(Event)
	chosen  []*armed
	running int // lanes that have not ended
	cap     string

	mu      sync.Mutex // guards all below, and the buffers and timers of connections and clocks
	queue   queue
	seq     uint64
	outbox  []*packet
	pending []Event
	names   map[string]string // token -> lease, in order of first sending

	pendingBites []int // clock faults that were noticed in this quiet period
}

// NewWorld makes an empty world. It must be called inside a bubble.
func NewWorld(cfg Config) *World {
	if cfg.Latency == (Latency{}) {
		cfg.Latency = Latency{500 * time.Microsecond, 1500 * time.Microsecond}
	}
	cfg.MaxEvents = cmp.Or(cfg.MaxEvents, 1_000_000)
	cfg.MaxTime = cmp.Or(cfg.MaxTime, time.Hour)
	return &World{
		cfg:    cfg,
		start:  time.Now(),
		kick:   make(chan struct{}, 1),
		procs:  map[string]*Process{},
		byAddr: map[string]*Process{},
		links:  map[[2]string]*direction{},
		names:  map[string]string{},
		trace:  newTrace(),
	}
}

// Now is true time since the start of the run.
func (w *World) Now() time.Duration { return time.Since(w.start) }

// History is what has happened so far.
func (w *World) History() *History { return &w.history }

// Checksum identifies the run up to now: equal checksums mean equal traces.
func (w *World) Checksum() string { return w.trace.String() }

// Watch has f called with every event of the history, in order, by the scheduler.
func (w *World) Watch(f func(Event)) { w.watch = append(w.watch, f) }

// At has f called by the scheduler at true time t, or now if t has passed.
func (w *World) At(t time.Duration, f func()) {
	w.mu.Lock()
	w.push(&item{at: max(t, w.Now()), class: classFault, act: actionFunc(f)})
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
	sleep := time.NewTimer(0)
	<-sleep.C
	for {
		synctest.Wait()
		w.flush()
		if w.cap != "" || !more() {
			return
		}
		w.mu.Lock()
		next, now := w.queue.head(), w.Now()
		if next != nil && next.at <= now {
			heap.Pop(&w.queue)
			w.mu.Unlock()
			w.step(next)
			continue
		}
		w.mu.Unlock()
		if now >= w.cfg.MaxTime {
			w.cap = fmt.Sprintf("the cap of %v of virtual time", w.cfg.MaxTime)
			return
		}
		wake := w.cfg.MaxTime
		if next != nil {
			wake = min(wake, next.at)
		}
		// Timers of the code under test that are due earlier fire while we sleep; what they write kicks us. When our own
		// timer fires, the Wait above lets those that share its instant run before the event does.
		sleep.Reset(wake - now)
		select {
		case <-sleep.C:
		case <-w.kick:
			if !sleep.Stop() {
				select {
				case <-sleep.C:
				default:
				}
			}
		}
	}
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
	it.act.act(w)
}

// push adds an event. The caller holds mu.
func (w *World) push(it *item) {
	w.seq++
	it.seq = w.seq
	heap.Push(&w.queue, it)
	w.wake()
}

func (w *World) wake() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// record notes an event of a process from one of its goroutines. It enters the history when the world is quiet.
func (w *World) record(e Event) {
	w.mu.Lock()
	w.pending = append(w.pending, e)
	w.mu.Unlock()
	w.wake()
}

// note enters an event into the history at once. Only the scheduler may call it.
func (w *World) note(e Event) {
	w.trace.event(&e)
	w.history.Events = append(w.history.Events, e)
	for _, f := range w.watch {
		f(e)
	}
}

// flush puts what was recorded and written in the quiet period just ended into its order.
func (w *World) flush() {
	w.mu.Lock()
	records, packets, bites := w.pending, w.outbox, w.pendingBites
	w.pending, w.outbox, w.pendingBites = nil, nil, nil
	w.mu.Unlock()
	slices.Sort(bites)
	for _, id := range bites {
		w.bite(id)
	}

	if len(records) > 1 {
		slices.SortStableFunc(records, func(a, b Event) int { return cmp.Compare(a.Process, b.Process) })
	}
	for _, e := range records {
		w.note(e)
	}
	if len(packets) > 0 {
		w.route(packets)
	}
}

// Name returns the lease that a token stands for, or "" if no client has sent it.
func (w *World) Name(token string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.names[token]
}

// Close ends the world: connections break, contexts are cancelled, sleepers wake. What still runs afterwards is a leak.
func (w *World) Close() {
	for _, p := range w.procs {
		p.kill()
	}
	synctest.Wait()
}

// Cap says which limit ended the run before its time; empty if none did.
func (w *World) Cap() string { return w.cap }
