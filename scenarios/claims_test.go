package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/checker"
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

// TestClaimOfComparing: the claim that a random token does if it is compared before each write is not refuted by runs in which
// it is not compared.
func TestClaimOfComparing(t *testing.T) {
	s, err := Find("token-check-and-set")
	if err != nil {
		t.Fatal(err)
	}
	blind := map[string]bool{}
	for _, r := range s.Runs {
		name := s.Name + "/" + r.ID()
		blind[name] = false
		for _, l := range r.Lanes {
			for _, step := range l.Steps {
				w, ok := step.(Write)
				blind[name] = blind[name] || ok && w.Blind
			}
		}
	}
	for _, c := range Claims() {
		for _, e := range c.Evidence {
			if was, known := blind[e.Run]; c.ID == "13b" && (was || !known) {
				t.Errorf("claim 13b, %q, stands on %s, which does not compare", c.Text, e.Run)
			}
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
	all, err := Catalogue()
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
