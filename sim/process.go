package sim

import (
	"context"
	"net"
	"runtime"
	"time"

	"github.com/jonboulle/clockwork"

	"lockstep/sim/history"
)

// A Process is a client, a node, or the resource: something with clocks of its own that can be paused, can crash, and
// reaches others only over the network.
type Process struct {
	Name string
	w    *World
	addr *net.TCPAddr
	svc  Service // nil for clients

	ctx    context.Context
	cancel context.CancelFunc
	times  history.Clock // what its clocks show; guarded by World.mu
	clock  *clock
	wall   *wall

	// Set by the scheduler only.
	paused   bool
	crashed  bool
	exited   bool      // its last lane has ended: there is nothing left that a fault could hurt
	pauses   int       // so far, to tell the end of one from the end of another
	period   int       // the quiet period in which the last of them began
	caught   bool      // the code of the process was caught running in it
	inbox    []*item   // what arrived during the pause
	overdue  []*item   // the timers that came due during the pause
	outbound []*packet // what goroutines wrote during the pause
	pauseID  int       // the fault that paused it, until it has bitten
	lanes    int       // that have not ended
	alarm    item      // of a service, by its wall clock

	// Guarded by w.mu.
	conns    map[*Conn]bool
	timers   map[*timer]bool
	op       string // what the client is doing
	opID     int
	dead     bool // crashed, or the world was closed
	deadUses int  // uses of the network by goroutines that have outlived their crashed process

	clockFaults []clockFault // that nobody has noticed yet
	reads       bool         // the code under test has asked a clock of the process for the time
}

// Service is a server: code that the scheduler calls when bytes reach its process. It runs in no time, must not block, and
// wakes no goroutine but by what it sends. It answers with [Conn.Write].
type Service interface {
	// Open tells of a new connection.
	Open(c *Conn)
	// Receive hands over bytes that arrived on c.
	Receive(c *Conn, data []byte)
	// Closed tells that c is gone.
	Closed(c *Conn)
	// Describe renders bytes that travel to (or, if reply, from) this service, for timelines, and to put messages of one
	// instant into an order. Tokens are random, so it shows name(token) in their place.
	Describe(data []byte, reply bool, name func(token string) string) string
}

// Crasher is a [Service] that wants to know of the end of its process, which is a [history.Crash] or a [history.Stop], and of restarts.
type Crasher interface {
	Crash(how history.Fault)
	Restart(empty bool)
}

// Replica is a [Service] that copies another process of its kind. Both methods report whether they changed anything.
type Replica interface {
	Promote() bool
	Follow(primary *Process) bool
}

// ClockWatcher is a [Service] that wants to know when the wall clock of its process was set, or changed its rate.
type ClockWatcher interface{ ClockChanged() }

// Process adds a client process.
func (w *World) Process(name string) *Process { return w.addProcess(name, nil) }

// Serve adds a process that runs svc and can be dialled at its [Process.Addr].
func (w *World) Serve(name string, svc Service) *Process { return w.addProcess(name, svc) }

