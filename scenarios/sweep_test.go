package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/scenarios/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
)

// sweeps returns the swept pages of the catalogue.
func sweeps(t *testing.T) []*script.Scenario {
	t.Helper()
	all, err := script.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	var swept []*script.Scenario
	for _, s := range all {
		if len(s.Sweep) > 0 {
			swept = append(swept, s)
		}
	}
	return swept
}

func swept(t *testing.T, s *script.Scenario, r script.Section, seed uint64) *play.Outcome {
	t.Helper()
	o, err := (&search.Search{}).Sweep(t.Context(), play.Case{Scenario: s, Run: r, Seed: seed, New: findLock(t, r.Lock)})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Every sweep of the catalogue finds what its page expects, and its worst run is the one in the file.
func TestSweeps(t *testing.T) {
	for n, s := range sweeps(t) {
		t.Run(s.Name, func(t *testing.T) {
			seldom(t, n)
			for i, r := range s.Runs {
				o := swept(t, s, r, 1)
				if o.Surprising() {
					t.Errorf("%s: %s\n%s", r.ID(), strings.Join(append(o.Unexpected(), o.Result.Unmet...), "; "), o.Timeline())
				}
				if o.Timeline() != r.Golden && !*rewrite {
					t.Errorf("%s: the text is not the one in the file (make golden renews it):\n%s", r.ID(), o.Timeline())
				}
				s.Runs[i].Golden = o.Timeline()
			}
			if *rewrite {
				if err := os.WriteFile(filepath.Join("catalogue", s.File), []byte(s.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// What a sweep finds belongs to the page, not to the seed.
func TestSweepsUnderOtherSeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some ten thousand runs")
	}
	for _, s := range sweeps(t) {
		for _, r := range s.Runs {
			for seed := range uint64(30) {
				if seed == 1 || !draws.Due(seed, 30) {
					continue
				}
				if o := swept(t, s, r, seed); o.Surprising() {
					t.Errorf("%s/%s, seed %d: %s", s.Name, r.ID(), seed, strings.Join(append(o.Unexpected(), o.Result.Unmet...), "; "))
				}
			}
		}
	}
}

// The position that a sweep shows is one that breaks a claim, if there is one, even if an earlier one violates what the reference
// violates as well.
func TestSweepShowsTheWorst(t *testing.T) {
	s, r := find(t, "sweep-delay/single")
	c := play.Case{Scenario: s, Run: r.With("getdel"), New: findLock(t, "getdel")}
	c.Promise = play.Promise{As: []script.Section{r}}
	o, err := (&search.Search{}).Sweep(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if o.Standing() != play.Broke || o.Result.Status(checker.LeaseExclusion) != checker.Violated || o.Sweep.Violated < 2 || o.Sweep.Worst == "" {
		t.Errorf("%v\n%s", o.Standing(), o.Timeline())
	}
}

// A sweep does not apply to a lock that cannot do what its clients ask for, and says so.
func TestSweepDoesNotApply(t *testing.T) {
	s, r := find(t, "sweep-die/single-extend")
	o, err := (&search.Search{}).Sweep(t.Context(), play.Case{Scenario: s, Run: r.With("single"), New: findLock(t, "single")})
	if err != nil {
		t.Fatal(err)
	}
	if o.Standing() != play.NotApplicable || o.Inapplicable() != "its leases cannot be extended" || o.Sweep.Positions != 0 {
		t.Errorf("%v, %q, %+v", o.Standing(), o.Inapplicable(), o.Sweep)
	}
}
