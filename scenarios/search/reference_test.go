package search

import (
	"encoding/json"
	"slices"
	"testing"

	"lockstep/checker"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// compared returns a search that compares a lock with a reference. The lock is one that [findLock] finds.
func compared(t *testing.T, lock, reference string, shape Shape, kinds ...script.Kind) *Search {
	t.Helper()
	shape.Lock = reference
	s := &Search{Calm: calmShape(t, shape), Lock: lock, New: findLock(t, lock), Kinds: kinds}
	var err error
	if s.Reference, err = s.Against(reference); err != nil {
		t.Fatal(err)
	}
	return s
}

func failings(found []Found) (all []play.Failing) {
	for _, f := range found {
		all = append(all, f.Failing)
	}
	return all
}

func sharedFailings(shared []Shared) (all []play.Failing) {
	for _, s := range shared {
		all = append(all, s.Failing)
	}
	return all
}

var (
	lateWrites = play.Failing{Property: checker.ResourceExclusion, Assumption: checker.BoundedDelay}
	emptied    = play.Failing{Property: checker.LeaseExclusion, Assumption: checker.DurableNodes}
)

// Violations that the reference has, too, are shared, and all others are found. A late write does harm with single, but not with a lock
// whose holder renews the lease until the write is acknowledged.
func TestReferenceTellsWhatIsWorse(t *testing.T) {
	for _, c := range []struct {
		reference string
		worse     bool
	}{{"watchdog", true}, {"single", false}} {
		s := compared(t, "watchdog-fixed-period", c.reference, Shape{}, script.LateWrite)
		s.First = true
		b := searched(t, s, 1)
		r, err := s.Random(t.Context(), Portfolio, 60, 0)
		if err != nil {
			t.Fatal(err)
		}
		for how, is := range map[string]struct {
			found  []Found
			shared []Shared
			ended  bool
		}{"bounded": {b.Found, b.Shared, b.Ended}, "random": {r.Found, r.Shared, r.Ended}} {
			found, shared := failings(is.found), sharedFailings(is.shared)
			if slices.Contains(found, lateWrites) != c.worse || slices.Contains(shared, lateWrites) == c.worse || is.ended != c.worse {
				t.Errorf("compared with %s, the %s search finds %v, shares %v, and ends early: %t", c.reference, how, found, shared, is.ended)
			}
		}
	}
}

// The same plan meets another operation of another lock. This one looks whether the lock is taken before it asks.
func TestReferenceAtAnotherMoment(t *testing.T) {
	s := compared(t, "single-patient", "single", Shape{})
	var plan []Perturbation
	err := json.Unmarshal([]byte(`[
		{"kind": "drift", "steps": ["drift n1 -5000ppm"]},
		{"kind": "partition", "steps": ["when c2 acquires #2 cut c2-n1", "when c2 acquires #2 +12s heal c2-n1"]},
		{"kind": "pause", "client": "c1", "before": 3, "steps": ["pause 12s"]}
	]`), &plan)
	if err != nil {
		t.Fatal(err)
	}
	f := play.Failing{Property: checker.ResourceExclusion, Assumption: checker.BoundedPause}
	page := Perturbed(s.Calm, plan)
	o, err := s.outcome(t.Context(), play.Case{Scenario: page, Run: page.Runs[0].With(s.Lock), Seed: 8, New: s.New}, 1)
	if err != nil {
		t.Fatal(err)
	}
	same, err := s.Reference.play(t.Context(), plan, 8)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(o.Failing(), f) || same.Status(f.Property) != checker.OK {
		t.Fatalf("under this plan the lock violates %v, and of single %s is %s", o.Failing(), f.Property, same.Status(f.Property))
	}
	for f, want := range map[play.Failing]bool{
		f: true,
		{Property: f.Property, Assumption: checker.DurableNodes}:      false, // no node crashes in this plan
		{Property: checker.OwnerOnly, Assumption: checker.None}:       false,
		{Property: checker.FaultTolerance, Assumption: checker.None}:  true, // nobody gets the lock during the partition
		{Property: checker.DeadlockFreedom, Assumption: checker.None}: false,
	} {
		if got, err := s.Reference.Shares(t.Context(), f, plan, 8); got != want || err != nil {
			t.Errorf("single shares %s: %t, %v", f, got, err)
		}
	}
	if got, err := s.Reference.Shares(t.Context(), f, nil, 8); got || err != nil {
		t.Errorf("what happens where nothing goes wrong is excused: %t, %v", got, err)
	}
}

// If a violation takes two faults, no plan with one perturbation shows it.
func TestReferenceUnderTwoFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("plays hundreds of plans")
	}
	s := compared(t, "redlock-shuffled", "redlock-sequential", Shape{Nodes: 3}, script.Emptying)
	b := searched(t, s, 2)
	if len(b.Found) > 0 || !slices.Contains(sharedFailings(b.Shared), emptied) {
		t.Errorf("found %v, and shared %v", failings(b.Found), sharedFailings(b.Shared))
	}
	if err := s.Reference.Survey(t.Context()); err != nil || slices.Contains(s.Reference.usual[script.Emptying], emptied) {
		t.Errorf("one node without its keys is enough: %v, %v", s.Reference.usual, err)
	}
}

