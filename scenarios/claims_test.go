package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/scenarios/script"
)

// TestClaims: every claim has a run, and no run contradicts it. What a run says now is what counts, not what it is
// expected to say.
func TestClaims(t *testing.T) {
	outcomes := wholeCatalogue(t)
	claims := Claims()
	numbers := map[int]bool{}
	for _, c := range claims {
		n, err := strconv.Atoi(strings.TrimRight(c.ID, "ab"))
		if err != nil {
			t.Errorf("claim %q has no number", c.ID)
		}
		numbers[n] = true
		if c.Text == "" || c.So == "" || len(c.By) == 0 || len(c.Evidence) == 0 {
			t.Errorf("claim %s lacks its text, its voice, its evidence, or what that comes to", c.ID)
		}
		if c.Kind == Judgement && !slices.ContainsFunc(c.Evidence, func(e Evidence) bool { return e.Quantity != "" }) && c.ID != "21" {
			t.Errorf("claim %s is a judgement without a figure", c.ID)
		}
		who := map[string]bool{}
		for _, v := range c.By {
			who[v.Who] = true
		}
		if c.Kind == Agreed && !(who["Kleppmann"] && who["antirez"]) {
			t.Errorf("claim %s is agreed, and one of the two does not say it", c.ID)
		}
		for _, e := range c.Evidence {
			if err := e.contradiction(outcomes[e.Run]); err != nil {
				t.Errorf("claim %s: %s: %v", c.ID, e.Run, err)
			}
		}
	}
	for n := range 21 {
		if !numbers[n+1] {
			t.Errorf("claim %d is missing", n+1)
		}
	}
}

// TestClaimsOneMeasure: whoever makes a claim, it is judged by the same measure. A run in which the environment broke an assumption
// refutes no claim, because both authors make such assumptions; and what depends on the goal is shown for one goal and against another.
func TestClaimsOneMeasure(t *testing.T) {
	for _, c := range Claims() {
		broken := func(e Evidence) bool { return e.Status == checker.Violated }
		kept := func(e Evidence) bool { return e.Status == checker.OK }
		switch c.Kind {
		case Refuted:
			for _, e := range c.Evidence {
				if broken(e) && e.Assumption != checker.None {
					t.Errorf("claim %s, %q, is refuted by %s, in which %s was broken", c.ID, c.Text, e.Run, e.Assumption)
				}
			}
		case Depends:
			if !slices.ContainsFunc(c.Evidence, broken) || !slices.ContainsFunc(c.Evidence, kept) {
				t.Errorf("claim %s, %q, depends on the goal, and all of its runs come out alike", c.ID, c.Text)
			}
		}
	}
}

// TestClaimOfComparing: the claim that a random token serves the same purpose if it is compared in the step that writes rests on
// no run in which it is not compared.
func TestClaimOfComparing(t *testing.T) {
	compares := map[string]bool{}
	for _, name := range []string{"token-check-and-set", "fence-or-check-and-set"} {
		s, err := script.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Runs {
			compares[s.Name+"/"+r.ID()] = !slices.ContainsFunc(s.Resolve(r).Lanes, func(l script.Lane) bool {
				return slices.ContainsFunc(l.Steps, func(step script.Step) bool {
					w, ok := step.(script.Write)
					return ok && w.Blind
				})
			})
		}
	}
	for _, c := range Claims() {
		for _, e := range c.Evidence {
			if c.ID == "13b" && !compares[e.Run] {
				t.Errorf("claim 13b, %q, rests on %s, which does not compare", c.Text, e.Run)
			}
		}
	}
}

// TestFenceOrCheckAndSet: the two resources are compared in the same schedules. The clients do the same at the same times, but for
// entering, which only a compare-and-set has.
func TestFenceOrCheckAndSet(t *testing.T) {
	s, err := script.Find("fence-or-check-and-set")
	if err != nil {
		t.Fatal(err)
	}
	schedule := func(r script.Section) string {
		var b strings.Builder
		for _, l := range s.Resolve(r).Lanes {
			fmt.Fprintf(&b, "%s:", l.Process)
			for _, step := range l.Steps {
				if _, enters := step.(script.Enter); !enters {
					fmt.Fprintf(&b, " %v;", step)
				}
			}
		}
		return b.String()
	}
	schedules := map[string][]string{}
	for _, r := range s.Runs {
		schedules[r.Label] = append(schedules[r.Label], schedule(r))
	}
	if len(schedules) != 2 {
		t.Errorf("%d schedules, want 2", len(schedules))
	}
	for label, all := range schedules {
		if len(all) != 2 || all[0] != all[1] {
			t.Errorf("%s: the schedules differ:\n%s", label, strings.Join(all, "\n"))
		}
	}
}

// TestContradictions: evidence that a run does not bear out is found.
func TestContradictions(t *testing.T) {
	outcomes := wholeCatalogue(t)
	for _, tt := range []struct {
		evidence Evidence
		want     string
	}{
		{keeps("no-such/run", checker.LeaseExclusion), "there is no such run"},
		{keeps("clock-jump/redlock", checker.LeaseExclusion), "lease exclusion is violated, not ok"},
		{breaks("clock-jump-back/redlock", checker.LeaseExclusion, ""), "lease exclusion is ok, not violated"},
		{breaks("clock-jump/redlock", checker.LeaseExclusion, checker.BoundedPause), "lease exclusion breaks bounded clock error, not bounded pause"},
		{measures("clock-jump/redlock", checker.RoundTrips), "does not report round trips"},
	} {
		err := tt.evidence.contradiction(outcomes[tt.evidence.Run])
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: error %v, want %q", tt.evidence, err, tt.want)
		}
	}
}

// wholeCatalogue runs the catalogue, and returns the outcomes by the names of the runs.
func wholeCatalogue(t *testing.T) map[string]*Outcome {
	t.Helper()
	quietRedis()
	all, err := script.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]*Outcome{}
	for _, s := range all {
		for _, r := range s.Runs {
			o := simulated(t, s, r, 1)
			outcomes[o.Name()] = o
		}
	}
	return outcomes
}

// contradiction says why an outcome does not bear out the evidence; nil if it does.
func (e Evidence) contradiction(o *Outcome) error {
	switch {
	case o == nil:
		return fmt.Errorf("there is no such run")
	case o.Result.Verdict == checker.Inconclusive:
		return fmt.Errorf("the run proves nothing: %s", strings.Join(o.Result.Unmet, "; "))
	case e.Quantity != "":
		if !slices.ContainsFunc(o.Measurements, func(m checker.Measurement) bool { return m.Quantity == e.Quantity }) {
			return fmt.Errorf("it does not report %s", e.Quantity)
		}
		return nil
	}
	if got := o.Result.Status(e.Property); got != e.Status {
		return fmt.Errorf("%s is %s, not %s", e.Property, got, e.Status)
	}
	for _, v := range o.Result.Violations {
		if v.Property == e.Property && e.Assumption != "" && v.Assumption != e.Assumption {
			return fmt.Errorf("%s breaks %s, not %s", e.Property, v.Assumption, e.Assumption)
		}
	}
	return nil
}
