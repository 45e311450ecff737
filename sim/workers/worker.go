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

// workerEnv tells a process that it is a worker, and where its jobs come from and its answers go: "3,4" are two file
// descriptors, "std" are stdin and stdout, for systems on which a process inherits no others.
const workerEnv = "LOCKSTEP_WORKER"

// IsWorker reports whether this process was started by a [Supervisor] and should call [Work].
func IsWorker() bool { return os.Getenv(workerEnv) != "" }

// request is what a worker reads.
type request struct {
	Job    int             `json:"job"`
	Data   json.RawMessage `json:"data,omitempty"`
	Memory Memory          `json:"memory,omitempty"` // that the job may use
	Stacks time.Duration   `json:"stacks,omitempty"` // the job has taken this long: say why, and exit
}

// answer is what a worker writes.
type answer struct {
	Ready  bool            `json:"ready,omitempty"` // the first of all
	Job    int             `json:"job"`
	Result json.RawMessage `json:"result,omitempty"`
	Report *Report         `json:"report,omitempty"`
	Last   bool            `json:"last,omitempty"`   // the worker exits
	Notice string          `json:"notice,omitempty"` // no answer yet; see [Notify]
}

// Notify sends a text to the supervisor while a job is in progress: for example, that the job is tried again. The context must be that
// of the job. In a process that is not a worker, Notify does nothing.
func Notify(ctx context.Context, text string) {
	if w, ok := ctx.Value(workerKey{}).(*worker); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.out.Encode(answer{Notice: text}) // a supervisor that is gone ends the worker by other means
	}
}

type workerKey struct{}

// Work is the main loop of a worker: it calls do with one job after the other until the supervisor has no more, and
// sends back what do returns, as JSON. An error becomes a [Report].
//
// The context never ends. A worker is killed, not asked; and a channel from outside a bubble, which a context that can
// end would bring along, keeps the goroutines that wait for it from ever counting as quiet.
//
// A job that leaves goroutines behind ends the process too, after its report: the next one gets a fresh worker. So does one whose
// error has a method Unfit.
func Work(do func(ctx context.Context, job json.RawMessage) (any, error)) error {
	in, out, err := workerPipes(os.Getenv(workerEnv))
	if err != nil {
		return err
	}
	os.Unsetenv(workerEnv) // what a job starts is no worker
	// Ctrl-C reaches every process of the terminal. The supervisor decides what it means.
	signal.Ignore(os.Interrupt)

	w := &worker{out: json.NewEncoder(out), job: none}
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
		// Stacks mean a leak or a panic inside a bubble, and either leaves goroutines behind: the process is not fit for another job.
		var unfit interface{ Unfit() }
		a.Last = a.Report.Stacks != "" || errors.As(err, &unfit)
		return a
	}
	if a.Result, err = json.Marshal(v); err != nil {
		a.Report = failed(fmt.Errorf("sim: the result of the job is not JSON: %w", err))
	}
	return a
}

func workerPipes(spec string) (in, out *os.File, err error) {
	if spec == "std" {
		in, out = os.Stdin, os.Stdout
		os.Stdout = os.Stderr // what a library prints must not end up among the answers
		return in, out, nil
	}
	var i, o uintptr
	if _, err := fmt.Sscanf(spec, "%d,%d", &i, &o); err != nil {
		return nil, nil, errors.New("sim: this process is not a worker: only a supervisor can start one")
	}
	notInherited(i, o)
	return os.NewFile(i, "jobs"), os.NewFile(o, "answers"), nil
}

// worker is the side of the conversation that does not do the job but can speak about it.
type worker struct {
	mu  sync.Mutex // guards all below: a job is answered once
	out *json.Encoder
	job int // in progress, or none
}

const none = -1

// finish sends the answer to the job in progress.
func (w *worker) finish(a answer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.job = none
	a.Report = a.Report.bounded()
	return w.out.Encode(a)
}

// giveUp sends a report about the job in progress, and ends the process with it. It returns if the job has ended.
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

// listen reads requests. At the end of them the supervisor is done or dead, so a job in progress is of no use to anybody:
// that ends the process also where the system cannot tie its life to the supervisor's.
func (w *worker) listen(in io.Reader, jobs chan<- request) {
	defer close(jobs)
	dec := json.NewDecoder(in)
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

// overran is the report of a job that exceeds its limit of time. A world in which nothing happens while the worker watches has come to a
// stop; it watches for a part of the grace that the supervisor gives it.
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

// How often the worker looks whether anybody still runs, and how many times in a row nobody must.
const (
	lookEvery = 50 * time.Millisecond
	lookTimes = 6
)

// watch ends a job that uses too much memory, and one that can never end because its goroutines wait for a mutex in a bubble, long
// before the limit: a search that meets one in a hundred runs would otherwise do nothing but wait.
//
// In a world that goes on, some goroutine always wants the processor, whatever the machine does otherwise. Only when
// none does, several times in a row, are the stacks worth a look, and only if two dumps agree is it the end.
func (w *worker) watch() {
	samples := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/running:goroutines"}}
	gauge := newGauge()
	last, quiet, stuck := none, 0, 0
	for range time.Tick(lookEvery) {
		job := w.current()
		if limit := Memory(granted.Load()); job != none && limit > 0 && gauge.weigh() > limit {
			w.giveUp(job, gauge.report(limit))
		}
		metrics.Read(samples)
		if job != last || job == none || samples[0].Value.Kind() != metrics.KindUint64 ||
			samples[0].Value.Uint64() > 0 || samples[1].Value.Uint64() > 1 { // 1 is this one
			last, quiet, stuck = job, 0, 0
			continue
		}
		if quiet++; quiet%lookTimes != 0 {
			continue
		}
		stacks := sim.Stacks()
		d := diagnose(stacks)
		if !d.stuck() {
			stuck = 0
			continue
		}
		if stuck++; stuck == 2 {
			w.giveUp(job, &Report{Reason: "the world did not go quiet: " + d.cause(), Blocked: d.lines(), Stacks: strings.TrimSpace(stacks)})
		}
	}
}
