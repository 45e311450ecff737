package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A Reference is the lock with which the one under test is compared. A violation is shared with the reference, and so excused, if
// the reference violates
//
//   - the same property under the same plan and seed, or
//   - the same property, for the same reason, under some plan with one perturbation of a kind that the plan has, in this calm run or in
//     another one, see [Reference.Also], or
//   - the same property, for the same reason, in a run of the catalogue, if that reason is that nodes lose keys or clocks are wrong, and
//     the plan has a fault, such as the jump of a node, that breaks the same assumption in that run; a drift must not be
//     smaller than the one there. Where leases overlap, so may writes: a run in
//     which lease exclusion is violated also excuses a violation of resource exclusion.
//
// Without any one of these rules correct locks would be accused. The same plan may hit another operation of the reference, or none. If
// a violation takes two faults, no plan with one perturbation shows it. And the order of messages may save the reference in all of
// these runs, as it saves a lock that asks all nodes in the same order from one wrong clock. A violation of the property tokens that comes with a
// broken assumption is also excused if the reference has no tokens.
type Reference struct {
	Lock string

	search Search
	also   []*Reference
	played map[string]checker.Result // by plan and seed
	usual  map[script.Kind][]play.Failing
}

// Against returns a lock of the literature as the reference for a search. If clients extend their leases and the lock cannot, it is
// the variant that can.
func (s *Search) Against(lock string) (*Reference, error) {
	if extends(nil, s.Calm.Resolve(s.Calm.Runs[0]).Lanes) {
		if _, err := clients.Find(lock + "-extend"); err == nil {
			lock += "-extend"
		}
	}
	build, err := clients.Find(lock)
	if err != nil {
		return nil, err
	}
	r := &Reference{Lock: lock, search: *s, played: map[string]checker.Result{}}
	r.search.Lock, r.search.New = lock, build
	r.search.Reference, r.search.Restless, r.search.First, r.search.Progress = nil, false, false, nil
	return r, nil
}

// Also makes the reference in other calm runs count, too. What the order of messages lets a lock get away with in one calm run, it may
// not get away with in another.
func (r *Reference) Also(others ...*Reference) {
	for _, other := range others {
		if other != r {
			r.also = append(r.also, other)
		}
	}
}

// Shares reports whether a violation under a plan is shared with the reference.
func (r *Reference) Shares(ctx context.Context, f play.Failing, plan []Perturbation, seed uint64) (bool, error) {
	if r.usually(f, plan) || f.Property == checker.Tokens && f.Assumption != checker.None && r.Lock != "fenced" { // it has no tokens
		return true, nil
	}
	result, err := r.play(ctx, plan, seed)
	switch {
	case err != nil:
		return false, err
	case result.Status(f.Property) == checker.Violated:
		return true, nil
	case len(plan) == 0: // nothing goes wrong
		return false, nil
	}
	for _, in := range append([]*Reference{r}, r.also...) {
		if err := in.Survey(ctx); err != nil {
			return false, err
		}
		if in.usually(f, plan) {
			return true, nil
		}
	}
	return r.documented(f, plan)
}

// usually reports whether the reference is known to violate the same under a plan with one perturbation of a kind that the plan has.
func (r *Reference) usually(f play.Failing, plan []Perturbation) bool {
	return slices.ContainsFunc(plan, func(p Perturbation) bool { return slices.Contains(r.usual[p.Kind], f) })
}

// stories parses the catalogue once: that takes longer than several runs.
var stories = sync.OnceValues(script.Stories)

