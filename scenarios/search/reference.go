package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// A Reference is the lock with which the one under test is compared. A violation is shared with the reference, and so excused, if
// the reference violates
//
//   - the same property under the same plan and seed, or
//   - the same property, for the same reason, under some plan with one perturbation of a kind that the plan has.
//
// Either rule alone would accuse correct locks. The same plan may hit another operation of the reference, or none. And if a violation
// takes two faults, no plan with one perturbation shows it. A violation of the property tokens that comes with a broken assumption is
// also excused if the reference has no tokens.
type Reference struct {
	Lock string

	search Search
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
	err = r.survey(ctx)
	return err == nil && r.usually(f, plan), err
}

// usually reports whether the reference is known to violate the same under a plan with one perturbation of a kind that the plan has.
func (r *Reference) usually(f play.Failing, plan []Perturbation) bool {
	return slices.ContainsFunc(plan, func(p Perturbation) bool { return slices.Contains(r.usual[p.Kind], f) })
}

// survey plays every plan with one perturbation, unless that was done before.
func (r *Reference) survey(ctx context.Context) error {
	if r.usual != nil {
		return nil
	}
	b := &Bounded{Bound: 1, Kinds: r.search.kinds()}
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
	r.played[key] = o.Result
	return o.Result, nil
}

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
