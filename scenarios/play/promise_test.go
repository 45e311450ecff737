package play

import (
	"testing"

	"lockstep/checker"
	"lockstep/scenarios/script"
)

// A client that takes over a key because a clock is wrong does no worse than a node that removes it because a clock is wrong.
func TestOwnerOnlyByAClock(t *testing.T) {
	violated := func(p checker.Property, a checker.Assumption) script.Expectation {
		return script.Expectation{Property: p, Status: checker.Violated, Assumption: a}
	}
	for name, c := range map[string]struct {
		expect script.Expectation
		broken checker.Assumption
		breaks bool
	}{
		"a clock, and the reference too":       {violated(checker.LeaseExclusion, checker.BoundedClockError), checker.BoundedClockError, false},
		"a clock, and the reference a pause":   {violated(checker.LeaseExclusion, checker.BoundedPause), checker.BoundedClockError, true},
		"a clock, and the reference nothing":   {script.Expectation{}, checker.BoundedClockError, true},
		"its own fault, the reference a clock": {violated(checker.LeaseExclusion, checker.BoundedClockError), checker.None, true},
	} {
		reference := script.Section{Lock: "single", Expect: []script.Expectation{c.expect}}
		o := &Outcome{
			Run:     reference.With("mine"),
			Promise: Promise{As: []script.Section{reference}},
			Result:  checker.Result{Verdict: checker.Unsafe, Violations: []checker.Violation{{Property: checker.OwnerOnly, Assumption: c.broken}}},
		}
		if got := len(o.Broken()) > 0; got != c.breaks {
			t.Errorf("%s: broken %v", name, got)
		}
	}
}

// A run in which a node refused a command is not repeated with guests: they would send it, too.
func TestRefusedNeedsNoGuests(t *testing.T) {
	c := Case{Run: script.Section{Lock: "single"}}
	o := &Outcome{Result: checker.Result{Verdict: checker.Inconclusive, OwnTime: true}}
	if !c.NeedsGuests(o) {
		t.Error("package time needs no guests")
	}
	if o.Result.Refused = []string{"ZINTERSTORE"}; c.NeedsGuests(o) {
		t.Error("a refused command needs guests")
	}
}
