package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"lockstep/checker"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/workers"
)

// RunAll is [play.RunAll] for cases whose pages may be swept.
func RunAll(ctx context.Context, s *workers.Supervisor, cases []play.Case, each func(i int, o *play.Outcome)) error {
	var plain []play.Case
	var places, swept []int
	for i, c := range cases {
		if len(c.Scenario.Sweep) > 0 {
			if !c.Elsewhere {
				swept = append(swept, i)
			}
			continue
		}
		plain, places = append(plain, c), append(places, i)
	}
	if len(plain) > 0 {
		err := play.RunAll(ctx, s, plain, func(i int, o *play.Outcome) { each(places[i], o) })
		if err != nil || len(swept) == 0 {
			return err
		}
	}
	search := Search{}
	stop, err := search.Start(s)
	if err != nil {
		return err
	}
	defer stop()
	for _, i := range swept {
		o, err := search.Sweep(ctx, cases[i])
		if err != nil {
			return err
		}
		each(i, o)
	}
	return nil
}

// Sweep plays a case whose page is swept, with the workers of s, and returns the outcome of its worst position: one that breaks
// what is claimed of the lock, or else one that proves nothing, which makes the sweep UNKNOWN, or else one that violates a property.
// If there is no such position, the outcome is that of the calm run. Like a single case, a sweep is repeated with guests if they
// may answer what it leaves open.
func (s *Search) Sweep(ctx context.Context, c play.Case) (*play.Outcome, error) {
	if c.Guests == play.GuestsAlways {
		c.Run.Guests = true
	}
	o, err := s.sweep(ctx, c)
	if err != nil {
		return nil, err
	}
	return c.AsGuests(ctx, o, func(c play.Case) (*play.Outcome, error) { return s.sweep(ctx, c) })
}

