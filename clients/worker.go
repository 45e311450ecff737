package clients

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockstep/sim"
)

// Host is the process that a worker runs in. [sim.Process] is one; real Redis has another.
type Host interface {
	Record(sim.Event)        // enters an event of this process into the history
	Doing(op string, id int) // says what the messages from now on belong to
	Lease() string           // the newest lease that this process asked for, by the tokens that it sent
	Pause(d time.Duration)   // stops the process
	Until(t time.Duration)   // waits for a true time
	Steady() time.Duration   // the reading of the steady clock since the start of the run
}

// A Worker does what a lane says for one client, and records it: the steps of the lane are its methods. It belongs to one
// goroutine.
type Worker struct {
	host     Host
	env      Env
	locker   Locker
	lock     string // name of the lock
	ttl      time.Duration
	resource *ResourceConn
	epoch    time.Time // what Env.Clock showed at the start of the run

	ops   int
	lease Lease
	label string
}

// NewWorker makes the worker of a client that contends for a lock with a TTL and works on the resource at an address.
func NewWorker(host Host, env Env, build New, lock string, ttl time.Duration, resource string) *Worker {
	return &Worker{
		host:     host,
		env:      env,
		locker:   build(env),
		lock:     lock,
		ttl:      ttl,
		resource: &ResourceConn{dial: env.Dial, addr: resource},
		epoch:    env.Clock.Now().Add(-host.Steady()),
	}
}

// Outcome decides what an error says about an operation: that it happened, that it certainly did not, or that nobody can
// tell. No other place decides it.
func Outcome(err error) sim.Kind {
	switch {
	case err == nil:
		return sim.OK
	case errors.Is(err, ErrNotAcquired), errors.Is(err, ErrNotHeld), errors.Is(err, ErrRejected), errors.Is(err, errNoLease), errors.Is(err, errOver):
		return sim.Fail
	default:
		return sim.Info
	}
}

var (
	errNoLease = errors.New("no lease")
	errOver    = errors.New("the lease is over")
)

// do carries out one operation between its invocation and its outcome. It may fill in what the outcome shows.
func (w *Worker) do(e sim.Event, f func(*sim.Event) error) error {
	w.ops++
	e.Kind, e.ID, e.Lock = sim.Invoke, w.ops, w.lock
	w.host.Doing(e.Op, e.ID)
	w.host.Record(e)
	err := f(&e)
	e.Kind = Outcome(err)
	if err != nil {
		e.Error = err.Error()
	}
	w.host.Record(e)
	w.host.Doing("", 0)
	return err
}

// Acquire asks for the lock. It tries again until it has the lock or within has passed on the steady clock; within zero
// means once. The delay between tries is random, one to two hundredths of the TTL.
func (w *Worker) Acquire(ctx context.Context, within time.Duration) {
	end := w.env.Clock.Now().Add(within)
	for {
		err := w.do(sim.Event{Op: sim.Acquire}, func(e *sim.Event) error { return w.acquire(ctx, e) })
		if err == nil || ctx.Err() != nil || !w.env.Clock.Now().Before(end) {
			return
		}
		unit := w.ttl / 100
		w.env.Clock.Sleep(unit + time.Duration(w.env.Rand.Int64N(int64(unit))))
	}
}

func (w *Worker) acquire(ctx context.Context, e *sim.Event) error {
	w.lease, w.label = nil, ""
	lease, err := w.locker.Acquire(ctx, w.lock, w.ttl)
	if err != nil {
		return err
	}
	w.lease, w.label = lease, w.host.Lease()
	e.Lease, e.Until = w.label, sim.NoEnd
	if until := lease.Until(); !until.IsZero() {
		e.Until = until.Sub(w.epoch)
	}
	if f, ok := lease.(Fenced); ok {
		e.Fence = f.Fence()
	}
	return nil
}

// Release gives the lock back. Without a lease there is nothing to give back, and nothing to record.
func (w *Worker) Release(ctx context.Context) {
	if w.lease == nil {
		return
	}
	w.do(sim.Event{Op: sim.Release, Lease: w.label}, func(*sim.Event) error { return w.lease.Release(ctx) })
	w.lease, w.label = nil, ""
}

// Write writes a value to the resource under the newest lease, without asking whether that is still valid: a client that
// asks may pause right after the answer (see Check).
func (w *Worker) Write(ctx context.Context, value string) {
	w.do(sim.Event{Op: sim.Write, Lease: w.label, Value: value}, func(e *sim.Event) error {
		if w.lease == nil {
			return errNoLease
		}
		req := Request{Op: sim.Write, Lock: w.lock, Lease: w.label, Value: value}
		if f, ok := w.lease.(Fenced); ok {
			req.Fence = f.Fence()
		}
		e.Fence = req.Fence
		_, err := w.resource.Do(ctx, req)
		return err
	})
}

// Read reads the resource.
func (w *Worker) Read(ctx context.Context) {
	w.do(sim.Event{Op: sim.Read, Lease: w.label}, func(e *sim.Event) (err error) {
		e.Value, err = w.resource.Do(ctx, Request{Op: sim.Read})
		return err
	})
}

// Check compares the end of the newest lease with the steady clock. A client that finds its lease over drops it: what it
// was about to write is not written.
func (w *Worker) Check(context.Context) {
	w.do(sim.Event{Op: sim.Check, Lease: w.label}, func(*sim.Event) error {
		if w.lease == nil {
			return errNoLease
		}
		until := w.lease.Until()
		if left := w.env.Clock.Until(until); !until.IsZero() && left <= 0 {
			w.lease = nil
			return fmt.Errorf("%w since %v", errOver, -left)
		}
		return nil
	})
}

// Pause stops the process.
func (w *Worker) Pause(_ context.Context, d time.Duration) { w.host.Pause(d) }

// Sleep waits by the steady clock of the process, which stays alive.
func (w *Worker) Sleep(_ context.Context, d time.Duration) { w.env.Clock.Sleep(d) }

// Until waits for a true time since the start of the run.
func (w *Worker) Until(_ context.Context, t time.Duration) { w.host.Until(t) }

// Exit is the end of the lane: the client is gone, and with it whatever it still held.
func (w *Worker) Exit() {
	w.host.Record(sim.Event{Kind: sim.Info, Op: sim.Exit})
	w.resource.Close()
}
