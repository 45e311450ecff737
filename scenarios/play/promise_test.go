package play

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
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

// The violation that breaks the claim comes before one that the reference has, too; otherwise the order stays.
func TestWorstFirst(t *testing.T) {
	excused := checker.Violation{Property: checker.LeaseExclusion, Assumption: checker.BoundedPause, What: "excused"}
	own := checker.Violation{Property: checker.LeaseExclusion, Assumption: checker.None, What: "own"}
	reference := script.Section{Lock: "single", Expect: []script.Expectation{{Property: checker.LeaseExclusion, Status: checker.Violated, Assumption: checker.BoundedPause}}}
	o := &Outcome{Run: reference.With("mine"), Promise: Promise{As: []script.Section{reference}}, Result: checker.Result{Verdict: checker.Unsafe}}
	for _, c := range []struct{ have, want []checker.Violation }{
		{[]checker.Violation{excused, own, excused}, []checker.Violation{own, excused, excused}},
		{[]checker.Violation{own, excused}, []checker.Violation{own, excused}},
		{[]checker.Violation{excused}, []checker.Violation{excused}},
	} {
		o.Result.Violations = slices.Clone(c.have)
		if got := o.WorstFirst().Violations; !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(o.Result.Violations, c.have) {
			t.Errorf("%v become %v, and leave %v", c.have, got, o.Result.Violations)
		}
	}
}

// A sweep whose run without a fault fails says so, and that no position was played.
func TestSweepDecidedByTheCalmRun(t *testing.T) {
	s := &Sweep{Kinds: []script.Kind{script.Delaying}}
	if got, want := s.String(), "the run without a fault decides, so no position was played (delay):\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A lock that counts on what no replica has is told to wait for one, also when it extends.
func TestCureForAForgottenLease(t *testing.T) {
	h := &history.History{Events: []history.Event{{Kind: history.State, Op: history.Set}}}
	v := checker.Violation{Property: checker.LeaseExclusion, Assumption: checker.DurableNodes, Events: []int{0}}
	if got := cureFor(h, v, "failover-lag"); !strings.Contains(got, "by WAIT after SET, and after each extension") {
		t.Errorf("%q", got)
	}
	if v.Assumption = checker.None; strings.Contains(cureFor(h, v, "failover-lag"), "WAIT") {
		t.Error("a lock that breaks this without a failover is told to wait for a replica")
	}
}

// A run is not repeated with guests if it had guests, or if a node refused a command: they would send it, too.
func TestNeedsGuests(t *testing.T) {
	c := Case{Run: script.Section{Lock: "single"}}
	o := &Outcome{Result: checker.Result{Verdict: checker.Inconclusive, OwnTime: true}}
	if !c.NeedsGuests(o) {
		t.Error("package time needs no guests")
	}
	if c.Run.Guests = true; c.NeedsGuests(o) {
		t.Error("a run with guests needs guests")
	}
	c.Run.Guests = false
	if o.Result.Refused = []string{"ZINTERSTORE"}; c.NeedsGuests(o) {
		t.Error("a refused command needs guests")
	}
}

// An earlier result decides instead of the claim.
func TestStandingBesidesAnEarlierResult(t *testing.T) {
	for was, want := range map[checker.Verdict]Standing{checker.Unsafe: AsOthers, checker.Safe: Other} {
		o := &Outcome{Promise: Promise{Earlier: &checker.Result{Verdict: was}}, Result: checker.Result{Verdict: checker.Unsafe}}
		for _, p := range checker.Properties() {
			o.Promise.Earlier.Statuses = append(o.Promise.Earlier.Statuses, checker.PropertyStatus{Property: p, Status: o.Result.Status(p)})
		}
		if got := o.Standing(); got != want {
			t.Errorf("UNSAFE, and %s before, stands as %d, want %d", was, got, want)
		}
	}
}

// The names of locks are recorded once each, and only if there is another than the usual one.
func TestNamesOf(t *testing.T) {
	other := script.Lane{Process: "c1", Steps: []script.Step{script.Lock{Name: "b"}, script.Acquire{}, script.Lock{Name: LockName}, script.Lock{Name: "b"}}}
	for want, lanes := range map[string][]script.Lane{"": {{Process: "c1", Steps: []script.Step{script.Acquire{}}}}, LockName + " b": {other, other}} {
		if got := strings.Join(namesOf(script.Section{Lanes: lanes}), " "); got != want {
			t.Errorf("the names are %q, want %q", got, want)
		}
	}
}
