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
	Name  string
	w     *World
	addr  *net.TCPAddr
	svc   Service // nil for clients
	guest *Guest  // nil unless it is one

	ctx    context.Context
	cancel context.CancelFunc
	times  history.Clock // what its clocks show; guarded by World.mu
	clock  *clock
	wall   *wall

	// Set by the scheduler only.
	paused   bool
	crashed  bool
	exited   bool      // its last lane has ended: faults no longer affect it
	stays    bool      // it runs on after its last lane
	pauses   int       // how many so far, to tell them apart
	period   int       // the quiet period in which the last pause began
	caught   bool      // its code was found running in the pause
	inbox    []*item   // what arrived during the pause
	overdue  []*item   // the timers that came due during the pause
	outbound []*packet // what goroutines wrote during the pause
	pauseID  int       // the fault that paused it, until it has bitten
	lanes    int       // lanes that have not ended
	alarm    item      // of a service; set by its wall clock

	// Guarded by w.mu.
	conns    map[*Conn]bool
	timers   map[*timer]bool
	op       string // what the client is doing
	opID     int
	dead     bool // crashed, or the world was closed
	deadUses int  // uses of the network by goroutines that have outlived their crashed process

	clockFaults []clockFault // faults that have not bitten
	reads       bool         // the code under test has asked a clock of the process for the time
}

// Service is a server: code that the scheduler calls when bytes reach its process. It takes no time, must not block, and wakes
// goroutines only by what it sends. It replies with [Conn.Write].
type Service interface {
	// Open is called with each new connection.
	Open(c *Conn)
	// Receive is called with the bytes that arrive on c.
	Receive(c *Conn, data []byte)
	// Closed is called when c is gone.
	Closed(c *Conn)
	// Describe describes bytes that travel to this service or, if reply is true, from it. Descriptions appear in timelines, and
	// determine the order of messages of one instant. Tokens are random, so it shows name(token) instead.
	Describe(data []byte, reply bool, name func(token string) string) string
}

// Crasher is a [Service] that is told of crashes and stops of its process ([history.Crash], [history.Stop]), and of restarts.
type Crasher interface {
	Crash(how history.Fault)
	Restart(empty bool)
}

// Replica is a [Service] that copies another process of its kind. Both methods report whether they changed anything.
type Replica interface {
	Promote() bool
	Follow(primary *Process) bool
}

// ClockWatcher is a [Service] that is told when the wall clock of its process is set or changes its rate.
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

// Addr is the address of the process, as a literal IP:port.
func (p *Process) Addr() string { return p.addr.String() }

// Clock is the steady clock: it drifts, and its timers wait for the end of a pause, but it never jumps. It is for the code under
// test: faults of a client's clocks have no effect until that code has asked this clock, or [Process.Wall], for the time. Other
// code that needs the clock of a client uses a [HarnessClock].
func (p *Process) Clock() clockwork.Clock { return p.clock }

// Wall is the wall clock: it drifts, jumps and slews.
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
	w.push(&item{at: w.Now(), class: classFault, proc: p, act: actionFunc(func() { // proc: a paused process begins no lane
		go func() {
			defer p.ended()
			f(p.ctx)
		}()
	})})
	w.mu.Unlock()
}

// Stay has the process run on when its last lane has ended: it can be paused, and it can crash. It must be called before [Process.Go].
func (p *Process) Stay() { p.stays = true }

// ended notes the end of a lane. It goes through the queue, because only the scheduler may change the counters.
func (p *Process) ended() {
	p.w.at(0, p.Name, func() {
		if p.lanes > 0 { // otherwise the crash has ended it
			p.lanes--
			p.w.running--
			p.exited = p.lanes == 0 && !p.stays
		}
	})
}

// Doing sets the operation that the client is carrying out, on the lock with a name: messages that it sends carry the name and number of the
// operation.
func (p *Process) Doing(op string, id int, lock string) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.op, p.opID = op, id
	if op == history.Acquire {
		p.w.leases.Acquire(p.Name, id, lock)
	}
}

// Lease returns the name of the lease that the process asked for last in the operation in progress.
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

// Record adds an event of this process to the history, with the present time and clocks. Events that several goroutines record at
// one instant are ordered by operation (Event.ID); those that belong to none come last. Events of a crashed process are dropped.
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

// Note adds an event of this process to the history at once. It is for services: only the scheduler may call it.
func (p *Process) Note(e history.Event) {
	p.stamp(&e)
	p.w.note(&e)
}

// stamp sets the time, the clocks and the process of an event. The caller holds mu, or is the scheduler: nobody else sets clocks.
func (p *Process) stamp(e *history.Event) {
	e.At = p.w.Now()
	e.Clock = p.clock.reading(e.At)
	e.Wall = p.times.Wall(e.At) - e.At
	e.Process = p.Name
}

// After makes the scheduler call f after d on the steady clock of the process, which must be a service. A pause delays the call. A
// crash cancels it, and so does stop.
func (p *Process) After(d time.Duration, f func()) (stop func()) {
	t := newTimer(p.clock, nil)
	t.call = f
	t.set(d)
	return func() { t.Stop() }
}

// Connect opens a connection from one service to another. It is half open until the service is told by Open, or, if it is
// refused, by Closed. [Conn.Dialled] distinguishes it from those that others have opened.
func (p *Process) Connect(remote *Process) *Conn {
	c := newConn(p, remote)
	c.dialled, c.served = true, true
	p.w.mu.Lock()
	p.conns[c] = true
	c.send(packet{kind: syn})
	p.w.mu.Unlock()
	return c
}

// Until blocks the calling goroutine until true time t. If the process is paused then, it blocks until the end of the pause.
func (p *Process) Until(t time.Duration) {
	if !p.await(t) {
		runtime.Goexit()
	}
}

// await is Until, but returns false if the process has died.
func (p *Process) await(t time.Duration) bool {
	done := make(chan struct{})
	w := p.w
	w.mu.Lock()
	w.push(&item{at: max(t, w.Now()), class: classTimer, key: p.Name, proc: p, act: actionFunc(func() { close(done) })})
	w.mu.Unlock()
	select {
	case <-done:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// crash ends the process: its operating system closes its connections, its service determines what of its memory is left, its
// goroutines get errors, its lanes end. Bytes that it had sent still arrive; what waited for the end of a pause is lost.
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
			a.conn.peer.open = true // its operating system has accepted
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

// sorted lists the open connections by the process that they lead to. Connections to the same process have no order; all of them
// are treated alike.
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

// wakeSleepers makes all timers of a dead process tick, so that goroutines that wait only for them see that their I/O fails and
// their context is done. It does not call the functions of timers: there is no process to run them.
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
