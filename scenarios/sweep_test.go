package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/clients/broken"
	"lockstep/internal/draws"
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
	for n, s := range sweeps(t) {
		for _, r := range s.Runs {
			for seed := range uint64(30) {
				if seed == 1 || !draws.Due(uint64(n)*30+seed, 60) {
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

// If a lock breaks one claim because an assumption is broken, and another although none is, the sweep shows the second and names the first,
// also if both are broken at one position.
func TestSweepShowsTheLocksOwnFault(t *testing.T) {
	for _, test := range []struct {
		run, lock string
		own       checker.Property
		also      string
	}{
		{"sweep-client-jump/single", "single-until-wall", checker.ExpiredOnReturn, "lease exclusion violated, broken assumption \"bounded clock error\" (when "},
		{"sweep-delay-slow-clock/fenced", "fenced-after", checker.Tokens, "resource exclusion violated, broken assumption \"bounded delay\" (on "},
	} {
		s, r := find(t, test.run)
		c := play.Case{Scenario: s, Run: r.With(test.lock), New: findLock(t, test.lock)}
		c.Promise = play.Promise{As: []script.Section{r}}
		o, err := (&search.Search{}).Sweep(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		shown, also := o.Broken(), strings.Join(o.Sweep.Also, "\n")
		if len(shown) != 1 || shown[0].Property != test.own || shown[0].Assumption != checker.None {
			t.Errorf("%s in %s: shown: %v", test.lock, test.run, shown)
		}
		if strings.Count(also, test.also) != 1 || strings.Contains(also, string(test.own)) || !strings.Contains(o.Timeline(), "\nalso: "+test.also) {
			t.Errorf("%s in %s: also: %s\n%s", test.lock, test.run, also, o.Timeline())
		}
	}
}

// The last line says that a sweep was played in part, and such a sweep is not said to be better than the reference.
func TestSweptInPart(t *testing.T) {
	s, r := find(t, "sweep-delay/single") // single is expected to violate fault tolerance there
	o := &play.Outcome{Scenario: s, Run: r.With("mine"), Promise: play.Promise{As: []script.Section{r}}, Sweep: &play.Sweep{Positions: 5, Possible: 5}}
	o.Result.Verdict = checker.Safe
	if got := sentence([]*play.Outcome{o}); got != "1 run: 1 proved (1 SAFE, 1 of them where single is not)" {
		t.Error(got)
	}
	o.Sweep.Possible++
	if got := sentence([]*play.Outcome{o}); got != "1 run: 1 proved (1 SAFE; 1 swept in part)" {
		t.Error(got)
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

// If a sweep has reduced the run of a lock that is worse than its reference, the reference keeps the property in the smaller run as well. If
// it does not, the whole run is shown.
func TestReducedSweepsAreWorseThanTheReference(t *testing.T) {
	play.QuietRedis()
	shown, whole := 0, 0
	for i, v := range broken.All() {
		if !strings.HasPrefix(v.Name, "watchdog-") || testing.Short() && !draws.Due(uint64(i), 10) {
			continue
		}
		o, err := gather(v.New, []Option{Like(v.Like...), Only("sweep-empty", "sweep-jump", "sweep-drift")}, (*options).forCatalogue)
		if err != nil {
			t.Fatal(err)
		}
		trials, err := o.trials(v.Name, v.New)
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range trials {
			trial.Case.Promise = trial.promise
			out, err := (&search.Search{}).Sweep(t.Context(), trial.Case)
			if err != nil {
				t.Fatal(err)
			}
			all := out.Broken()
			if len(all) == 0 || all[0].Assumption == checker.None {
				continue
			}
			if out.Sweep.Reduced == "" {
				whole++
				continue
			}
			shown++
			reference := simulated(t, out.Sweep.Page, out.Sweep.Page.Runs[0], 1)
			if reference.Result.Status(all[0].Property) == checker.Violated {
				t.Errorf("%s in %s: %s violates %s as well in\n%s", v.Name, out.Name(), reference.Run.Lock, all[0].Property, out.Sweep.Reduced)
			}
		}
	}
	if (shown == 0 || whole == 0) && !testing.Short() {
		t.Errorf("%d reduced runs and %d whole ones; there must be some of both", shown, whole)
	}
}