func (s *Search) sweep(ctx context.Context, c play.Case) (*play.Outcome, error) {
	calm := *c.Scenario
	run := c.Run.With(c.Run.Reference())
	calm.Lanes = c.Scenario.Resolve(run).Lanes // a perturbation of a client is a step of its lane in the scenario
	run.Lanes, run.Golden, run.Checksum = nil, "", ""
	calm.Sweep, calm.Runs = nil, []script.Section{run}
	one := *s
	one.Calm, one.Lock, one.Seed = &calm, c.Run.Lock, cmp.Or(c.Seed, run.Seed, 1)
	one.Kinds, one.Restless, one.New, one.most, one.Fixed = c.Scenario.Sweep, c.Restless && !run.Guests, c.New, sweptEvents, true
	one.yields = c.NeedsGuests(&play.Outcome{Report: &workers.Report{Mutex: true}})
	sum := &play.Sweep{Kinds: c.Scenario.Sweep}
	worst, err := one.position(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	if worst.Standing() == play.NotApplicable || c.NeedsGuests(worst) {
		worst.Sweep, sum.Page, worst.Scenario = sum, worst.Scenario, c.Scenario
		return worst, nil
	}
	b, err := one.Bound(ctx, 1)
	if lost, ok := errors.AsType[lostWorker](err); ok {
		worst = c.Outcome(workers.Outcome{Report: lost.Report})
		worst.Sweep, sum.Page = sum, &calm
		return worst, nil
	}
	if err != nil && !errors.Is(err, ErrNotReproducible) {
		return nil, err
	}
	rank := len(checker.Properties())
	var at []Perturbation // the plan of the worst
	var breaches []breach
	for n, f := range b.Found {
		o, err := one.position(ctx, c, f.Plan)
		if err != nil {
			return nil, err
		}
		switch {
		case f.Broke == "":
			sum.Found = append(sum.Found, f.Failing)
		case o.Report == nil: // the run measured a timeout of the lock, or it ends if it is played alone
			o = c.Outcome(workers.Outcome{Report: &workers.Report{Reason: f.Broke}})
		}
		of := slices.Index(checker.Properties(), f.Failing.Property)
		if better := cmp.Or(cmp.Compare(worst.Standing(), o.Standing()), cmp.Compare(ownFault(worst), ownFault(o)), cmp.Compare(of, rank)); n == 0 || better < 0 {
			worst, sum.Worst, rank, at = o, worded(f.Plan), of, f.Plan
		}
		if o.Standing() == play.Broke {
			breaches = append(breaches, breach{o.Broken(), f.Plan})
		}
	}
	sum.ReadClocks = b.ReadClocks
	if len(b.Levels) > 1 {
		l := b.Levels[1]
		sum.Possible = b.Sites
		sum.Positions, sum.Kept, sum.Idle, sum.Violated, sum.Unproved = l.Plans, l.Survived, l.Idle, l.Violating, l.Unproved
	}
	if worst, err = one.doubted(ctx, c, worst, sum, b); err != nil {
		return nil, err
	}
	if worst.Standing() == play.Broke {
		if small := one.reduced(ctx, c, at, worst); small != nil {
			worst, sum.Reduced = small, small.Scenario.LanesText()
		}
	}
	worst.Run.Golden, worst.Run.GoldenLine = c.Run.Golden, c.Run.GoldenLine // and not that of the reduced run
	sum.Also = besides(worst.Broken(), breaches)
	worst.Sweep, sum.Page, worst.Scenario = sum, worst.Scenario, c.Scenario
	return worst, nil
}

// doubted makes the worst outcome of a sweep inconclusive, with the reason, if the sweep as a whole proves nothing.
func (s *Search) doubted(ctx context.Context, c play.Case, worst *play.Outcome, sum *play.Sweep, b *Bounded) (*play.Outcome, error) {
	switch {
	case worst.Standing() >= play.Failed: // whatever the other positions prove
	case b.Differs != "":
		worst.Result.Verdict, worst.Differs = checker.Inconclusive, b.Differs
		worst.Result.Unmet = append(worst.Result.Unmet, "not reproducible: "+b.Differs)
	case b.Unproved != nil:
		var err error
		if worst, err = s.position(ctx, c, b.Unproved); err != nil {
			return nil, err
		}
		sum.Worst = worded(b.Unproved)
		worst.Result.Verdict = checker.Inconclusive
		if len(worst.Result.Unmet) == 0 {
			worst.Result.Unmet = []string{"a property was violated only together with a fault that had no effect"}
		}
	case b.SetClocks > 0 && b.ReadClocks == 0:
		worst.Result.Verdict, worst.Result.OwnTime = checker.Inconclusive, true
		worst.Result.Unmet = append(worst.Result.Unmet, fmt.Sprintf("a clock of a client was wrong at %d positions, and none had an effect: the lock read no clock of its process, and the clock of package time cannot be set", b.SetClocks))
	case len(b.Found) == 0 && sum.Kept == 0:
		worst.Result.Verdict = checker.Inconclusive
		worst.Result.Unmet = append(worst.Result.Unmet, fmt.Sprintf("none of the %d perturbations had an effect", sum.Positions))
	}
	return worst, nil
}

// A breach is a position at which claims are broken.
type breach struct {
	claims []play.BrokenClaim
	plan   []Perturbation
}

// ownFault is 1 if an outcome breaks a claim although no assumption is broken, and 0 otherwise.
func ownFault(o *play.Outcome) int {
	if slices.ContainsFunc(o.Broken(), ofLock) {
		return 1
	}
	return 0
}

func ofLock(c play.BrokenClaim) bool { return c.Assumption == checker.None }

// besides says what else is violated than what is shown, and at which position; each once.
func besides(shown []play.BrokenClaim, breaches []breach) (also []string) {
	for _, b := range breaches {
		for _, claim := range b.claims {
			of := play.Failing{Property: claim.Property, Assumption: claim.Assumption}
			if !slices.ContainsFunc(shown, func(c play.BrokenClaim) bool { return of.Is(c.Violation) }) {
				shown, also = append(shown, claim), append(also, fmt.Sprintf("%s (%s)", of, worded(b.plan)))
			}
		}
	}
	return also
}

// reduced returns the outcome of the smallest run that breaks the same claim, if possible one that is broken although no assumption is; nil if
// none smaller was found.
func (s *Search) reduced(ctx context.Context, c play.Case, plan []Perturbation, worst *play.Outcome) *play.Outcome {
	all := worst.Broken()
	broken := all[max(0, slices.IndexFunc(all, ofLock))]
	f := Found{Trial: Trial{Plan: plan, Seed: s.Seed}, Failing: play.Failing{Property: broken.Property, Assumption: broken.Assumption}}
	small, err := s.Shrink(ctx, f)
	if err != nil {
		return nil // the whole run will do
	}
	page := small.Scenario
	page.Name, page.File, page.Title = c.Scenario.Name, c.Scenario.File, c.Scenario.Title
	page.Runs[0].Lock, page.Runs[0].Label, page.Runs[0].Expect = c.Run.Reference(), c.Run.Label, c.Run.Expect
	o, err := s.play(ctx, c, page)
	if err != nil || o.Standing() != play.Broke {
		return nil
	}
	if broken.Assumption != checker.None && !slices.Contains(c.Promise.Survives, broken.Assumption) && s.referenceViolates(ctx, c, page, broken.Property) {
		return nil // the claim is to be as good as the reference, which is no better in the smaller run
	}
	return o
}

// referenceViolates reports whether the lock that a page names violates a property in its run, too.
func (s *Search) referenceViolates(ctx context.Context, c play.Case, page *script.Scenario, p checker.Property) bool {
	one := *s
	one.Lock, one.New, c.New = page.Runs[0].Lock, nil, nil
	o, err := one.play(ctx, c, page)
	return err == nil && o.Result.Status(p) == checker.Violated
}

// sweptEvents bounds a sweep. Most locks stay below it, but a library that polls has a hundred times as many events
// in a run.
const sweptEvents = 400_000

// worded prints a plan with at most one perturbation.
func worded(plan []Perturbation) string {
	if len(plan) == 0 {
		return "" // the calm run itself
	}
	return plan[0].String()
}

// position plays the case with the perturbations of a plan.
func (s *Search) position(ctx context.Context, c play.Case, plan []Perturbation) (*play.Outcome, error) {
	return s.play(ctx, c, Perturbed(s.Calm, plan))
}

// play plays the case with another page, which has one run.
func (s *Search) play(ctx context.Context, c play.Case, page *script.Scenario) (*play.Outcome, error) {
	c.Scenario, c.Run, c.Seed = page, page.Runs[0].With(s.Lock), s.Seed
	return s.outcome(ctx, c, 0) // which is played twice
}

// outcome plays a case as number i.
func (s *Search) outcome(ctx context.Context, c play.Case, i int) (*play.Outcome, error) {
	job, err := c.Job(ctx, i)
	if err != nil {
		return nil, err
	}
	do := s.Do
	if do == nil {
		do = s.here
	}
	out, err := do(ctx, job)
	if err != nil {
		return nil, err
	}
	return c.Outcome(out), nil
}
