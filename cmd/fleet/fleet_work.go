package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"lockstep/cmd/fleet/queue"
	"lockstep/reports"
)

const (
	againPause  = 500 * time.Millisecond // before a command to the queue is tried again
	lastTry     = 3 * time.Second        // for what has to be said to the queue at the end
	searchesPer = 10 * time.Second       // how often to look for searches of other builds, and for those that were forgotten
	mostPause   = 10 * time.Second       // after failures in a row
	// clocksDiffer is the smallest difference that is reported: a slow answer from the server looks like a smaller one.
	clocksDiffer = 30 * time.Second
	unfitPause   = 200 * time.Millisecond // after a shard that cannot be played here, so that others get it
	// signalDelay is how much later than its child a worker may get a signal that was sent to both.
	signalDelay = 300 * time.Millisecond
)

func newWork(f *fleetFlags) *cobra.Command {
	var slots int
	c := &cobra.Command{
		Use:   "work",
		Short: "Carry out shards of searches",
		Long: `Work carries out shards of any search in the queue, until it is interrupted. Then it ends at
once, and others carry out its shards.

It leaves shards of another build of lockstep to others, and says so. It does the same with a
search that needs WebAssembly if this machine lacks the go command or the source of Lockstep.

A shard that fails three times is set aside. The failures on all workers are counted together.
The death of a worker does not count as a failure. But a shard is also set aside once ten workers
have died while working on it.`,
		Example: `  lockstep fleet work --queue redis://queue.example:6379
  lockstep fleet work --queue rediss://queue.example --workers 4`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("workers") && slots < 1 {
				return fmt.Errorf("--workers %d: it must be at least 1", slots)
			}
			return f.work(c, slots)
		},
	}
	c.Flags().IntVar(&slots, "workers", runtime.GOMAXPROCS(0), "carry out `K` shards at once (default one per core)")
	return c
}

// worker carries out shards.
type worker struct {
	queue.Worker
	q       *queue.Queue
	program program
	room    string        // a directory for the files of shards
	slots   chan struct{} // as many as shards may be carried out at once
	log     io.Writer

	ctx    context.Context // ends when the worker shall end
	end    context.CancelCauseFunc
	busy   sync.WaitGroup
	failed atomic.Int32 // how many attempts in a row have failed
	stuck  atomic.Int32 // the number of queue operations that are failing
	active sync.Map     // the attempts under way, each with its *underWay
	mu     sync.Mutex   // for log, and for Unfit

	telling sync.Mutex // held while the queue is told about the worker
}

// underWay is a shard that is being carried out.
type underWay struct {
	queue.Search
	stop context.CancelCauseFunc
}

// errSignal says that a worker was asked to end.
var errSignal = errors.New("the worker was asked to end")

// errForgotten says that nobody wants the shards of a search any more.
var errForgotten = errors.New("the search was forgotten")

func (f *fleetFlags) work(c *cobra.Command, slots int) error {
	p, err := f.program(c.Context())
	if err != nil {
		return err
	}
	q, err := f.open(c)
	if err != nil {
		return err
	}
	inUse := false // asynq panics if the queue is closed under it
	defer func() {
		if !inUse {
			q.Close()
		}
	}()
	room, free, err := makeRoom()
	if err != nil {
		return err
	}
	defer free()
	host, _ := os.Hostname()
	w := &worker{
		Worker: queue.Worker{ID: strings.ToLower(rand.Text()[:10]), Host: host, PID: os.Getpid(), Build: p.build, Slots: slots},
		q:      q, program: p, room: room, slots: make(chan struct{}, slots), log: c.ErrOrStderr(),
	}
	w.ctx, w.end = context.WithCancelCause(context.Background())
	if err := q.SignOfLife(c.Context(), w.Worker); err != nil {
		return err
	}
	stop, shutdown, err := q.Serve(p.build, slots, w.take)
	if err != nil {
		return err
	}
	w.say("worker %s takes shards of build %s from %s, %d at once", w.ID, queue.ShortBuild(p.build), q, slots)
	if ahead, err := q.Ahead(c.Context()); err == nil { // an ACL may forbid the question, which matters little
		w.note(ahead)
	}
	go w.live()
	select {
	case <-c.Context().Done():
		w.end(errSignal)
	case <-w.ctx.Done():
	}
	// First no shard is taken any more; then those under way are given back.
	inUse = true
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		stop()
		w.busy.Wait()
		close(stopped)
		shutdown()
		close(ended)
	}()
	select {
	case <-stopped:
	case <-time.After(endDelay + 2*lastTry):
	}
	last, cancel := context.WithTimeout(context.Background(), lastTry)
	defer cancel()
	q.Leave(last, w.self())
	select {
	case <-ended:
		inUse = false
	case <-time.After(lastTry):
	}
	if err := context.Cause(w.ctx); !errors.Is(err, errSignal) {
		return err
	}
	w.say("worker %s has ended", w.ID)
	return nil
}

func (w *worker) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.log, "lockstep: "+format+"\n", args...)
}

