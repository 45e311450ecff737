package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/sim"
	"lockstep/sim/history"
)

// Host is the process in which a worker runs: a [sim.Process], or a real process.
type Host interface {
	Record(history.Event)                 // adds an event of this process to the history
	Doing(op string, id int, lock string) // sets the operation to which messages belong from now on, and the name of its lock
	Lease() string                        // the newest lease that this process asked for, by the tokens that it sent
	Pause(d time.Duration)                // pauses the process
	Until(t time.Duration)                // waits for an instant of true time
	Steady() time.Duration                // the reading of the steady clock since the start of the run
}

// A Worker carries out the lane of one client, and records it: the steps of the lane are its methods. Only one goroutine may use
// it.
type Worker struct {
	host     Host
	env      Env
	locker   Locker
	lock     string // name of the lock that it asks for
	ttl      time.Duration
	resource *ResourceConn
	clock    sim.Timekeeper // Env.Clock, but what the worker does with it does not count as done by the lock
	epoch    time.Time      // what that clock showed at the start of the run

	ops int
	held
	others []held        // the leases of other locks that the client has, too
	older  []held        // the leases that the client has not released, and after which it got others of the same lock
	last   held          // the lease that the client released last
	read   *string       // the last value read
	store  *redis.Client // client of the counter; made when it is needed

	slept, notBefore time.Duration // how long the lane has waited since its last operation
}

// held is a lease, with what a client knows of it.
type held struct {
	lease Lease
	of    string        // name of its lock
	since time.Time     // when it was obtained, or extended
	lasts time.Duration // how long it was to last from then
	label string
	watch *watch // of the lease, if it renews itself
	leave func() // cancels the context with which it was acquired
}

// NewWorker makes the worker of a client that contends for a lock with a TTL and uses the resource at an address.
func NewWorker(host Host, env Env, build New, lock string, ttl time.Duration, resource string) *Worker {
	return &Worker{
		host:     host,
		env:      env,
		locker:   build(env),
		lock:     lock,
		ttl:      ttl,
		resource: &ResourceConn{dial: env.Dial, addr: resource},
		clock:    sim.HarnessClock(env.Clock),
		epoch:    sim.HarnessClock(env.Clock).Now().Add(-host.Steady()),
	}
}

// Outcome classifies an operation by its error: it happened, it certainly did not happen, or the outcome is unknown. This is
// decided only here.
func Outcome(err error) history.Kind {
	switch {
	case err == nil:
		return history.OK
	case slices.ContainsFunc(definite, func(d error) bool { return errors.Is(err, d) }):
		return history.Fail
	default:
		return history.Info
	}
}

// definite lists the errors that mean that an operation certainly did not happen.
var definite = []error{
	ErrNotAcquired, ErrNotHeld, ErrNotExtended, ErrFixedTTL, ErrRejected, ErrSkipped,
	ErrNotExtender, errNoLease, errOver, errLost, errNothingRead,
}

var (
	errNoLease     = errors.New("no lease")
	errOver        = errors.New("the lease is over")
	errLost        = errors.New("the lease is lost")
	errNothingRead = errors.New("nothing was read that could be updated")
)

// CannotExtend reports whether an event says that the lock has no extension: its lease is no [Extender].
func CannotExtend(e history.Event) bool {
	return e.Op == history.Extend && e.Error == ErrNotExtender.Error()
}

// ExtendsByFixedTTL reports whether an event says that the lock cannot extend a lease by the TTL that was asked for.
func ExtendsByFixedTTL(e history.Event) bool {
	return e.Op == history.Extend && strings.Contains(e.Error, ErrFixedTTL.Error())
}

// keptError is how many bytes of the text of an error are kept. Each try of an acquire may fail with one.
const keptError = 4000

