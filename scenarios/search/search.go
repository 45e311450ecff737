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
	Calm *script.Scenario // with one run, as from [Shape.Calm], in which nothing goes wrong
	// Lock replaces the lock that Calm names; the default is that lock.
	Lock     string
	Seed     uint64        // of the calm run; default 1
	Kinds    []script.Kind // of perturbations; default all
	Restless bool          // as in [Case]
	// Reference, if not nil, is compared with the lock: a violation that it has, too, is not in Found, but in Shared.
	Reference *Reference
	// Properties are the properties whose violations the search looks for; default all.
	Properties []checker.Property
	// Workers is the number of worker processes; default one per core.
	Workers int
	// First ends the search with the first violation.
	First bool
	// most limits the work at depth 1: to about so many events, as many as the calm run has for each plan. Of more plans only a
	// part is played. The default is no limit.
	most int
	// yields makes a run that waits for a mutex an error, because all runs are then repeated with guests.
	yields bool
	// Fixed says that perturbations have the magnitudes of [Sites], as those of scenarios.Explore do, and not those of [Ordered].
	Fixed bool
	// Shard is what is played of the plans with the most perturbations, and of the walks; default all. All other plans are played: which
	// plans have more perturbations follows from them.
	Shard Shard
	// Progress, if set, is called now and then with the number of runs done and the number of runs known to be done in all.
	Progress func(done, known int)

	// New makes the lock if there are no workers, which find it by its name (GOOS=js); default [clients.Find].
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

// here does a job in this process, if there are no workers.
func (s *Search) here(ctx context.Context, data json.RawMessage) (workers.Outcome, error) {
	return play.PerformHere(ctx, data, play.Case{New: s.New}.Find, SearchTask)
}

// seed is the seed of the calm run.
func (s *Search) seed() uint64 { return cmp.Or(s.Seed, 1) }

func (s *Search) kinds() []script.Kind {
	if len(s.Kinds) == 0 {
		return script.Kinds()
	}
	return s.Kinds
}

// A lostWorker reports that a worker process died during a task, or took too long for it.
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

// survey plays the calm run. If it does not end, that is a finding.
func (s *Search) survey(ctx context.Context) (*Result, error) {
	y, err := s.send(ctx, &Task{Survey: &survey{}, Kinds: s.kinds()})
	if lost, ok := errors.AsType[lostWorker](err); ok && !(s.yields && lost.Mutex) {
		return &Result{Broken: []Broken{{Why: lost.Error()}}}, nil
	}
	return y, err
}

// carry is send for a task with runs that may not end. If the task is an expansion, it reports such a run, and still plays the
// others; if it is not known which run it was, one at a time.
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
		case ok && s.yields && lost.Mutex:
			return nil, err
		case ok && rest.Count == 1:
			plan, err := s.named(ctx, one)
			if err != nil {
				return nil, err
			}
			y = &Result{Broken: []Broken{{Why: lost.Error(), Plan: plan}}}
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

// named returns the plan of an expansion that has only one. A worker that dies while it plays the plan cannot say which it was.
func (s *Search) named(ctx context.Context, e Task) ([]Perturbation, error) {
	only := *e.Expand
	only.Named = true
	e.Expand = &only
	y, err := s.send(ctx, &e)
	if err != nil || len(y.Trials) == 0 {
		return only.Prefix, err
	}
	return y.Trials[0].Plan, nil
}

// add adds the result of the next part of the same task.
func (y *Result) add(z *Result) {
	y.Trials = append(y.Trials, z.Trials...)
	y.Tally.Add(z.Tally)
	if y.Unproved == nil {
		y.Unproved = z.Unproved
	}
	y.SetClocks += z.SetClocks
	y.ReadClocks += z.ReadClocks
	y.Played += z.Played
	y.Twice += z.Twice
	y.Thinned = y.Thinned || z.Thinned
	y.Differs = cmp.Or(y.Differs, z.Differs)
	y.Broken = append(y.Broken, z.Broken...)
}

// send makes a worker do a task.
func (s *Search) send(ctx context.Context, e *Task) (*Result, error) {
	run := s.Calm.Runs[0]
	e.Restless, e.Properties = s.Restless, s.Properties
	data, err := play.Case{Scenario: s.Calm, Run: run.With(cmp.Or(s.Lock, run.Lock)), Seed: s.seed()}.TaskJob(ctx, e)
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

// SendAll makes the workers do tasks, as many at once as there are workers, and calls each with the results, one after the other,
// as tasks end. It stops at the first error, of a task or of each, and at the end of ctx.
func (s *Search) SendAll(ctx context.Context, tasks []*Task, each func(i int, y *Result) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan int, len(tasks))
	for i := range tasks {
		todo <- i
	}
	close(todo)
	var hands sync.WaitGroup
	var mu sync.Mutex // held during each call
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

// WorkerCount returns how many tasks are carried out at once.
func (s *Search) WorkerCount() int {
	if s.Do == nil {
		return 1
	}
	return cmp.Or(s.Workers, runtime.GOMAXPROCS(0))
}

// errFound ends a search that looks for one violation.
var errFound = errors.New("found")

// Found is a plan that violates a property, or whose run does not end.
type Found struct {
	Trial
	Failing play.Failing // which violation is new: one of Faults
	// Broke says why the run did not end, if it did not: the lock panicked, was in a busy loop, or left goroutines behind.
	Broke string `json:",omitempty"`
}

// Firsts keeps one plan for each way to fail: the one with the fewest perturbations, and among these the earliest.
func Firsts(found []Found) []Found {
	found = slices.Clone(found)
	slices.SortStableFunc(found, compareFound)
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

// Page returns the scenario of a plan, before any reduction.
func (s *Search) Page(f Found) *script.Scenario {
	page := Perturbed(s.Calm, f.Plan)
	page.Runs = slices.Clone(page.Runs)
	page.Runs[0] = page.Runs[0].With(cmp.Or(s.Lock, page.Runs[0].Lock))
	page.Runs[0].Seed, page.Runs[0].Expect = f.Seed, f.Expect
	if !s.Restless { // a restless lock is nondeterministic
		page.Runs[0].Checksum = f.Checksum
	}
	return page
}

// Shrink makes a worker find the smallest scenario that violates the same property for the same reason. References that keep the
// property under the plan keep it in that scenario, too.
func (s *Search) Shrink(ctx context.Context, f Found, references ...*Reference) (*Counterexample, error) {
	one := *s
	one.Seed = f.Seed
	task := &shrinking{Plan: f.Plan, Failing: f.Failing}
	for _, r := range references {
		task.References = append(task.References, r.Lock)
	}
	y, err := one.send(ctx, &Task{Shrink: task})
	switch {
	case err != nil:
		return nil, err
	case y.Refused != "":
		return nil, fmt.Errorf("what was found cannot be reduced: %s", y.Refused)
	case len(y.Broken) > 0:
		return nil, fmt.Errorf("a run did not end while %s was reduced: %s", f.Failing, y.Broken[0].Why)
	}
	return y.Shrunk, nil
}