// trouble says once that the queue does not do something, and once that everything works again. The pointer is that of whoever tries.
func (w *worker) trouble(failing *bool, err error) {
	if *failing == (err != nil) {
		return
	}
	*failing = err != nil
	switch {
	case *failing && w.stuck.Add(1) == 1:
		w.say("%v; shards under way continue, and the worker keeps trying", err)
	case !*failing && w.stuck.Add(-1) == 0:
		w.say("%s works again, and the worker goes on", w.q)
	}
}

// note says by how much the clock of this machine differs from the server's, if it is half a minute or more.
func (w *worker) note(ahead time.Duration) {
	if ahead.Abs() < clocksDiffer {
		return
	}
	than := "ahead of"
	if ahead < 0 {
		than = "behind"
	}
	w.say("the clock of this machine is %v %s that of the server; what a search finds does not depend on it", ahead.Abs().Round(time.Second), than)
}

// live gives signs of life, says which searches this worker cannot help, and stops shards of searches that were forgotten.
func (w *worker) live() {
	var lost bool
	told := map[string]bool{}
	tick := time.NewTicker(queue.Sign)
	defer tick.Stop()
	var looked time.Time
	for {
		err := w.tell(w.ctx, w.q.SignOfLife)
		if err == nil && time.Since(looked) >= searchesPer {
			looked = time.Now()
			err = w.look(told)
		}
		switch {
		case w.ctx.Err() != nil:
			return
		case err != nil && !queue.Passing(err):
			w.fatal(err)
			return
		}
		w.trouble(&lost, err)
		select {
		case <-w.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look names searches of other builds, each once, and stops shards of searches that were forgotten. Shards of a search that the queue
// has merely lost go on: the command that waits for it brings it back.
func (w *worker) look(told map[string]bool) error {
	all, err := w.q.Searches(w.ctx)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, s := range all {
		there[s.ID()] = true
		if s.Build != w.Build && !told[s.ID()] {
			told[s.ID()] = true
			w.say("search %s needs build %s, and this worker has build %s: it leaves that search to other workers", s.ID(), reports.Visible(queue.ShortBuild(s.Build)), queue.ShortBuild(w.Build))
		}
	}
	for _, value := range w.active.Range {
		one := value.(*underWay)
		if there[one.ID()] {
			continue
		}
		forgotten, err := w.q.Forgotten(w.ctx, one.Search)
		if err != nil {
			return err
		}
		if forgotten {
			one.stop(errForgotten)
		}
	}
	return nil
}

// persist tries something until it succeeds, fails for good, or the worker ends; then it tries a last time.
func (w *worker) persist(f func(context.Context) error) error {
	var failing bool
	for {
		err := f(w.ctx)
		if w.ctx.Err() == nil {
			if err != nil && !queue.Passing(err) {
				return err
			}
			w.trouble(&failing, err)
		}
		if err == nil {
			return nil
		}
		select {
		case <-w.ctx.Done():
			last, cancel := context.WithTimeout(context.Background(), lastTry)
			defer cancel()
			return f(last)
		case <-time.After(againPause):
		}
	}
}

// take carries out a shard.
func (w *worker) take(id string, shard int) {
	w.busy.Add(1)
	defer w.busy.Done()
	// asynq regards a shard as lost after an outage of half a minute, and gives out another one in its place. The first one goes on,
	// so the second one waits.
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	case <-w.ctx.Done():
	}
	attempt := queue.NewAttempt(w.ID)
	var s queue.Search
	var verdict string
	err := w.persist(func(ctx context.Context) (err error) {
		verdict, s, err = w.q.Claim(ctx, id, shard, attempt)
		return err
	})
	switch {
	case err != nil:
		w.fatal(err)
		return
	case verdict != queue.Go:
		return
	case w.ctx.Err() != nil || s.Build != w.Build:
		w.release(s, shard, attempt)
		return
	case slices.Contains(w.self().Unfit, id):
		w.giveBack(s, shard, attempt)
		select {
		case <-w.ctx.Done():
		case <-time.After(unfitPause):
		}
		return
	}
	if pause := w.carryOut(s, shard, attempt); pause > 0 {
		// If the fault is this machine's, others get the shards.
		select {
		case <-w.ctx.Done():
		case <-time.After(pause):
		}
	}
}

// carryOut carries out a shard that is claimed. It returns how long the worker shall rest, which it does after failures in a row.
func (w *worker) carryOut(s queue.Search, shard int, attempt string) (pause time.Duration) {
	begin := time.Now()
	output := &tail{}
	dir, err := os.MkdirTemp(w.room, fmt.Sprintf("%d-of-%d-", shard, s.Of))
	if err != nil {
		w.release(s, shard, attempt)
		w.fatal(err)
		return 0
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancelCause(w.ctx)
	defer stop(nil)
	w.active.Store(attempt, &underWay{s, stop})
	defer w.active.Delete(attempt)
	err = w.program.shard(ctx, s, shard, dir, output)
	if err != nil {
		select {
		case <-w.ctx.Done():
		case <-time.After(signalDelay):
		}
	}
	switch {
	case context.Cause(ctx) == errForgotten:
		w.say("shard %d of %d of search %s: stopped, because %v", shard, s.Of, s.ID(), errForgotten)
		return 0
	case w.ctx.Err() != nil && err != nil:
		w.release(s, shard, attempt)
		return 0
	case errors.Is(err, errElsewhere):
		w.refuse(s, shard, output)
		w.giveBack(s, shard, attempt)
		return 0
	case errors.Is(err, errNotStarted) || errors.Is(err, queue.ErrOtherBuild):
		w.release(s, shard, attempt)
		w.fatal(err)
		return 0
	case err != nil:
		return w.fail(s, shard, attempt, err, output)
	}
	packed, err := queue.Pack(dir)
	if err != nil {
		w.release(s, shard, attempt)
		w.fatal(err)
		return 0
	}
	var kept bool
	err = w.persist(func(ctx context.Context) (err error) {
		kept, err = w.q.Finish(ctx, s, shard, w.ID, packed)
		return err
	})
	switch {
	case err != nil:
		w.fatal(err)
		return 0
	case !kept:
		w.say("shard %d of %d of search %s: dropped, because the queue does not know the search any more", shard, s.Of, s.ID())
		return 0
	}
	w.failed.Store(0)
	w.say("shard %d of %d of search %s: done in %v", shard, s.Of, s.ID(), time.Since(begin).Round(100*time.Millisecond))
	return 0
}

func (w *worker) fail(s queue.Search, shard int, attempt string, err error, output *tail) (pause time.Duration) {
	why := queue.Aside{Worker: w.Host, Why: fmt.Sprintf("failed %d times: %v", queue.Failures, err), Output: output.String()}
	hopeless := errors.Is(err, queue.ErrTooLarge)
	if hopeless {
		why.Why = err.Error()
	}
	var verdict string
	if err := w.persist(func(ctx context.Context) (err error) {
		verdict, err = w.q.Fail(ctx, s, shard, attempt, hopeless, why)
		return err
	}); err != nil {
		w.fatal(err)
		return 0
	}
	what := "it failed"
	if verdict == queue.Apart {
		what = "it is set aside, because it failed"
	}
	w.say("shard %d of %d of search %s: %s: %v", shard, s.Of, s.ID(), what, err)
	return min(time.Duration(w.failed.Add(1)-1)*time.Second, mostPause)
}

// release gives a shard back, and says so.
func (w *worker) release(s queue.Search, shard int, attempt string) {
	if w.giveBack(s, shard, attempt) == nil {
		w.say("shard %d of %d of search %s: given back", shard, s.Of, s.ID())
	}
}

// giveBack gives a shard back. If that does not succeed, the submitter finds out that this worker has ended.
func (w *worker) giveBack(s queue.Search, shard int, attempt string) error {
	return w.persist(func(ctx context.Context) error { return w.q.Release(ctx, s, shard, attempt) })
}

// refuse notes that a search cannot be played on this machine, and says why. From now on this worker gives its shards back at once. They stay in the
// same queue as all others: one more queue would double what idle workers cost the server.
func (w *worker) refuse(s queue.Search, shard int, output *tail) {
	w.mu.Lock()
	known := slices.Contains(w.Unfit, s.ID()) // another slot of this worker was faster
	if !known {
		w.Unfit = append(w.Unfit, s.ID())
	}
	w.mu.Unlock()
	if known {
		return
	}
	why := strings.TrimPrefix(lastLine(output.String()), "lockstep: ")
	w.say("shard %d of %d of search %s: %s; the worker leaves that search to other workers", shard, s.Of, s.ID(), reports.Visible(why))
	if err := w.persist(func(ctx context.Context) error { return w.tell(ctx, w.q.Introduce) }); err != nil {
		w.fatal(err)
	}
}

// tell says something about the worker to the queue, one thing after the other: what was said last is what it keeps.
func (w *worker) tell(ctx context.Context, say func(context.Context, queue.Worker) error) error {
	w.telling.Lock()
	defer w.telling.Unlock()
	return say(ctx, w.self())
}

// self is what the worker says about itself.
func (w *worker) self() queue.Worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Worker
}

// fatal ends the worker, because of something that is not the fault of a shard.
func (w *worker) fatal(err error) {
	w.end(err)
}

const roomPattern = "lockstep-fleet-"

// makeRoom makes a directory for the files of shards, and removes those of workers that were killed.
func makeRoom() (dir string, free func(), err error) {
	old, _ := filepath.Glob(filepath.Join(os.TempDir(), roomPattern+"*", "lock"))
	for _, name := range old {
		if f, err := os.OpenFile(name, os.O_RDWR, 0); err == nil {
			if lock(f) {
				os.RemoveAll(filepath.Dir(name))
			}
			f.Close()
		}
	}
	dir, err = os.MkdirTemp("", roomPattern)
	if err != nil {
		return "", nil, fmt.Errorf("cannot make a temporary directory for the files of shards: %w; set TMPDIR to a writable directory", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "new"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", nil, err
	}
	lock(f) // before others can find it
	if err := os.Rename(f.Name(), filepath.Join(dir, "lock")); err != nil {
		return "", nil, err
	}
	return dir, func() { f.Close(); os.RemoveAll(dir) }, nil
}