// do carries out one operation between its invocation and its outcome. f may fill in fields of the outcome.
func (w *Worker) do(e history.Event, f func(*history.Event) error) error {
	w.ops++
	e.Kind, e.ID, e.Lock = history.Invoke, w.ops, w.lock
	if w.lease != nil && e.Op != history.Acquire {
		e.Lock = w.of
	}
	e.Slept, e.NotBefore = w.slept, w.notBefore
	w.slept, w.notBefore = 0, 0
	w.host.Doing(e.Op, e.ID, e.Lock)
	w.host.Record(e)
	e.Slept, e.NotBefore, e.Within = 0, 0, 0
	err := f(&e)
	e.Kind = Outcome(err)
	if err != nil {
		e.Error = history.Shortened(err.Error(), keptError)
	}
	w.host.Record(e)
	w.host.Doing("", 0, "")
	return err
}

// Use has the client ask for the lock with another name from now on. A lease that it has still belongs to the lock for which it
// was obtained.
func (w *Worker) Use(name string) { w.lock = name }

// Acquire asks for the lock with a TTL, or, if that is zero, with the TTL of the run. It retries until it has the lock or within has passed on the steady clock; if within is zero, it
// tries once. Tries begin at multiples of every, counted from the first, unless the last try is still in progress then. If every
// is zero, it sleeps for a hundredth of the TTL between two tries. That delay is never random: a lock that needs randomness
// between clients must bring its own.
func (w *Worker) Acquire(ctx context.Context, ttl, within, every time.Duration) {
	start := w.clock.Now()
	end := start.Add(within)
	for left := within; ; {
		err := w.do(history.Event{Op: history.Acquire, TTL: ttl, Within: left}, func(e *history.Event) error { return w.acquire(ctx, e) })
		if err == nil || ctx.Err() != nil {
			return
		}
		now := w.clock.Now()
		if !now.Before(end) {
			return
		}
		pause := w.ttl / 100
		if every > 0 {
			pause = every - now.Sub(start)%every
		}
		left = max(0, end.Sub(now)-pause)
		w.Sleep(ctx, pause)
	}
}

// CancelAfter returns a context for an acquire whose caller waits for d at most. It ends d from now by the steady clock, unless
// stop is called before; a lease may outlive the call that acquired it.
func (w *Worker) CancelAfter(ctx context.Context, d time.Duration) (within context.Context, stop func()) {
	within, cancel := context.WithCancelCause(ctx)
	t := w.env.Clock.AfterFunc(d, func() {
		w.host.Record(history.Event{Kind: history.Info, Op: history.Cancel, Lock: w.lock, Value: history.Acquire})
		cancel(ErrCallerGone)
	})
	return within, func() { t.Stop() }
}

// acquire tries once. A client that has a lease keeps it if it gets no other.
func (w *Worker) acquire(ctx context.Context, e *history.Event) error {
	if w.lease == nil {
		w.label = "" // that of a lease that was lost
	}
	before := w.held
	ctx, w.leave = context.WithCancel(ctx)
	lasts := cmp.Or(e.TTL, w.ttl)
	lease, err := w.locker.Acquire(ctx, w.lock, lasts)
	if n := w.env.inUse(); n > maxInUse {
		panic(fmt.Sprintf("Acquire of %T returned with %d connections in use; it must close each connection that it takes from a client with Conn", w.locker, n))
	}
	if err != nil {
		w.leave = before.leave
		return err // the context is not cancelled: the lock may still be cleaning up
	}
	if lease == nil {
		panic(fmt.Sprintf("Acquire of %T returned neither a lease nor an error; without a lease it must return an error, which wraps clients.ErrNotAcquired if the lock was refused", w.locker))
	}
	if w.lease != nil {
		if w.of == w.lock {
			before.end()
			before.watch = nil // it has ended, and a late release must not end it again
			w.older = append(w.older, before)
		} else { // the client goes on to hold the lock of the other name
			w.others = append(w.others, before)
		}
		w.watch = nil
	}
	w.lease, w.of, w.label, w.since, w.lasts = lease, w.lock, w.host.Lease(), w.clock.Now(), lasts
	e.Lease, e.Until = w.label, w.until()
	if f, ok := lease.(Fenced); ok {
		e.Fence = f.Fence()
	}
	if k, ok := w.locker.(Keyed); ok && k.Keys() > 1 {
		e.Keys = k.Keys()
	}
	if r, ok := lease.(Renewing); ok {
		e.Renews = true
		w.watch = w.watchLease(ctx, r)
	}
	return nil
}

