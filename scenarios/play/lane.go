package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/scenarios/script"
)

// work carries out a lane of a client that contends for a lock with a TTL.
func work(ctx context.Context, w *clients.Worker, steps []script.Step, ttl time.Duration) {
	for _, step := range steps {
		n := 1
		if r, ok := step.(script.Repeat); ok {
			n, step = r.N, r.Step
		}
		if step == (script.Stay{}) {
			return
		}
		for i := range n {
			if i > 0 && ctx.Err() != nil {
				break // it has crashed
			}
			do(ctx, w, step, ttl)
		}
	}
	w.Exit()
}

// leftovers are what remains at the end of the lanes: locks that were not closed, and errors because of which the run proves
// nothing.
type leftovers struct {
	mu      sync.Mutex // lanes end concurrently
	workers []*clients.Worker
	errs    []string
}

// staysOn reports whether a client runs on at the end of its lane.
func staysOn(steps []script.Step) bool {
	return len(steps) > 0 && steps[len(steps)-1] == (script.Stay{})
}

// runLane carries out a lane, and then closes what its client has: the lock, then the clients to the nodes. A client that stays
// keeps them until its own end. If that is a crash or the end of the run, the lock is closed with the run: a process that is gone
// closes nothing, but the goroutines of its lock have to end.
func (l *leftovers) runLane(ctx context.Context, host clients.Host, env clients.Env, build clients.New, resource string, ttl time.Duration, steps []script.Step) {
	stays := staysOn(steps)
	defer func() {
		if stays {
			context.AfterFunc(ctx, func() { env.Close() })
			return
		}
		env.Close()
	}()
	w := clients.NewWorker(host, env, build, LockName, ttl, resource)
	defer func() {
		if stays || ctx.Err() != nil {
			l.keep(w)
			return
		}
		w.Close()
	}()
	returned := false
	defer func() {
		r := recover()
		if r == nil && !returned && ctx.Err() == nil { // a crash of the process is a Goexit too
			r = "the lock called runtime.Goexit, as t.FailNow and t.Fatal do; it must return an error instead"
		}
		if r != nil {
			panic(r)
		}
	}()
	work(ctx, w, steps, ttl)
	l.check(w)
	returned = true
}

// check keeps the error of a worker whose lock is a program that failed.
func (l *leftovers) check(w *clients.Worker) {
	if err := w.Err(); err != nil {
		l.mu.Lock()
		l.errs = append(l.errs, err.Error())
		l.mu.Unlock()
	}
}

// err returns an error if the locks of any clients failed. Which one does not depend on whose lane ended first.
func (l *leftovers) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.errs) == 0 {
		return nil
	}
	return errors.New(slices.Min(l.errs))
}

func (l *leftovers) keep(w *clients.Worker) {
	l.mu.Lock()
	l.workers = append(l.workers, w)
	l.mu.Unlock()
}

// close closes the locks while the network goes down, so that none of them waits for a reply. A lock that does not end leaves a
// goroutine behind.
func (l *leftovers) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.workers {
		go w.Close()
	}
}

func do(ctx context.Context, w *clients.Worker, step script.Step, ttl time.Duration) {
	switch step := step.(type) {
	case script.Lock:
		w.Use(step.Name)
	case script.Acquire:
		if step.Cancelled > 0 {
			var stop func()
			ctx, stop = w.CancelAfter(ctx, step.Cancelled)
			defer stop()
		}
		w.Acquire(ctx, step.TTL, step.Within, step.Every)
	case script.Extend:
		w.Extend(ctx, step.TTL)
	case script.Release:
		if step.Cancelled {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			cancel()
		}
		switch {
		case step.Oldest:
			w.ReleaseOldest(ctx)
		case step.Again:
			w.ReleaseAgain(ctx)
		default:
			w.Release(ctx)
		}
	case script.Increment:
		w.Increment(ctx, cmp.Or(step.Within, ttl))
	case script.Enter:
		w.Enter(ctx)
	case script.Write:
		w.Write(ctx, step.Value, step.Blind)
	case script.Update:
		w.Update(ctx, step.Word)
	case script.Read:
		w.Read(ctx)
	case script.Check:
		w.Check(ctx)
	case script.Pause:
		w.Pause(ctx, step.For)
	case script.Sleep:
		w.Sleep(ctx, step.For)
	case script.Until:
		w.Until(ctx, step.Time)
	default:
		panic(fmt.Sprintf("scenarios: no client can do %q", step))
	}
}