func (w *World) addProcess(name string, svc Service) *Process {
	if w.procs[name] != nil {
		panic("sim: two processes named " + name)
	}
	p := &Process{
		Name:   name,
		w:      w,
		svc:    svc,
		addr:   &net.TCPAddr{IP: net.IPv4(10, 0, byte((len(w.procs)+1)>>8), byte(len(w.procs)+1)), Port: 6379},
		conns:  map[*Conn]bool{},
		timers: map[*timer]bool{},
		alarm:  item{index: -1},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.times = history.Clock{Since: w.Now(), Steady: w.Now()}
	p.clock = &clock{p: p, origin: w.start}
	p.wall = &wall{clock: p.clock}
	w.procs[name] = p
	w.byAddr[p.Addr()] = p
	return p
}

// Addr is where the process listens, as a literal IP:port.
func (p *Process) Addr() string { return p.addr.String() }

// Clock is the steady clock: it drifts, and its timers wait for the end of a pause, but it never jumps. It is for the code
// under test: until that has asked it, or [Process.Wall], for the time, no fault of the clocks of a client has an effect on it.
// Whatever else needs the clock of a client uses a [HarnessClock].
func (p *Process) Clock() clockwork.Clock { return p.clock }

// Wall is the clock on the wall: it drifts, jumps and slews.
func (p *Process) Wall() clockwork.Clock { return p.wall }

// Steady is the reading of the steady clock since the start of the run.
func (p *Process) Steady() time.Duration {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return p.clock.reading(p.w.Now())
}

// WallOffset is how far the wall clock is ahead of true time.
func (p *Process) WallOffset() time.Duration {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	now := p.w.Now()
	return p.times.Wall(now) - now
}

// Go starts a lane: a goroutine of the process that [World.Run] waits for. Its context ends when the process crashes.
// Lanes begin one after the other, in the order in which they were added.
func (p *Process) Go(f func(ctx context.Context)) {
	p.lanes++
	p.exited = false
	p.w.running++
	w := p.w
	w.mu.Lock()
	w.push(&item{at: w.Now(), class: classFault, proc: p, act: actionFunc(func() { // proc: a process that is paused begins no lane
		go func() {
			defer p.ended()
			f(p.ctx)
		}()
	})})
	w.mu.Unlock()
}

// ended notes the end of a lane. It travels through the queue, because only the scheduler may touch what it counts.
func (p *Process) ended() {
	p.w.at(0, p.Name, func() {
		if p.lanes > 0 { // else the crash has ended it
			p.lanes--
			p.w.running--
			p.exited = p.lanes == 0
		}
	})
}

// Doing says what the client does from now on: messages that it sends carry the name and number of the operation.
func (p *Process) Doing(op string, id int) {
	p.w.mu.Lock()
	p.op, p.opID = op, id
	p.w.mu.Unlock()
}

// Lease is the name of the lease that the process asked for last in the operation in progress.
func (p *Process) Lease() string {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return p.w.leases.Asked(p.Name, p.acquire())
}

// acquire is the number of the acquire in progress, 0 if there is none. The caller holds mu.
func (p *Process) acquire() int {
	if p.op == history.Acquire {
		return p.opID
	}
	return 0
}

// Record enters an event of this process into the history, with the time and clocks of this moment. What several
// goroutines record at one instant enters by operation (Event.ID), and what belongs to none after that. Records of a
// crashed process are dropped.
func (p *Process) Record(e history.Event) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.dead {
		return
	}
	p.stamp(&e)
	w.pending = append(w.pending, e)
	w.wake()
}

// Note enters an event of this process into the history at once. It is for services: only the scheduler may call it.
func (p *Process) Note(e history.Event) {
	p.stamp(&e)
	p.w.note(&e)
}

// stamp fills in who and when. The caller holds mu, or is the scheduler: nobody else sets clocks.
func (p *Process) stamp(e *history.Event) {
	e.At = p.w.Now()
	e.Clock = p.clock.reading(e.At)
	e.Wall = p.times.Wall(e.At) - e.At
	e.Process = p.Name
}

// After has f called by the scheduler once d has passed on the steady clock of the process, which is a service; a pause
// puts it off, and a crash ends it. Stop takes it back.
func (p *Process) After(d time.Duration, f func()) (stop func()) {
	t := newTimer(p.clock, nil)
	t.call = f
	t.set(d)
	return func() { t.Stop() }
}

// Connect opens a connection from a service to another, which stays half open until the service is told by Open, or, if it
// is refused, by Closed. [Conn.Dialled] tells it from those that others have opened.
func (p *Process) Connect(remote *Process) *Conn {
	c := newConn(p, remote)
	c.dialled, c.served = true, true
	p.w.mu.Lock()
	p.conns[c] = true
	c.send(packet{kind: syn})
	p.w.mu.Unlock()
	return c
}

// Until blocks the calling goroutine until true time t (at once if it has passed), or longer if the process is paused.
func (p *Process) Until(t time.Duration) {
	done := make(chan struct{})
	w := p.w
	w.mu.Lock()
	w.push(&item{at: max(t, w.Now()), class: classTimer, key: p.Name, proc: p, act: actionFunc(func() { close(done) })})
	w.mu.Unlock()
	select {
	case <-done:
	case <-p.ctx.Done():
		runtime.Goexit()
	}
}

// Pause pauses the process from one of its own goroutines, which goes on when the pause is over.
func (p *Process) Pause(d time.Duration) {
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
	case <-p.ctx.Done():
		runtime.Goexit()
	}
}

// pause stops the process: nothing is delivered to it, nothing that it writes leaves, its timers wait. It reports
// false if the process does not run anyway.
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

