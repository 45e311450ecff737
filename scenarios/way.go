package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
)

// A way is one way to fail, with the first plan that does.
type way struct {
	failure
	outline string
	*attempt
}

// name is the name of the subtest.
func (w way) name() string {
	if w.Failing == (play.Failing{}) {
		return "run does not end"
	}
	return string(w.Property)
}

// note keeps the ways in which an attempt fails, unless an earlier one fails so. An attempt of which it keeps nothing loses its outcome: there may
// be thousands, and a history takes up to some megabytes.
func (e *exploration) note(a *attempt) {
	if a.outcome == nil { // it was noted before
		return
	}
	for _, f := range a.failures {
		w := way{failure: f, attempt: a}
		if f.Failing != (play.Failing{}) {
			i := slices.IndexFunc(a.outcome.Result.Violations, f.Is)
			w.outline = search.Outline(a.outcome.History, a.outcome.Result.Violations[i])
		}
		if !slices.ContainsFunc(e.ways, func(v way) bool { return v.Failing == w.Failing && v.outline == w.outline }) {
			e.ways = append(e.ways, w)
		}
	}
	if !slices.ContainsFunc(e.ways, func(v way) bool { return v.attempt == a }) {
		a.outcome = nil
	}
}

// mostTold is how many ways to fail are explained. Of the others the log has the plan and the command that repeats it.
const mostTold = 3

// tell fails the test with a subtest for each way to fail. It returns false if there is none.
func (e *exploration) tell(t *testing.T) bool {
	t.Helper()
	for i, w := range e.ways {
		t.Run(w.name(), func(t *testing.T) {
			e.fail(t, w.attempt, w.failure)
			if i < mostTold {
				e.explainSmallest(t, w.attempt, w.failure)
			} else {
				e.print(t, "%s", seeAgain(e.test, w.page()))
			}
		})
	}
	return len(e.ways) > 0
}

// fail fails a test, and says which plan breaks the claim.
func (e *exploration) fail(t testing.TB, a *attempt, f failure) {
	t.Helper()
	perturbations := "one perturbation is enough"
	if len(a.plan) != 1 {
		perturbations = fmt.Sprintf("%d perturbations are enough", len(a.plan))
	}
	for _, p := range a.plan {
		perturbations += "\n    " + p.String()
	}
	t.Errorf("%s: %s\n%s", a.of.name, perturbations, f)
}

// explainSmallest explains the smallest run that fails in the same way as an attempt, or, if it cannot be found, the attempt.
func (e *exploration) explainSmallest(t testing.TB, a *attempt, f failure) {
	t.Helper()
	if f.Failing == (play.Failing{}) {
		e.explain(t, a.outcome, a.page(), f)
		return
	}
	page, err := e.smallest(t, a, f)
	e.explainReduced(t, page, err, f)
}

// smallest returns the scenario with the smallest run that fails in the same way as an attempt, or, with an error, that of the attempt.
// References that do not fail under the plan of the attempt do not fail in that run either.
func (e *exploration) smallest(t testing.TB, a *attempt, f failure) (*script.Scenario, error) {
	found := search.Found{Trial: search.Trial{Plan: a.plan, Seed: a.seed}, Failing: f.Failing}
	ctx := t.Context()
	if e.patience > 0 {
		limited, cancel := context.WithTimeout(ctx, e.patience)
		defer cancel()
		ctx = limited
	}
	references := a.of.references
	if slices.Contains(e.survives, f.Assumption) {
		references = nil // the claim is not about them
	}
	c, err := a.of.search(a.seed).Shrink(ctx, found, references...)
	if err != nil {
		return a.page(), err
	}
	if c.Excused > 0 {
		e.print(t, "%s", c.Chance())
	}
	return c.Scenario, nil
}

// explainReduced plays the scenario that [exploration.smallest] returned, and explains what fails.
func (e *exploration) explainReduced(t testing.TB, page *script.Scenario, err error, f failure) {
	t.Helper()
	if err != nil {
		e.print(t, "it was not reduced further: %v", err)
	} else {
		e.print(t, "reduced further to:")
	}
	run := page.Runs[0]
	o := e.play(page, run.With(e.test), e.newLock, cmp.Or(run.Seed, 1))
	if i := slices.IndexFunc(o.Result.Violations, f.Is); i >= 0 {
		f.What = o.Result.Violations[i].What
	}
	e.explain(t, o, page, f)
}

// explain logs an outcome that breaks a claim, and stores its files.
func (e *exploration) explain(t testing.TB, o *play.Outcome, page *script.Scenario, f failure) {
	t.Helper()
	keep(t, t.Name(), o)
	command := seeAgain(e.test, page)
	if o.Report != nil {
		e.print(t, "%s\n%s\n%s", page.LanesText(), whyUnended(o), command)
		return
	}
	e.print(t, "%s\n%s\n%s%s\nthe claim is that the lock %s\n%s", headOf(o), page.LanesText(), o.Timeline(), f, f.Claim, command)
}

// print logs a message. It has no line of the test, because rapid may be done with it.
func (e *exploration) print(t testing.TB, format string, args ...any) {
	fmt.Fprintf(t.Output(), format+"\n", args...)
}
