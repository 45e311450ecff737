package scenarios

import (
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// An expectation that names an assumption wants it from each violation of the property, and from no other property.
func TestUnexpectedAssumption(t *testing.T) {
	found := func(p checker.Property, a checker.Assumption) checker.Violation {
		return checker.Violation{Property: p, Assumption: a, What: "it broke"}
	}
	lease, owner := checker.LeaseExclusion, checker.OwnerOnly
	for _, c := range []struct {
		name       string
		assumption checker.Assumption
		violations []checker.Violation
		want       string
	}{
		{"as expected", checker.DurableNodes, []checker.Violation{found(owner, checker.None), found(lease, checker.DurableNodes)}, ""},
		{"whatever it is", "", []checker.Violation{found(lease, checker.BoundedPause)}, ""},
		{"another", checker.DurableNodes, []checker.Violation{found(owner, checker.None), found(lease, checker.BoundedClockError)},
			"lease exclusion: expected broken assumption \"durable nodes\", got broken assumption \"bounded clock error\""},
		{"the second is another", checker.DurableNodes, []checker.Violation{found(lease, checker.DurableNodes), found(lease, checker.BoundedClockError)},
			"lease exclusion: expected broken assumption \"durable nodes\", got broken assumption \"bounded clock error\" in violation 2: it broke"},
		{"the lock is not at fault", checker.None, []checker.Violation{found(lease, checker.BoundedDelay)},
			"lease exclusion: expected no broken assumption, got broken assumption \"bounded delay\""},
		{"the lock is at fault", checker.BoundedDelay, []checker.Violation{found(lease, checker.None)},
			"lease exclusion: expected broken assumption \"bounded delay\", got no broken assumption"},
	} {
		o := &play.Outcome{
			Run: script.Section{Expect: []script.Expectation{{Property: lease, Status: checker.Violated, Assumption: c.assumption}}},
			Result: checker.Result{
				Statuses:   []checker.PropertyStatus{{Property: lease, Status: checker.Violated}},
				Violations: c.violations,
			},
		}
		if got := strings.Join(o.Unexpected(), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
