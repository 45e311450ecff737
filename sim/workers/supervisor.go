package workers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// Supervisor runs jobs in worker processes. So failures that a bubble cannot contain (a panic in a goroutine of a library, a busy
// loop, a concurrent map write, a mutex held across I/O, state that a library keeps for the whole process) end only one job.
//
// A worker is a process that calls [Work]. It has one processor, which suits worlds, and does one job at a time.
type Supervisor struct {
	Command func() *exec.Cmd // starts a worker, in which IsWorker is true
	Workers int              // how many at once; default one per core
	// Limit is the real time after which a worker is asked for its stacks and killed; default 20s. If a job is a JSON object with an
	// integer in the field "patience", it may take that many times Limit.
	Limit  time.Duration
	Memory Memory    // limit for all processes of a job; default 2 GB, or the limit of this process if it is a worker
	Output io.Writer // receives what workers print to stdout and stderr, up to 256 kB per job; default none
	// Notice, if set, is called with each text that a worker sends by [Notify], one call at a time.
	Notice func(text string)
	// Memo, if set, is asked before each job, and told the outcome of each that was done.
	Memo Memo
}

// A Memo remembers the outcomes of jobs. Its methods may be called concurrently.
type Memo interface {
	// Recall returns the outcome of a job, if it is known.
	Recall(job json.RawMessage) (o Outcome, known bool, err error)
	// Keep remembers the outcome of a job. An error ends the work.
	Keep(job json.RawMessage, o Outcome) error
}

// remembering returns what do returns, unless the outcome of the job is known already.
func (s *Supervisor) remembering(job json.RawMessage, do func() (Outcome, error)) (Outcome, error) {
	if s.Memo == nil {
		return do()
	}
	o, known, err := s.Memo.Recall(job)
	if known || err != nil {
		return o, err
	}
	if o, err = do(); err == nil {
		err = s.Memo.Keep(job, o)
	}
	return o, err
}

// Outcome is the outcome of a job.
type Outcome struct {
	Result any     // what [Work] got from its function
	Report *Report // why there is none
}

const (
	defaultLimit = 20 * time.Second
	startLimit   = 30 * time.Second // for a worker to report that it is one
	grace        = 2 * time.Second  // for a worker to do what it was asked before the next step
	keptOutput   = 1 << 20          // bytes kept of a worker's last output; a dump of 500 goroutines fits
	keptHead     = 1 << 16          // bytes kept of its first output
	passedOn     = 1 << 18          // bytes of a worker's output during one job that are passed to Output
)

// errSupervises is for a worker that does not call Work but Run: it would start itself for ever.
var errSupervises = errors.New("sim: this process is a worker, which has to call Work; it cannot supervise")

// Run distributes the jobs and calls done once for each, in the order in which they end, from the calling goroutine.
//
// The outcome of a job whose worker dies or exceeds the limit is a Report, and the other jobs continue with a new worker. Run
// itself fails only if ctx ends, with its error, or if a worker cannot be started. When Run returns, no worker is left.
func (s *Supervisor) Run(ctx context.Context, jobs []json.RawMessage, done func(i int, o Outcome)) error {
	if IsWorker() {
		return errSupervises
	}
	if len(jobs) == 0 {
		return ctx.Err()
	}

	parent := ctx
	ctx, cancel := context.WithCancelCause(parent)
	r := &run{Supervisor: *s, ctx: ctx, jobs: jobs, todo: make(chan int, len(jobs)), ended: make(chan ended), tasks: make(chan func())}
	r.Limit, r.Memory = cmp.Or(r.Limit, defaultLimit), s.memoryLimit()
	for i := range jobs {
		r.todo <- i
	}
	close(r.todo)

	var starter, hands sync.WaitGroup
	starter.Go(r.start)
	for range min(cmp.Or(max(s.Workers, 0), runtime.GOMAXPROCS(0)), len(jobs)) {
		hands.Go(func() {
			if err := r.work(); err != nil {
				cancel(err)
			}
		})
	}
	defer func() {
		cancel(nil)
		hands.Wait()
		close(r.tasks)
		starter.Wait()
	}()
	for range jobs {
		select {
		case e := <-r.ended:
			done(e.job, e.Outcome)
		case <-ctx.Done():
			return cmp.Or(parent.Err(), context.Cause(ctx))
		}
	}
	return nil
}

// run is one call of Run, or a pool.
type run struct {
	Supervisor
	ctx     context.Context
	jobs    []json.RawMessage
	todo    chan int
	ended   chan ended
	tasks   chan func() // for the thread that starts workers
	mu      sync.Mutex  // guards Output and Notice, and what is kept of the output
	cleaner *Cleaner    // kills the processes of locks if this process is killed; nil if there is no shell
}

type ended struct {
	job int
	Outcome
}

// start starts processes for other goroutines. On Linux a worker is killed when the thread that started it ends, which also ends
// a busy worker when the supervisor is killed. So this thread must not end before the last worker does, and must not run other
// goroutines, which might end it.
func (r *run) start() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if b, err := StartCleaner(groups); err == nil {
		r.cleaner = b
		defer b.End()
	}
	for f := range r.tasks {
		f()
	}
}

// work keeps one worker busy until no job is left.
func (r *run) work() error {
	var c *child
	defer func() {
		if c != nil {
			c.release()
		}
	}()
	for i := range r.todo {
		if r.ctx.Err() != nil {
			return nil
		}
		cancelled := false
		o, err := r.remembering(r.jobs[i], func() (Outcome, error) {
			if c == nil {
				var err error
				if c, err = r.hire(); err != nil {
					return Outcome{}, err
				}
			}
			o, err := c.do(r.ctx, i, r.jobs[i], r.limitOf(r.jobs[i]), r.Memory)
			cancelled = err != nil
			if cancelled || c.spent {
				c.kill()
				c = nil
			}
			return o, err
		})
		switch {
		case cancelled:
			return nil
		case err != nil:
			return err
		}
		select {
		case r.ended <- ended{i, o}:
		case <-r.ctx.Done():
			return nil
		}
	}
	return nil
}