// lastEnd is the latest end of a lease that a history can have: sums of it are still durations. A later end means the same in any run.
const lastEnd = 100 * 365 * 24 * time.Hour

// until returns the end of the lease, by the steady clock since the start of the run; [history.NoEnd] if the lock does not say.
func (w *Worker) until() time.Duration { return w.ends(w.lease.Until()) }

// ends converts the end of a lease that a lock states.
func (w *Worker) ends(until time.Time) time.Duration {
	if until.IsZero() {
		return history.NoEnd
	}
	return min(until.Sub(w.epoch), lastEnd)
}

// drop forgets the lease without releasing it.
func (w *Worker) drop() {
	if w.lease == nil {
		return
	}
	w.end()
	w.lease, w.watch = nil, nil
}

// end ends the watch and the context of a lease.
func (h *held) end() {
	h.watch.end()
	h.leave()
}

// Release releases the lock. Without a lease it does nothing and records nothing. If the outcome is unknown, the client no longer
// has the lease, but the lock may go on with what it does for the lease, such as renewing it. Further steps are about the lease that the
// client got before, of another lock, if it has one.
func (w *Worker) Release(ctx context.Context) {
	if w.lease == nil {
		return
	}
	w.watch.end()
	w.do(history.Event{Op: history.Release, Lease: w.label}, func(*history.Event) error { return w.lease.Release(ctx) })
	w.last, w.last.watch = w.held, nil
	w.lease, w.watch, w.label = nil, nil, ""
	if n := len(w.others) - 1; n >= 0 {
		w.held, w.others = w.others[n], w.others[:n]
	}
}

// ReleaseOldest releases the oldest lease that the client has neither released nor dropped. It may be over: a handler took longer than its
// lease, and meanwhile the next handler in the same process got the lock. Further steps are about the lease that they were about before.
func (w *Worker) ReleaseOldest(ctx context.Context) {
	of := &w.older
	if len(w.others) > 0 && (len(w.older) == 0 || w.others[0].since.Before(w.older[0].since)) {
		of = &w.others
	}
	if len(*of) == 0 {
		w.Release(ctx)
		return
	}
	oldest, newest := (*of)[0], w.held
	*of = (*of)[1:]
	others := w.others
	w.held, w.others = oldest, nil
	w.Release(ctx)
	w.held, w.others = newest, others
}

// ReleaseAgain releases once more the lease that the client released last, as a function does that releases explicitly and by defer.
// Without such a lease it does nothing and records nothing. Further steps are about the lease that they were about before.
func (w *Worker) ReleaseAgain(ctx context.Context) {
	if w.last.lease == nil {
		return
	}
	held, others := w.held, w.others
	w.held, w.others = w.last, nil
	w.Release(ctx)
	w.held, w.others = held, others
}

// Extend asks for the lease to end ttl from now; if that is zero, the TTL of the run. A client that learns that its lease is over drops it.
func (w *Worker) Extend(ctx context.Context, ttl time.Duration) {
	w.do(history.Event{Op: history.Extend, Lease: w.label, TTL: ttl}, func(e *history.Event) error {
		if w.lease == nil {
			return errNoLease
		}
		l, ok := w.lease.(Extender)
		if !ok {
			return ErrNotExtender
		}
		lasts, start, before := cmp.Or(ttl, w.ttl), w.clock.Now(), w.until()
		err := l.Extend(ctx, lasts)
		switch {
		case err == nil:
			e.Until, w.since, w.lasts = w.until(), w.clock.Now(), lasts
		case errors.Is(err, ErrNotHeld):
			w.drop()
			e.Until = w.clock.Now().Sub(w.epoch) // it is over
		case (w.until() - before).Abs() > time.Millisecond: // less is what it takes to read clocks
			e.Until = w.until()
		case before == history.NoEnd && !errors.Is(err, ErrFixedTTL):
			e.Until = w.shorten(start, lasts)
		}
		return err
	})
}