// A plan that the reference survives by chance is reduced to a run that it survives, too: otherwise the run would say nothing against the lock.
func TestReductionSparesTheReference(t *testing.T) {
	s := compared(t, "redislock", "single", Shape{})
	s.Seed, s.First = 2278, true
	r, err := s.Random(t.Context(), Portfolio, 10, 0)
	if err != nil || len(r.Found) != 1 {
		t.Fatalf("found %v, %v", r.Found, err)
	}
	for _, test := range []struct {
		references []*Reference
		violated   bool
	}{{nil, true}, {[]*Reference{s.Reference}, false}} {
		c, err := s.Shrink(t.Context(), r.Found[0], test.references...)
		if err != nil {
			t.Fatal(err)
		}
		for lock, violated := range map[string]bool{"redislock": true, "single": test.violated} {
			run := c.Scenario.Runs[0]
			o := simulated(t, c.Scenario, run.With(lock), max(run.Seed, 1))
			if slices.Contains(o.Failing(), c.Failing) != violated {
				t.Errorf("reduced beside %d references: %s violates %v", len(test.references), lock, o.Failing())
			}
		}
		if !c.Complete || c.Excused > 0 == test.violated {
			t.Errorf("reduced beside %d references: complete %t, %d runs excused", len(test.references), c.Complete, c.Excused)
		}
	}
}

// Extensions are compared with those of a lock that has them.
func TestAgainst(t *testing.T) {
	for _, c := range []struct {
		lock   string
		extend bool
		want   string
	}{{"redlock", true, "redlock-extend"}, {"redlock", false, "redlock"}, {"watchdog", true, "watchdog"}} {
		if r := compared(t, "single", c.lock, Shape{Extend: c.extend}).Reference; r.Lock != c.want {
			t.Errorf("%s, extended %t: compared with %s", c.lock, c.extend, r.Lock)
		}
	}
	if _, err := (&Search{Calm: calmShape(t, Shape{Lock: "single"})}).Against("redsync"); err == nil {
		t.Error("a library is a reference")
	}
}

// Nobody claims anything about fencing tokens by a comparison with a lock that gives none. But a token that repeats without a reason
// counts.
func TestReferenceWithoutTokens(t *testing.T) {
	lost := play.Failing{Property: checker.Tokens, Assumption: checker.DurableNodes}
	for reference, shared := range map[string]bool{"single": true, "fenced": false} {
		s := compared(t, "fenced", reference, Shape{}, script.SlowLink) // a kind under which no token goes wrong
		for f, want := range map[play.Failing]bool{lost: shared, {Property: checker.Tokens, Assumption: checker.None}: false} {
			if got, err := s.Reference.Shares(t.Context(), f, nil, 1); got != want || err != nil {
				t.Errorf("%v with %s: %v, %v, want %v", f, reference, got, err, want)
			}
		}
	}
}

// What the catalogue says of a larger drift, or of the clocks of others, excuses nothing.
func TestReferenceIsDocumentedForAsMuch(t *testing.T) {
	overlap := play.Failing{Property: checker.LeaseExclusion, Assumption: checker.BoundedClockError}
	for _, test := range []struct {
		lock, fault string
		nodes       int
		want        bool
	}{
		{"redlock", "drift n1 +5000ppm", 3, false}, // the catalogue has such a run from 13,000 ppm on
		{"redlock", "drift n1 +100000ppm", 3, true},
		{"redlock", "drift n1 -100000ppm", 3, true}, // another clock is then too fast for it
		{"single", "when n1 sets c1 jump n1 +12s", 1, true},
		{"single", "when c1 acquired jump c1 -12s", 1, false},
	} {
		r := compared(t, "single", test.lock, Shape{Nodes: test.nodes}).Reference
		if got, err := r.documented(overlap, faultsOf(t, test.fault)); got != test.want || err != nil {
			t.Errorf("%s, %s: documented: %t, %v, want %t", test.lock, test.fault, got, err, test.want)
		}
		takeover := play.Failing{Property: checker.OwnerOnly, Assumption: checker.BoundedClockError} // as an overlap
		if got, err := r.documented(takeover, faultsOf(t, test.fault)); got != test.want || err != nil {
			t.Errorf("%s, %s: owner only: documented: %t, %v, want %t", test.lock, test.fault, got, err, test.want)
		}
	}
}
