package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"lockstep/sim"
)

// workerEnv tells a process that it is a worker, and the files for its jobs and answers: "3,4" are two file descriptors; "std"
// are stdin and stdout, for systems on which a process inherits no others.
const workerEnv = "LOCKSTEP_WORKER"

// GuestEnv is the variable, with its value, that makes a program which is compiled to WebAssembly a worker; it does not call [Work].
const GuestEnv = workerEnv + "=guest"

// IsWorker reports whether this process was started by a [Supervisor] and should call [Work].
func IsWorker() bool { return os.Getenv(workerEnv) != "" }

// request is a request to a worker.
type request struct {
	Job    int
	Data   json.RawMessage
	Memory Memory        // limit of the job
	Stacks time.Duration // the job has taken this long: report why, and exit
}

// answer is an answer of a worker.
type answer struct {
	Ready  bool // the first answer
	Job    int
	Result any
	Report *Report
	Last   bool   // the worker exits after it
	Notice string // an intermediate text; see [Notify]
}

// Notify sends a text to the supervisor while a job is in progress: for example, that the job is tried again. The context must be that
// of the job. In a process that is not a worker, Notify does nothing.
func Notify(ctx context.Context, text string) {
	if w, ok := ctx.Value(workerKey{}).(*worker); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.out.Encode(answer{Notice: text}) // if it fails, the supervisor is gone, which ends the worker in another way
	}
}

type workerKey struct{}

// Work is the main loop of a worker: it calls do with one job after the other until the supervisor has no more, and sends back
// the results of do. Both processes must have called [Register] with a value of their type, unless it is a basic one. An error becomes a
// [Report].
//
// The context never ends. A worker is killed, not asked to end; and a context that can end would bring a channel from outside
// into a bubble, so that goroutines that wait for it never counted as quiet.
//
// A job that leaves goroutines behind ends the process too, after its report: the next one gets a new worker. So does one whose
// error has a method Unfit.
func Work(do func(ctx context.Context, job json.RawMessage) (any, error)) error {
	in, out, err := workerPipes(os.Getenv(workerEnv))
	if err != nil {
		return err
	}
	os.Unsetenv(workerEnv) // processes that a job starts are not workers
	// Ctrl-C reaches every process of the terminal. The supervisor handles it.
	signal.Ignore(os.Interrupt)

	w := &worker{out: newEncoder(out), job: none}
	if err := w.out.Encode(answer{Ready: true}); err != nil {
		return err
	}
	jobs := make(chan request)
	go w.listen(in, jobs)
	go w.watch()
	ctx := context.WithValue(context.Background(), workerKey{}, w)
	for r := range jobs {
		grant(r.Memory)
		a := perform(ctx, do, r)
		if err := w.finish(a); err != nil {
			return err
		}
		if a.Last {
			os.Exit(1)
		}
	}
	return nil
}

// perform does one job.
func perform(ctx context.Context, do func(context.Context, json.RawMessage) (any, error), r request) answer {
	a := answer{Job: r.Job}
	v, err := do(ctx, r.Data)
	if err != nil {
		a.Report = failed(err)
		// Stacks mean a leak or a panic inside a bubble, both of which leave goroutines behind: the process is not fit for
		// another job.
		var unfit interface{ Unfit() }
		a.Last = a.Report.Stacks != "" || errors.As(err, &unfit)
		return a
	}
	a.Result = v
	return a
}

func workerPipes(spec string) (in, out *os.File, err error) {
	if spec == "std" {
		in, out = os.Stdin, os.Stdout
		os.Stdout = os.Stderr // output of a library must not get among the answers
		return in, out, nil
	}
	var i, o uintptr
	if _, err := fmt.Sscanf(spec, "%d,%d", &i, &o); err != nil {
		return nil, nil, errors.New("sim: this process is not a worker: only a supervisor can start one")
	}
	notInherited(i, o)
	pollable(i)
	return os.NewFile(i, "jobs"), os.NewFile(o, "answers"), nil
}

// worker reports on the job of this process from other goroutines.
type worker struct {
	mu  sync.Mutex // guards the fields below: a job is answered once
	out encoder
	job int // in progress, or none
}

const none = -1

