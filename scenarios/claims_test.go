package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockstep/scenarios/claims"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// TestClaims: no run contradicts its claim. What a run says now is what counts, not what it is expected to say.
func TestClaims(t *testing.T) {
	outcomes, left := wholeCatalogue(t), leftOut(t)
	for _, c := range argument(t).Claims {
		for _, e := range c.Evidence {
			o := outcomes[e.Run]
			if left[e.Run] {
				continue
			}
			if o == nil {
				t.Errorf("claim %s: there is no run %s", c.ID, e.Run)
				continue
			}
			if err := e.Contradiction(o.Result, o.Measurements); err != nil {
				t.Errorf("claim %s: %s: %v", c.ID, e.Run, err)
			}
		}
	}
}

func argument(t *testing.T) *claims.Argument {
	t.Helper()
	a, err := claims.Load()
	if err != nil {
		t.Fatal(err)
	}
	return a
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
	for _, c := range argument(t).Claims {
		for _, e := range c.Evidence {
			if c.ID == "17b" && !compares[e.Run] {
				t.Errorf("claim 17b, %q, rests on %s, which does not compare", c.Text, e.Run)
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

var cataloguePlayed = map[string]*play.Outcome{} // see wholeCatalogue

// wholeCatalogue returns the outcomes of the runs that stories returns, by their names. Tests share them, and must not change them. They are
// played once, because that takes seconds.
func wholeCatalogue(t *testing.T) map[string]*play.Outcome {
	t.Helper()
	if len(cataloguePlayed) > 0 {
		return cataloguePlayed
	}
	play.QuietRedis()
	outcomes := map[string]*play.Outcome{}
	for _, s := range stories(t) {
		for _, r := range s.Runs {
			o := simulated(t, s, r, 1)
			outcomes[o.Name()] = o
		}
	}
	cataloguePlayed = outcomes
	return outcomes
}