// documented reports whether the catalogue expects the same of the reference, or of a lock that the reference is like, in a run in
// which a fault of this plan breaks the same assumption. Which of a few votes a fault takes away, and whether another client asks in
// time, is chance.
func (r *Reference) documented(f play.Failing, plan []Perturbation) (bool, error) {
	if f.Assumption != checker.DurableNodes && f.Assumption != checker.BoundedClockError {
		return false, nil
	}
	all, err := stories()
	if err != nil {
		return false, err
	}
	like := []string{r.Lock}
	for _, l := range clients.Locks() {
		if l.Name == r.Lock {
			like = append(like, l.Like...)
		}
	}
	expects := func(e script.Expectation) bool {
		follows := f.Property == checker.ResourceExclusion || checker.LikeLeaseExclusion(f.Property, f.Assumption)
		same := e.Property == f.Property || e.Property == checker.LeaseExclusion && follows
		return e.Status == checker.Violated && same && e.Assumption == f.Assumption
	}
	breaks := func(run script.Section, fault history.Fault) bool {
		return fault != nil && ClassOf(run, fault) == f.Assumption
	}
	calm := r.search.Calm.Resolve(r.search.Calm.Runs[0])
	var faults []history.Fault // of the plan, that break the assumption
	for _, p := range plan {
		for _, step := range p.Steps {
			if fault := p.fault(script.Once(step)); breaks(calm, fault) {
				faults = append(faults, fault)
			}
		}
	}
	for _, s := range all {
		for _, run := range s.Runs {
			if !slices.Contains(like, run.Lock) || !slices.ContainsFunc(run.Expect, expects) {
				continue
			}
			run = s.Resolve(run)
			for _, lane := range run.Lanes {
				if slices.ContainsFunc(lane.Steps, func(step script.Step) bool {
					fault := lane.Fault(step)
					return breaks(run, fault) && slices.ContainsFunc(faults, func(f history.Fault) bool {
						return f.Verb() == fault.Verb() && calm.IsClient(f.Target()) == run.IsClient(fault.Target()) && !lessDrift(f, fault)
					})
				}) {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// lessDrift reports whether two faults are drifts, of which the first is the smaller one: what a large drift does is no excuse for what
// a small one does.
func lessDrift(f, than history.Fault) bool {
	a, drifts := f.(history.Drift)
	b, too := than.(history.Drift)
	return drifts && too && max(a.PPM, -a.PPM) < max(b.PPM, -b.PPM)
}

// Survey plays every plan with one perturbation, for [Reference.Shares], unless that was done before.
func (r *Reference) Survey(ctx context.Context) error {
	if r.usual != nil {
		return nil
	}
	b := &Bounded{Bound: 1, Kinds: r.search.kinds(), Orders: !r.search.Fixed}
	if err := r.search.bound(ctx, b); err != nil {
		return fmt.Errorf("%s, for comparison: %w", r.Lock, err)
	}
	r.usual = map[script.Kind][]play.Failing{}
	for _, found := range b.Found {
		for _, p := range found.Plan {
			r.usual[p.Kind] = append(r.usual[p.Kind], found.Faults...)
		}
	}
	return nil
}

// play returns the result of the reference under a plan.
func (r *Reference) play(ctx context.Context, plan []Perturbation, seed uint64) (checker.Result, error) {
	key := fmt.Sprint(seed, plan)
	if result, known := r.played[key]; known {
		return result, nil
	}
	page := Perturbed(r.search.Calm, plan)
	o, err := r.search.outcome(ctx, play.Case{Scenario: page, Run: page.Runs[0].With(r.Lock), Seed: seed, New: r.search.New}, 1)
	if err != nil {
		return checker.Result{}, err
	}
	if len(r.played) > mostPlayed {
		clear(r.played)
	}
	r.played[key] = o.Result
	return o.Result, nil
}

// mostPlayed limits the results that are remembered, for searches that take hours.
const mostPlayed = 10_000

// Shared is a way to fail that the lock under test has in common with its reference.
type Shared struct {
	Found     // the plan with the fewest perturbations
	Plans int // how many plans fail in this way
}

// compare moves the violations of a trial that are shared with the reference to shared. It reports whether the trial has others.
func (s *Search) compare(ctx context.Context, t *Trial, shared []Shared) ([]Shared, bool, error) {
	if s.Reference == nil {
		return shared, true, nil
	}
	var worse []play.Failing
	for _, f := range t.Faults {
		same, err := s.Reference.Shares(ctx, f, t.Plan, t.Seed)
		if err != nil {
			return shared, true, err
		}
		if !same {
			worse = append(worse, f)
			continue
		}
		shared = Merged(append(shared, Shared{Found{Trial: *t, Failing: f}, 1}))
	}
	t.Faults = worse
	return shared, len(worse) > 0, nil
}

// Merged adds up the plans of each way to fail, in the order of [Firsts].
func Merged(all []Shared) []Shared {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Shared) int { return compareFound(a.Found, b.Found) })
	var kept []Shared
	for _, s := range all {
		i := slices.IndexFunc(kept, func(k Shared) bool { return k.Failing == s.Failing })
		if i < 0 {
			kept = append(kept, s)
			continue
		}
		kept[i].Plans += s.Plans
	}
	return kept
}

// compareFound compares how simple plans are: those with fewer perturbations come first, then the earlier ones.
func compareFound(a, b Found) int {
	return cmp.Or(cmp.Compare(len(a.Plan), len(b.Plan)), slices.CompareFunc(a.Plan, b.Plan, Perturbation.Compare), cmp.Compare(a.Seed, b.Seed))
}
