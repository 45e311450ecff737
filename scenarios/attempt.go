package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
)

// A drawing is a plan, the calm run that it perturbs, and the seed of its run.
type drawing struct {
	of   *calmRun
	seed uint64
	plan []search.Perturbation
}

// GoString is logged by rapid: the perturbations, one per line, or a note that there are none.
func (d drawing) GoString() string {
	text := fmt.Sprintf("%s, seed %d", d.of.name, d.seed)
	if len(d.plan) == 0 {
		return text + ", calm"
	}
	for _, p := range d.plan {
		text += "\n    " + p.String()
	}
	return text
}

// page returns the scenario of a drawing, ready to be saved.
func (d drawing) page() *script.Scenario {
	s := search.Perturbed(d.of.page, d.plan)
	s.Runs = slices.Clone(s.Runs)
	s.Runs[0].Seed = d.seed
	return s
}

// An attempt is the result of a drawing.
type attempt struct {
	drawing
	class    search.Class
	failures []failure
	excused  []play.Failing
	outcome  *play.Outcome // if it fails, and until another one is known to fail in the same ways

	possible map[script.Kind][]search.Perturbation // with which the plan can be extended; nil if they were not looked for
	kinds    []script.Kind
}

// ends reports whether its run came to its end.
func (a *attempt) ends() bool {
	return len(a.failures) == 0 || a.failures[0].Failing != (play.Failing{})
}

// A failure is a claim that a run breaks.
type failure struct {
	play.Failing // zero if the run did not come to its end

	What  string // what happened, in words
	Claim string // what is claimed, as the end of "the claim is that the lock ..."
}

func (f failure) String() string {
	if f.Failing == (play.Failing{}) {
		return f.What
	}
	return fmt.Sprintf("%s: %s", f.Failing, f.What)
}

// try plays a plan, unless it was played before, and finds out how it can be extended, if further says so.
func (c *calmRun) try(d drawing, further bool) *attempt {
	key := d.GoString()
	if a := c.tried[key]; a != nil && (!further || a.possible != nil || !a.ends()) {
		return a
	}
	s := search.Perturbed(c.page, d.plan)
	o := c.play(s, s.Runs[0].With(c.test), c.newLock, d.seed)
	a := &attempt{drawing: d}
	c.tried[key] = a
	if o.Report != nil {
		what, _, _ := strings.Cut(whyUnended(o), "\n")
		a.class, a.failures, a.outcome = search.Violating, []failure{{What: what}}, o
		return a
	}
	did := search.EffectOf(c.page, d.plan, o)
	a.class = search.Classify(o, did, o.Failing())
	c.judge(a, o)
	if len(a.failures) > 0 {
		a.outcome = o
		if rest, less := did.Rest(); less {
			return c.without(a, rest, further)
		}
	}
	if further && len(d.plan) < mostDrawn && c.constants != (search.Constants{}) {
		c.find(a, o)
	}
	return a
}

// without returns an attempt without the faults of a that had no effect, if it still fails: a report contains no such faults.
func (c *calmRun) without(a *attempt, rest []search.Perturbation, further bool) *attempt {
	bare := c.try(drawing{c, a.seed, rest}, further)
	if len(bare.failures) == 0 {
		a.class, a.failures, a.outcome = search.Unproved, nil, nil
		return a
	}
	c.tried[a.GoString()] = bare
	return bare
}

// mostExtended limits the attempts whose sites are remembered, each of which takes up to a megabyte.
const mostExtended = 200

// find finds the sites at which a plan can be extended.
func (c *calmRun) find(a *attempt, o *play.Outcome) {
	if len(c.extended) == mostExtended {
		for _, b := range c.extended {
			b.possible, b.kinds = nil, nil
		}
		c.extended = nil
	}
	c.extended = append(c.extended, a)
	a.possible = map[script.Kind][]search.Perturbation{}
	for _, p := range search.Sites(c.page, o, c.constants, c.within) {
		a.possible[p.Kind] = append(a.possible[p.Kind], p)
	}
	for _, k := range c.within {
		if len(a.possible[k]) > 0 {
			a.kinds = append(a.kinds, k)
		}
	}
}

// play makes a worker put a lock through a run.
func (e *exploration) play(s *script.Scenario, run script.Section, lock clients.New, seed uint64) *play.Outcome {
	e.t.Helper()
	c := play.Case{Scenario: s, Run: run, Seed: seed, On: play.OnSim, Restless: e.restless, Guests: e.guests, New: lock}
	o, err := e.once(c)
	if err == nil && o.Report != nil {
		o, err = c.AsGuests(e.t.Context(), o, e.once)
	}
	if err != nil {
		e.t.Fatalf("%v\nA worker process runs the test binary again and must reach this call of scenarios. TestMain, and the code before the call in the test, must allow that.", err)
	}
	if o.Differs != "" {
		e.unsteady(o.Differs + "\n" + s.String())
	}
	return o
}

// once plays a case once, in one way.
func (e *exploration) once(c play.Case) (*play.Outcome, error) {
	job, err := c.Job(e.t.Context(), e.played)
	if err != nil {
		return nil, err
	}
	e.played++
	result, err := e.perform(e.t.Context(), c, job)
	return c.Outcome(result), err
}

// unsteady ends the test of a lock whose runs are not reproducible.
func (e *exploration) unsteady(how string) {
	e.t.Helper()
	e.t.Fatalf("the same run with the same seed came out differently the second time, so a failure could not be repeated. Code of one client that runs at the same time in two goroutines, a select with two ready cases and randomness without a seed can cause this. With scenarios.Guests(scenarios.GuestsAlways) every run can be repeated; with scenarios.Restless() a difference does not matter.\n%s", how)
}

// judge determines which violations of a run break a claim.
func (c *calmRun) judge(a *attempt, o *play.Outcome) {
	if o.Result.RanOn {
		return
	}
	for _, f := range o.Failing() {
		claim := c.claim(f, a.drawing)
		if claim == "" {
			a.excused = append(a.excused, f)
			continue
		}
		i := slices.IndexFunc(o.Result.Violations, f.Is)
		a.failures = append(a.failures, failure{f, o.Result.Violations[i].What, claim})
	}
}

// claim returns the claim that the violations of one kind in a run break; empty if none.
func (c *calmRun) claim(f play.Failing, d drawing) string {
	c.t.Helper()
	switch {
	case slices.Contains(c.survives, f.Assumption):
		return fmt.Sprintf("survives a breach of %s", f.Assumption)
	case slices.Contains(c.needs, f.Assumption):
		return ""
	}
	for _, reference := range c.references {
		shared, err := reference.Shares(c.t.Context(), f, d.plan, d.seed)
		if err != nil {
			c.t.Fatal(err)
		}
		if shared {
			return ""
		}
	}
	if f.Assumption == checker.None {
		return "keeps this as long as no assumption breaks, as " + c.asLike() + " under this plan"
	}
	return fmt.Sprintf("keeps this even with a breach of %s, as %s under this plan", f.Assumption, c.asLike())
}

// asLike names the locks that this one is like, as the subject of a sentence.
func (o options) asLike() string {
	if len(o.like) == 1 {
		return o.like[0] + " does"
	}
	return strings.Join(o.like, " and ") + " do"
}