// finish sends the answer to the job in progress.
func (w *worker) finish(a answer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.job = none
	a.Report = a.Report.bounded()
	err := w.out.Encode(a)
	if err != nil && a.Result != nil {
		return w.out.Encode(answer{Job: a.Job, Report: failed(fmt.Errorf("sim: the result of the job cannot be sent: %w", err))})
	}
	return err
}

// giveUp sends a report about the job in progress, and ends the process. It returns if the job has ended meanwhile.
func (w *worker) giveUp(job int, r *Report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.job == job {
		w.out.Encode(answer{Job: job, Report: r.bounded(), Last: true})
		os.Exit(1)
	}
}

func (w *worker) current() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.job
}

// listen reads requests. When there are no more, the supervisor is done or dead, and a job in progress is of no use: listen then
// ends the process, also on systems where the kernel does not.
func (w *worker) listen(in io.Reader, jobs chan<- request) {
	defer close(jobs)
	dec := newDecoder(in)
	for {
		var r request
		if err := dec.Decode(&r); err != nil {
			if w.current() != none {
				os.Exit(1)
			}
			return
		}
		if r.Stacks != 0 {
			if w.current() == r.Job {
				w.giveUp(r.Job, overran(r.Stacks))
			}
			continue
		}
		w.mu.Lock()
		w.job = r.Job
		w.mu.Unlock()
		jobs <- r
	}
}

// overran returns the report of a job that exceeds its time limit. It watches the world for a part of the supervisor's grace
// period: if nothing happens, the world has stopped.
func overran(limit time.Duration) *Report {
	went := sim.Latest.Load()
	if went == nil {
		return withMemory(Overdue(limit, sim.Stacks()))
	}
	before := went.Events.Load()
	time.Sleep(grace / 8)
	if sim.Latest.Load() == went && went.Events.Load() == before {
		return withMemory(Overdue(limit, sim.Stacks()))
	}
	return withMemory(stillGoing(limit, sim.Latest.Load(), sim.Stacks()))
}

// How often the worker checks whether a goroutine is running. If it finds none in a world, it looks at the stacks after lookFirst and after
// lookSecond such checks in a row. For any job, it looks at them after every lookLater such checks.
const (
	lookEvery  = 10 * time.Millisecond
	lookFirst  = 3
	lookSecond = 6
	lookLater  = 30
	lookWeigh  = 5 // after so many checks of any outcome it checks its memory, too
)

// inWorld reports whether there is a world that has not been closed. A job on real servers has none: it mostly waits, and to look at its
// stacks as often would disturb it.
func inWorld() bool {
	went := sim.Latest.Load()
	return went != nil && !went.Over.Load()
}

// watch ends a job that uses too much memory, and one that can never end because its goroutines wait for a mutex in a bubble. It
// does so long before the time limit: a search in which one run in a hundred hangs would otherwise spend its time waiting.
//
// In a world that makes progress, some goroutine always wants the processor, whatever else the machine does. If none does,
// several times in a row, watch looks at the stacks, and it ends the job only if two dumps agree.
func (w *worker) watch() {
	samples := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/running:goroutines"}}
	gauge := newGauge()
	last, quiet, stuck, look := none, 0, 0, 0
	for range time.Tick(lookEvery) {
		job := w.current()
		look++
		if limit := Memory(granted.Load()); look%lookWeigh == 0 && job != none && limit > 0 && gauge.weigh() > limit {
			w.giveUp(job, gauge.report(limit))
		}
		metrics.Read(samples)
		if job != last || job == none || samples[0].Value.Kind() != metrics.KindUint64 ||
			samples[0].Value.Uint64() > 0 || samples[1].Value.Uint64() > 1 { // 1 is this goroutine
			last, quiet, stuck = job, 0, 0
			continue
		}
		quiet++
		soon := inWorld() && (quiet == lookFirst || quiet == lookSecond)
		if !soon && quiet%lookLater != 0 {
			continue
		}
		stacks := sim.Stacks()
		d := diagnose(stacks)
		if !d.stuck() {
			stuck = 0
			continue
		}
		if stuck++; stuck == 2 {
			w.giveUp(job, &Report{Reason: "virtual time stands still: " + d.cause(), Blocked: d.lines(), Stacks: strings.TrimSpace(stacks), Mutex: true})
		}
	}
}
