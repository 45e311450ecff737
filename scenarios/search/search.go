package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/workers"
)

// A Search looks for plans. A plan is a set of perturbations of a calm run that makes a lock violate a property.
type Search struct {
	Calm *script.Scenario // has one run, as from [Shape.Calm], in which nothing goes wrong
	// Lock replaces the lock that Calm names; the default is that lock.
	Lock     string
	Seed     uint64 // of the calm run; default 1
	Kinds    []Kind // of perturbations; default all
	Restless bool   // as in [Case]
	// Properties are the properties whose violations the search looks for; default all.
	Properties []checker.Property
	// Workers is the number of worker processes; default one per core.
	Workers int
	// First ends the search with the first violation.
	First bool
	// Progress, if set, is called now and then with the number of runs done and the number of runs known to be done in all.
	Progress func(done, known int)

	// New makes the lock where there are no workers, which find the lock by its name (GOOS=js); default [clients.Find].
	New clients.New

	Do func(ctx context.Context, job json.RawMessage) (workers.Outcome, error) // hands a job to a worker
}

// Start makes the workers of a supervisor do the search; they must call [play.Serve]. The caller calls stop when the search is over.
func (s *Search) Start(workers *workers.Supervisor) (stop func(), err error) {
	s.Workers = cmp.Or(workers.Workers, s.Workers)
	if runtime.GOOS == "js" {
		return func() {}, nil
	}
	pool, err := workers.Start()
	if err != nil {
		return nil, err
	}
	s.Do = pool.Do
	return pool.Close, nil
}

// here does a job in this process, where there are no others.
func (s *Search) here(ctx context.Context, data json.RawMessage) (workers.Outcome, error) {
	return play.PerformHere(ctx, data, play.Case{New: s.New}.Find, SearchTask)
}

// seed is the seed of the calm run.
func (s *Search) seed() uint64 { return cmp.Or(s.Seed, 1) }

func (s *Search) kinds() []Kind {
	if len(s.Kinds) == 0 {
		return Kinds()
	}
	return s.Kinds
}

// A lostWorker says that a worker process died during a task, or took too long over it.
type lostWorker struct{ *workers.Report }

func (e lostWorker) Error() string {
	if e.Stacks == "" {
		return e.Reason
	}
	return e.Reason + "\n" + e.Stacks
}

// SearchTask is the [play.Task] of a worker that serves a search.
func SearchTask(ctx context.Context, data json.RawMessage, calm *script.Scenario, build clients.New, seed uint64) (any, error) {
	var e Task
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, err
	}
	return e.run(ctx, calm, build, seed), nil
}

// survey plays the calm run. A lock whose calm run does not end is a finding.
func (s *Search) survey(ctx context.Context) (*Result, error) {
	y, err := s.send(ctx, &Task{Survey: &survey{}})
	if lost, ok := errors.AsType[lostWorker](err); ok {
		return &Result{Broken: []Broken{{Why: lost.Error()}}}, nil
	}
	return y, err
}

// carry is send for a task in which a run may not come to its end. Where it is an expansion, that one is reported, and the
// others are played nevertheless: if nobody can tell which one it was, one at a time.
func (s *Search) carry(ctx context.Context, e *Task) (*Result, error) {
	if e.Expand == nil {
		return s.send(ctx, e)
	}
	all := &Result{}
	for rest := *e.Expand; ; {
		one := *e
		one.Expand = &rest
		y, err := s.send(ctx, &one)
		lost, ok := errors.AsType[lostWorker](err)
		switch {
		case ok && rest.Count == 1:
			y = &Result{Broken: []Broken{{Why: lost.Error(), Plan: rest.Prefix}}} // and one more, which no worker survived to report
		case ok:
			rest.Count = 1
			continue
		case err != nil:
			return nil, err
		}
		done := len(y.Trials) + y.Tally.Plans + len(y.Broken)
		all.add(y)
		if rest.From += done; done == 0 || rest.Count == 0 && len(y.Broken) == 0 {
			return all, nil
		}
	}
}

// add adds what came back from the next part of the same task.
func (y *Result) add(z *Result) {
	y.Trials = append(y.Trials, z.Trials...)
	y.Tally.Add(z.Tally)
	y.Played += z.Played
	y.Twice += z.Twice
	y.Differs = cmp.Or(y.Differs, z.Differs)
	y.Broken = append(y.Broken, z.Broken...)
}

