package clients

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/sim/history"
)

// Increment adds one to the counter. Most locks guard a plain GET and SET, so there are three operations: an acquire, which tries
// as [Worker.Acquire] does, an increment, which is skipped without a lease, and a release. With an [Incrementer] there is only
// the increment.
func (w *Worker) Increment(ctx context.Context, within time.Duration) {
	if i, ok := w.locker.(Incrementer); ok {
		w.do(history.Event{Op: history.Increment}, func(e *history.Event) error {
			n, err := i.Increment(ctx, w.counter(), CounterKey)
			if err == nil {
				e.Value = strconv.FormatInt(n, 10)
			}
			return err
		})
		return
	}
	w.drop()
	w.label = ""
	w.Acquire(ctx, 0, within, 0)
	w.do(history.Event{Op: history.Increment, Lease: w.label}, func(e *history.Event) error {
		if w.lease == nil {
			return fmt.Errorf("%w: %w", ErrSkipped, errNoLease)
		}
		n, err := w.counter().Get(ctx, CounterKey).Int64()
		if err != nil && !errors.Is(err, redis.Nil) { // a missing number is 0
			return fmt.Errorf("%w: %w", ErrSkipped, err)
		}
		e.Value = strconv.FormatInt(n+1, 10)
		return w.counter().Set(ctx, CounterKey, n+1, 0).Err()
	})
	w.Release(ctx)
}

// counter returns a client of the counter.
func (w *Worker) counter() *redis.Client {
	if w.store == nil {
		w.store = connect(w.env.Dial, w.resource.addr, nil)
	}
	return w.store
}

// Write writes a value to the resource under the newest lease, without checking whether that is still valid: a client that checks
// may pause right after the check (see Check). A check-and-set resource accepts a blind write whatever its mark.
func (w *Worker) Write(ctx context.Context, value string, blind bool) {
	w.request(ctx, history.Event{Op: history.Write, Value: value}, func() (Request, error) {
		return Request{Value: value, Blind: blind}, nil
	})
}

// Update writes what was read last, with one more word.
func (w *Worker) Update(ctx context.Context, word string) {
	w.request(ctx, history.Event{Op: history.Update, Value: word}, func() (Request, error) {
		switch {
		case w.read == nil:
			return Request{}, errNothingRead
		case *w.read == "":
			return Request{Value: word, Word: word}, nil
		}
		return Request{Value: *w.read + " " + word, Word: word}, nil
	})
}

// Enter sets the mark of a check-and-set resource to the token of the newest lease.
func (w *Worker) Enter(ctx context.Context) {
	w.request(ctx, history.Event{Op: history.Enter}, func() (Request, error) { return Request{}, nil })
}

// request changes the resource under the newest lease.
func (w *Worker) request(ctx context.Context, e history.Event, f func() (Request, error)) {
	e.Lease = w.label
	w.do(e, func(e *history.Event) error {
		if w.lease == nil {
			return errNoLease
		}
		q, err := f()
		if err != nil {
			return err
		}
		q.Op, q.Lock, q.Lease = e.Op, w.of, w.label
		if f, ok := w.lease.(Fenced); ok {
			q.Fence = f.Fence()
		}
		e.Fence = q.Fence
		_, err = w.resource.Do(ctx, q)
		return err
	})
}

// Read reads the resource.
func (w *Worker) Read(ctx context.Context) {
	w.do(history.Event{Op: history.Read, Lease: w.label}, func(e *history.Event) error {
		value, err := w.resource.Do(ctx, Request{Op: history.Read})
		if err == nil {
			e.Value, w.read = value, &value
		}
		return err
	})
}
