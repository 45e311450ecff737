package search

import (
	"context"
	"errors"
	"sync"
	"time"

	"lockstep/scenarios/script"
)

// A Random is the result of a random search.
type Random struct {
	Strategy  Strategy      `json:"strategy"`
	Kinds     []script.Kind `json:"kinds"`
	Constants Constants     `json:"constants"`
	Found     []Found       `json:"-"` // for each way to fail, the plan with the fewest perturbations
	Shared    []Shared      `json:"-"` // what the reference violates as well
	Coverage  *Coverage     `json:"coverage"`
	Broken    int           `json:"broken"`            // walks whose last run did not end
	Played    int           `json:"played"`            // runs, without those that were repeated for comparison
	Twice     int           `json:"twice"`             // how many of them were repeated
	Differs   string        `json:"differs,omitempty"` // how the first repetition differed that did; it ended the search
	// Ended says that the search ended with the first violation, Interrupted that it is incomplete.
	Ended       bool `json:"ended,omitempty"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Inapplicable says why the calm run does not apply to the lock; then nothing was searched.
	Inapplicable string `json:"inapplicable,omitempty"`
}

// stretch is how many walks a worker makes before it reports.
const stretch = 8

// Random makes walks: starting from the calm run it draws one perturbation after the other, at sites of the run with those
// before, until something is violated or there are enough perturbations. It makes about as many runs as asked for, or, if runs is
// 0, as many as fit into span, without the time for comparisons with the reference. Which walks count depends on their seeds, not
// on which worker was faster: with a number of runs, the same search gives the same result, with any number of workers.
//
// If ctx ends, it returns the result so far, with the error of ctx.
func (s *Search) Random(ctx context.Context, strategy Strategy, runs int, span time.Duration) (*Random, error) {
	r := &Random{Strategy: strategy, Kinds: s.kinds(), Coverage: &Coverage{}}
	err := s.random(ctx, r, runs, span)
	r.Ended = errors.Is(err, errFound)
	if r.Ended || errors.Is(err, errEnough) {
		err = nil
	}
	r.Interrupted = err != nil && !errors.Is(err, ErrNotReproducible)
	r.Found = Firsts(r.Found)
	return r, err
}

// errEnough ends a search that is complete.
var errEnough = errors.New("enough")

func (s *Search) random(ctx context.Context, r *Random, runs int, span time.Duration) error {
	y, err := s.survey(ctx)
	if err != nil {
		return err
	}
	if len(y.Broken) > 0 {
		r.Found = []Found{{Trial: Trial{Seed: s.seed(), Class: Violating}, Broke: y.Broken[0].Why}}
		return nil
	}
	if r.Inapplicable = y.Inapplicable; r.Inapplicable != "" {
		return nil
	}
	r.Constants = y.Constants
	first, step := 0, 1 // of the stretches
	if s.Shard.Part > 0 {
		first, step = s.Shard.Part-1, s.Shard.Of
		runs = (runs + s.Shard.Of - 1) / s.Shard.Of
	}

	limit, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var allowed *budget
	if runs == 0 {
		allowed = newBudget(limit, span, func() { stop(errEnough) })
	}

	var mu sync.Mutex
	next, taken := first, first
	waiting := map[int]*Result{} // results that came before those with smaller numbers
	var hands sync.WaitGroup
	for range s.WorkerCount() {
		hands.Go(func() {
			for limit.Err() == nil {
				mu.Lock()
				i := next
				next += step
				mu.Unlock()
				from := s.seed() + uint64(i*stretch)
				y, err := s.walk(limit, r, walks{Strategy: r.Strategy, From: from, To: from + stretch, First: s.First && s.Reference == nil})
				mu.Lock()
				if err != nil {
					stop(err)
				} else {
					waiting[i] = y
				}
				for y := waiting[taken]; y != nil && limit.Err() == nil; y = waiting[taken] {
					delete(waiting, taken)
					taken += step
					if err := allowed.except(func() error { return r.take(ctx, y, s, runs) }); err != nil {
						stop(err)
					}
				}
				if s.Progress != nil {
					known := runs
					if runs == 0 {
						known = int(float64(r.Played) * float64(span) / float64(max(span-allowed.left(), 1)))
					}
					s.Progress(r.Played, max(known, r.Played))
				}
				mu.Unlock()
			}
		})
	}
	hands.Wait()
	return context.Cause(limit)
}

// take adds the result of a worker. The error ends the search.
func (r *Random) take(ctx context.Context, y *Result, s *Search, runs int) error {
	r.Played += y.Played
	r.Twice += y.Twice
	r.Broken += len(y.Broken)
	r.Coverage.Merge(y.Coverage)
	for _, t := range y.Trials {
		shared, worse, err := s.compare(ctx, &t, r.Shared)
		if r.Shared = shared; worse {
			r.Found = append(r.Found, Found{Trial: t})
		}
		if err != nil {
			return err
		}
	}
	for _, broken := range y.Broken {
		r.Found = append(r.Found, Found{Trial: Trial{Plan: broken.Plan, Seed: broken.Seed, Class: Violating}, Broke: broken.Why})
	}
	r.Found = Firsts(r.Found) // there may be many
	switch {
	case y.Differs != "":
		r.Differs = y.Differs
		return ErrNotReproducible
	case s.First && len(r.Found) > 0:
		return errFound
	case runs > 0 && r.Played >= runs:
		return errEnough
	}
	return nil
}

// walk makes a worker make walks. A walk whose last run does not end is reported, and the other walks are still made.
func (s *Search) walk(ctx context.Context, r *Random, w walks) (*Result, error) {
	all := &Result{Coverage: &Coverage{}}
	for alone := false; w.From != w.To; {
		one := w
		if alone {
			one.To = w.From + 1
		}
		y, err := s.send(ctx, &Task{Kinds: r.Kinds, Constants: r.Constants, Walk: &one})
		lost, ok := errors.AsType[lostWorker](err)
		switch {
		case ok && alone:
			y = &Result{Seed: w.From, Coverage: &Coverage{}, Broken: []Broken{{Why: lost.Error()}}}
		case ok: // it is not known in which
			alone = true
			continue
		case err != nil:
			return nil, err
		}
		for i := range y.Broken {
			y.Broken[i].Seed = y.Seed
		}
		all.add(y)
		all.Coverage.Merge(y.Coverage)
		w.From = one.To
		if len(y.Broken) > 0 {
			w.From = y.Seed + 1
		}
	}
	return all, nil
}

// Lines says what the search has covered and shown, in at most 98 columns.
func (r *Random) Lines() []string {
	lines := r.Coverage.Lines()
	switch {
	case r.Ended: // a search that ends with the first violation says little about how frequent violations are
		lines[0] = "ended with the first violation, after " + walksOf(r.Coverage.Walks)
	case r.Interrupted:
		lines[0] = "interrupted: " + lines[0]
	}
	return lines
}