// send has a worker do a task.
func (s *Search) send(ctx context.Context, e *Task) (*Result, error) {
	run := s.Calm.Runs[0]
	e.Restless, e.Properties = s.Restless, s.Properties
	data, err := play.Case{Scenario: s.Calm, Run: run.With(cmp.Or(s.Lock, run.Lock)), Seed: s.seed()}.TaskJob(e)
	if err != nil {
		return nil, err
	}
	do := s.Do
	if do == nil {
		do = s.here
	}
	out, err := do(ctx, data)
	switch {
	case err != nil:
		return nil, err
	case out.Report != nil:
		return nil, lostWorker{out.Report}
	}
	var y Result
	if err := play.ReadTaskResult(out, &y); err != nil {
		return nil, err
	}
	return &y, nil
}

// SendAll has the workers do tasks, as many at once as there are workers, and calls each with what comes back, one after the
// other, in the order in which they end. It stops at the first error, of a task or of each, and at the end of ctx.
func (s *Search) SendAll(ctx context.Context, tasks []*Task, each func(i int, y *Result) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan int, len(tasks))
	for i := range tasks {
		todo <- i
	}
	close(todo)
	var hands sync.WaitGroup
	var mu sync.Mutex // held around each
	for range min(s.WorkerCount(), len(tasks)) {
		hands.Go(func() {
			for i := range todo {
				if ctx.Err() != nil {
					return
				}
				y, err := s.carry(ctx, tasks[i])
				mu.Lock()
				if err == nil && ctx.Err() == nil {
					err = each(i, y)
				}
				mu.Unlock()
				if err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	hands.Wait()
	return context.Cause(ctx)
}

func (s *Search) WorkerCount() int {
	if s.Do == nil {
		return 1
	}
	return cmp.Or(s.Workers, runtime.NumCPU())
}

// errFound ends a search that looks for one violation.
var errFound = errors.New("found")

// Found is a plan that violates a property, or whose run does not come to an end.
type Found struct {
	Trial
	Failing play.Failing // what is new about it: one of Faults
	// Broke says why the run did not come to its end, if that is what is wrong: the lock panicked, spun, or left goroutines behind.
	Broke string `json:",omitempty"`
}

// Firsts keeps the first plan for each way to fail: the one with the fewest perturbations, and among these the earliest.
func Firsts(found []Found) []Found {
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(len(a.Plan), len(b.Plan)), slices.CompareFunc(a.Plan, b.Plan, Perturbation.Compare), cmp.Compare(a.Seed, b.Seed))
	})
	var kept []Found
	seen := map[play.Failing]bool{}
	broke := false
	for _, f := range found {
		if f.Broke != "" {
			if !broke {
				kept = append(kept, f)
			}
			broke = true
			continue
		}
		for _, failing := range f.Faults {
			if !seen[failing] {
				seen[failing], f.Failing = true, failing
				kept = append(kept, f)
			}
		}
	}
	return kept
}

// Page is the scenario that was found, as it was found.
func (s *Search) Page(f Found) *script.Scenario {
	page := Perturbed(s.Calm, f.Plan)
	page.Runs = slices.Clone(page.Runs)
	page.Runs[0] = page.Runs[0].With(cmp.Or(s.Lock, page.Runs[0].Lock))
	page.Runs[0].Seed, page.Runs[0].Expect = f.Seed, f.Expect
	if !s.Restless { // such a lock is nondeterministic
		page.Runs[0].Checksum = f.Checksum
	}
	return page
}

// Shrink makes a worker find the smallest scenario that violates the same property for the same reason.
func (s *Search) Shrink(ctx context.Context, f Found) (*Counterexample, error) {
	one := *s
	one.Seed = f.Seed
	y, err := one.send(ctx, &Task{Shrink: &shrinking{Plan: f.Plan, Failing: f.Failing}})
	switch {
	case err != nil:
		return nil, err
	case y.Refused != "":
		return nil, fmt.Errorf("what was found cannot be reduced: %s", y.Refused)
	case len(y.Broken) > 0:
		return nil, fmt.Errorf("a run did not come to its end while %s was reduced: %s", f.Failing, y.Broken[0].Why)
	}
	return y.Shrunk, nil
}
