package scenarios

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/sim"
)

var rewrite = flag.Bool("rewrite", false, "renew the timelines in the catalogue; what they expect stays")

// find returns a scenario of the catalogue and one of its runs: NAME/RUN.
func find(t *testing.T, name string) (*Scenario, Run) {
	t.Helper()
	name, id, _ := strings.Cut(name, "/")
	s, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.FindRun(id)
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// simulated runs a case with the lock that it names.
func simulated(t *testing.T, s *Scenario, r Run, seed uint64) *Outcome {
	t.Helper()
	build, err := clients.Find(r.Lock)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Simulate(s, r, build, seed)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Every run of the catalogue comes out as it is expected to, and its timeline as it stands in the file.
func TestCatalogue(t *testing.T) {
	quietRedis()
	all, err := Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			for i, r := range s.Runs {
				o := simulated(t, s, r, 1)
				if len(o.Result.Unmet) > 0 {
					t.Errorf("%s: nothing is proved: %s\n%s", r.ID(), strings.Join(o.Result.Unmet, "; "), o.Timeline())
				}
				if diffs := o.Unexpected(); len(diffs) > 0 {
					t.Errorf("%s: %s\n%s", r.ID(), strings.Join(diffs, "; "), o.Timeline())
				}
				if o.Timeline() != r.Golden && !*rewrite {
					t.Errorf("%s: the timeline is not the one in the file (go test ./scenarios -rewrite renews it):\n%s", r.ID(), o.Timeline())
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

// The verdicts belong to the scenario, not to the seed.
func TestCatalogueUnderOtherSeeds(t *testing.T) {
	quietRedis()
	all, err := Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	seeds := uint64(30)
	if testing.Short() {
		seeds = 3
	}
	for _, s := range all {
		for _, r := range s.Runs {
			for seed := range seeds {
				o := simulated(t, s, r, seed)
				if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
					t.Errorf("%s, %s, seed %d: %s", s.Name, r.ID(), seed, strings.Join(diffs, "; "))
				}
			}
		}
	}
}

// Without any one of its faults a run proves nothing: either a must is not met, or another fault has no effect. A fault that
// a run can do without does not belong into it.
func TestEveryFaultIsNeeded(t *testing.T) {
	quietRedis()
	all, err := Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, r := range s.Runs {
			full := s.Resolve(r)
			for i, lane := range full.Lanes {
				for j, step := range lane.Steps {
					if _, pause := step.(Pause); lane.Process != Nemesis && !pause {
						continue
					}
					less := full
					less.Lanes = slices.Clone(full.Lanes)
					less.Lanes[i].Steps = slices.Delete(slices.Clone(lane.Steps), j, j+1)
					o := simulated(t, s, less, 1)
					if o.Result.Verdict != checker.Inconclusive && !byChance(s, r) {
						t.Errorf("%s, %s: without %q the verdict is %s", s.Name, r.ID(), step, o.Result.Verdict)
					}
				}
			}
		}
	}
}

// byChance tells the run whose faults make sure of what could also happen without one of them: each of its delays decides one
// race.
func byChance(s *Scenario, r Run) bool {
	return s.Name == "redlock-contended" && r.Label == "staggered"
}

// A fault whose moment never comes is not forgotten: the run proves nothing.
func TestMissedFault(t *testing.T) {
	quietRedis()
	s, r := find(t, "redlock-majority-down/redlock")
	s.Lanes = slices.Clone(s.Lanes)
	for i, lane := range s.Lanes {
		if lane.Process == Nemesis {
			fault := When{Event: Event{Process: "c2", What: Acquired}, Fault: sim.Pause{Process: "c2"}}
			s.Lanes[i].Steps = append(slices.Clone(lane.Steps), Step(fault))
		}
	}
	o := simulated(t, s, r, 1)
	if o.Result.Verdict != checker.Inconclusive || !strings.Contains(strings.Join(o.Result.Unmet, "\n"), "pause c2") {
		t.Errorf("verdict %s because of %q", o.Result.Verdict, o.Result.Unmet)
	}
}