// shorten has a client whose lock does not say when a lease ends assume the earlier of two ends, if it does not know whether an
// extension was carried out. It returns that end if it is the new one, and 0 otherwise. A lock that renews its leases tells it when one
// is lost.
func (w *Worker) shorten(start time.Time, lasts time.Duration) time.Duration {
	until := start.Add(lasts)
	if _, renews := w.lease.(Renewing); renews || !until.Before(w.since.Add(w.lasts)) {
		return 0
	}
	w.since, w.lasts = start, lasts
	return until.Sub(w.epoch)
}

// Check compares the end of the newest lease with the steady clock, and asks a lease that renews itself whether it is lost. If a
// lease neither says when it ends nor renews itself, the client knows only when it got it, and takes it to end a TTL later. A
// client that finds its lease over drops it, and skips the writes that follow.
func (w *Worker) Check(context.Context) {
	w.do(history.Event{Op: history.Check, Lease: w.label}, func(*history.Event) error {
		if w.lease == nil {
			return errNoLease
		}
		until := w.lease.Until()
		r, renews := w.lease.(Renewing)
		if until.IsZero() && !renews {
			until = w.since.Add(w.lasts)
		}
		if left := w.clock.Until(until); !until.IsZero() && left <= 0 {
			w.drop()
			return fmt.Errorf("%w: it ended %v ago", errOver, (-left).Round(time.Millisecond))
		}
		if renews {
			select {
			case <-r.Lost():
				w.drop()
				return errLost
			default:
			}
		}
		return nil
	})
}

// Pause pauses the process.
func (w *Worker) Pause(_ context.Context, d time.Duration) { w.host.Pause(d) }

// Sleep waits by the steady clock of the process, which keeps running.
func (w *Worker) Sleep(_ context.Context, d time.Duration) {
	w.clock.Sleep(d)
	w.slept += d
	if w.notBefore > 0 {
		w.notBefore += d
	}
}

// Until waits for an instant of true time, since the start of the run.
func (w *Worker) Until(_ context.Context, t time.Duration) {
	w.host.Until(t)
	w.notBefore = max(w.notBefore, t)
}

// Exit ends the lane: the client is gone, with all that it still held.
func (w *Worker) Exit() {
	w.drop()
	for i := range w.others {
		w.others[i].end()
	}
	w.host.Record(history.Event{Kind: history.Info, Op: history.Exit})
	w.resource.Close()
	if w.store != nil {
		w.store.Close()
	}
}

// Close closes the lock, if it is an [io.Closer].
func (w *Worker) Close() error {
	if c, ok := w.locker.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// A Program is a [Locker] whose code is a separate program, which may exit, or give an invalid answer.
type Program interface {
	Err() error // how the program failed, which makes the run prove nothing; nil if it did not
}

// Err returns how the program of the lock failed; nil if it did not, or if the lock has none.
func (w *Worker) Err() error {
	if p, ok := w.locker.(Program); ok {
		return p.Err()
	}
	return nil
}

// A watch follows a lease that renews itself.
type watch struct {
	mu    sync.Mutex
	over  bool
	ended chan struct{}
	lease Renewing
}

// watchLease records what becomes of a lease, until the worker gives it back or drops it, or its process has crashed.
func (w *Worker) watchLease(ctx context.Context, lease Renewing) *watch {
	a := &watch{ended: make(chan struct{}), lease: lease}
	label, of := w.label, w.of
	record := func(op string, until time.Duration) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.over {
			w.host.Record(history.Event{Kind: history.Info, Op: op, Lock: of, Lease: label, Until: until})
		}
	}
	lease.Notify(func(until time.Time) { record(history.Renew, w.ends(until)) })
	go func() {
		select {
		case <-lease.Lost():
			record(history.Lost, 0)
		case <-a.ended:
		case <-ctx.Done():
		}
	}()
	return a
}

// end ends the watch: nothing more is recorded. A nil watch is allowed.
func (a *watch) end() {
	if a == nil {
		return
	}
	a.lease.Notify(nil)
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	close(a.ended)
}