// ranOn notes that code of a client ran while it was paused, which a process that is stopped cannot do: it waited by
// package time, or not at all. What it wrote in the quiet period in which the pause began may have come before that.
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

// resume ends a pause: first the bytes that had arrived, in order of arrival, then the timers that came due, in order
// of their deadlines, each as an event of its own.
func (p *Process) resume() bool {
	if !p.paused {
		return false
	}
	p.paused = false
	w := p.w
	w.mu.Lock()
	now := w.Now()
	for _, it := range append(p.inbox, p.overdue...) {
		if it.waits { // else it was stopped, or set anew
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

// crash ends the process: its operating system closes its connections, its memory is gone as far as its service says
// so, its goroutines get errors, its lanes are over. Bytes that it had sent still arrive; what waited for the end of
// a pause is lost.
func (p *Process) crash(how history.Fault) bool {
	if p.crashed || p.exited {
		return false
	}
	w := p.w
	inbox := p.inbox
	p.crashed, p.paused = true, false
	p.inbox, p.overdue, p.outbound = nil, nil, nil
	unread := map[*Conn]bool{}
	for _, it := range inbox {
		a, ok := it.act.(*arrived)
		switch {
		case !ok:
		case a.kind == data:
			(*packet)(a).note(w, history.Drop)
			unread[a.conn.peer] = true
		case a.kind == synAck:
			w.mu.Lock()
			a.conn.peer.open = true // its operating system knows
			w.mu.Unlock()
		}
	}
	for _, c := range p.sorted() {
		w.mu.Lock()
		c.hangUp(unread[c] || len(c.in) > 0, true)
		w.mu.Unlock()
		c.closed()
	}
	w.running -= p.lanes
	p.lanes = 0
	if p.svc == nil {
		p.kill()
		return true
	}
	w.mu.Lock()
	for t := range p.timers {
		w.queue.remove(&t.item)
	}
	clear(p.timers)
	w.mu.Unlock()
	if s, ok := p.svc.(Crasher); ok {
		s.Crash(how)
	}
	return true
}

func (p *Process) restart(empty bool) bool {
	if !p.crashed || p.svc == nil {
		return false
	}
	p.crashed = false
	if s, ok := p.svc.(Crasher); ok {
		s.Restart(empty)
	}
	return true
}

// sorted lists the open connections by where they lead. Among those that lead to the same place there is no order;
// what is done to one of them is done to all.
func (p *Process) sorted() []*Conn {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return sortedConns(p.conns)
}

// kill makes every goroutine of the process stop at its next use of network, clock or context.
func (p *Process) kill() {
	w := p.w
	w.hold()
	defer w.let()
	w.mu.Lock()
	p.dead = true
	for _, c := range sortedConns(p.conns) {
		c.fail(net.ErrClosed)
	}
	for t := range p.timers {
		w.queue.remove(&t.item)
	}
	w.killed, w.clientDied = append(w.killed, p), true
	w.mu.Unlock()
	p.paused = false
}

// wakeSleepers has all timers of a dead process tick, so that goroutines that wait for them alone see that their I/O
// fails and their context is over. Functions of timers are not called: there is no process to call them.
func (p *Process) wakeSleepers() (any bool) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	shown := p.clock.origin.Add(p.clock.reading(w.Now()))
	for t := range p.timers {
		w.queue.remove(&t.item)
		if t.every == 0 {
			delete(p.timers, t)
		}
		t.tick(shown)
		any = true
	}
	return any
}

// countDeadUse counts a use of the network by a dead process. Most code gives up when its I/O fails. Goroutines of a crashed
// client that keep trying are ended here, as kill -9 would have done; after the end of a run they are a leak. The
// caller holds mu and has deferred its unlocking.
func (p *Process) countDeadUse() {
	if !p.crashed || !p.dead {
		return
	}
	if p.deadUses++; p.deadUses > maxDeadUses || p.deadUses > 10 && p.w.closed {
		runtime.Goexit()
	}
}

// maxDeadUses is how many uses of the network a dead process may make while the run goes on. A library that backs off up to a
// second between its tries and gives up after a TTL makes fewer. Ending a goroutine may leave others waiting for it for
// ever: in rueidis, those that want the connection that it is dialling.
const maxDeadUses = 1000

func (p *Process) isClient() bool { return p.svc == nil }
