package scenarios

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"lockstep/clients"
	"lockstep/clients/broken"
	"lockstep/clients/sound"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/search"
)

var gateSeed = flag.Uint64("gate-seed", 1, "the seed with which the gate is tried; the table of what catches each broken lock is for 1")

// gate plays what [Test] plays for a lock, in this process, and returns the runs that fail the test. If one is enough, it begins with
// those that are in the table of what failed before, and ends with the first that fails.
func gate(t *testing.T, v clients.Lock, seed uint64, first bool, before string) (failed []*play.Outcome) {
	t.Helper()
	o, err := gather(v.New, []Option{Like(v.Like...), Seed(seed)}, (*options).forCatalogue)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := o.trials(v.Name, v.New)
	if err != nil {
		t.Fatal(err)
	}
	if first {
		known := func(a trial) bool { return strings.Contains(before, "  "+a.Scenario.Name+"/"+a.Run.ID()+": ") }
		if i := slices.IndexFunc(trials, known); i >= 0 {
			trials[0], trials[i] = trials[i], trials[0]
		}
	}
	for _, trial := range trials {
		trial.Case.Promise = trial.promise
		var out *play.Outcome
		if len(trial.Scenario.Sweep) > 0 {
			out, err = (&search.Search{}).Sweep(t.Context(), trial.Case)
		} else if out, err = play.Simulate(trial.Scenario, trial.Run, v.New, seed); err == nil {
			out.Promise = trial.promise
		}
		if err != nil {
			t.Fatalf("%s in %s/%s: %v", v.Name, trial.Scenario.Name, trial.Run.ID(), err)
		}
		if out.Failed() {
			failed = append(failed, out)
			if first {
				break
			}
		}
	}
	return failed
}

// seldom is [draws.Seldom] for one part in ten, unless files are renewed.
func seldom(t *testing.T, part int) {
	t.Helper()
	if !*rewrite {
		draws.Seldom(t, uint64(part), 10)
	}
}

// caughtBy is the table in the file that says which runs catch each broken lock.
const caughtBy = "testdata/caught.txt"

// Test fails for each broken lock in the place of the lock that it is like. The file says in which runs.
func TestGateCatches(t *testing.T) {
	play.QuietRedis()
	have, err := os.ReadFile(caughtBy)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for i, v := range broken.All() {
		t.Run(v.Name, func(t *testing.T) {
			seldom(t, i)
			all := *rewrite || !testing.Short() && draws.Due(uint64(i), 32)
			_, before, _ := strings.Cut(string(have), v.Name+", like ")
			before, _, _ = strings.Cut(before, ", like ") // that of the next lock
			failed := gate(t, v, *gateSeed, !all, before)
			if why := missed[v.Name]; (len(failed) == 0) != (why != "") {
				t.Errorf("%s, like %s, fails %d runs; the reason why it passes is %q", v.Name, v.Like[0], len(failed), why)
			}
			row := fmt.Sprintf("%s, like %s: %s\n", v.Name, v.Like[0], v.About)
			for _, o := range failed {
				broken := o.Broken()
				row += fmt.Sprintf("  %s: %s (%s)\n", o.Name(), broken[0].Property, broken[0].Assumption)
			}
			b.WriteString(row)
			if all && !*rewrite && *gateSeed == 1 && !strings.Contains(string(have), row) {
				t.Errorf("%s is out of date; go test ./scenarios -run GateCatches -rewrite renews it:\n%s", caughtBy, row)
			}
		})
	}
	if *rewrite {
		if err := os.WriteFile(caughtBy, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// missed are the broken locks that Test does not catch, and what would.
var missed = map[string]string{
	"single-error-is-refusal": "the key stays for one TTL, as after each lost reply on one node; a property that compares a refusal with the keys that it leaves",
	"single-release-told-ok":  "a release that finds nothing to release does no harm; a property that says what a release must return",
}

// Test passes for each sound lock.
func TestGatePasses(t *testing.T) {
	play.QuietRedis()
	for i, v := range sound.Locks() {
		t.Run(v.Name, func(t *testing.T) {
			seldom(t, i)
			if !testing.Short() && !draws.Due(uint64(i), 12) {
				t.Skip("another day")
			}
			for _, o := range gate(t, v, *gateSeed, false, "") {
				t.Errorf("%s, like %s, fails %s\n%s%s", v.Name, v.Like[0], o.Name(), o.Timeline(), o.Complain())
			}
		})
	}
}

// oneEnough returns what a lock violates under plans with one perturbation, as [Explore] plays them, by workload.
func oneEnough(t *testing.T, v clients.Lock, seed uint64) map[search.Workload]*search.Bounded {
	t.Helper()
	o, err := gather(v.New, []Option{Like(v.Like[0]), Seed(seed)}, (*options).forExploring)
	if err != nil {
		t.Fatal(err)
	}
	var calm []*search.Search
	var references []*search.Reference
	for _, shape := range o.shapes() {
		page, err := shape.Calm()
		if err != nil {
			t.Fatal(err)
		}
		s := &search.Search{Calm: page, Lock: v.Name, Seed: seed, New: v.New, Fixed: true}
		if s.Reference, err = s.Against(v.Like[0]); err != nil {
			t.Fatal(err)
		}
		calm, references = append(calm, s), append(references, s.Reference)
	}
	all := map[search.Workload]*search.Bounded{}
	for i, s := range calm {
		s.Reference.Also(references...)
		if all[o.shapes()[i].Workload], err = s.Bound(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Nor is a sound lock worse than its reference under a plan with one perturbation. A sixth of the locks is tried each day.
func TestExploreAccusesNoSoundLock(t *testing.T) {
	play.QuietRedis()
	for i, v := range sound.Locks() {
		t.Run(v.Name, func(t *testing.T) {
			seldom(t, i)
			if !draws.Due(uint64(i), 12) {
				t.Skip("another day")
			}
			for workload, b := range oneEnough(t, v, *gateSeed) {
				for _, f := range b.Found {
					t.Errorf("%s, worse than %s in the workload %s: %s\n%v", v.Name, v.Like[0], workload, f.Failing, f.Plan)
				}
			}
		})
	}
}

// TestReferencesProveAll is what a user writes for a lock that is built in: each run that applies must prove something, with a few exceptions. Runs
// are played in worker processes, which read them from text.
func TestReferencesProveAll(t *testing.T) {
	for i, name := range references {
		t.Run(name, func(t *testing.T) {
			if name != waits { // which is played in runs that are changed for it
				seldom(t, i)
			}
			proved := Strict()
			if name == "watchdog" || name == "redlock-sequential" { // four runs need a lease that ends, or one that is nearly over when it is granted
				proved = AtLeast(0.95)
			}
			Test(t, findLock(t, name), Like(name), proved)
		})
	}
}

// Each reference passes in its own place.
func TestGatePassesReferences(t *testing.T) {
	draws.Seldom(t, 2, 4)
	play.QuietRedis()
	for i, name := range references {
		t.Run(name, func(t *testing.T) {
			seldom(t, i)
			if !testing.Short() {
				draws.Turn(t, uint64(i), 2)
			}
			for _, o := range gate(t, clients.Lock{Name: "mine", Like: []string{name}, New: findLock(t, name)}, *gateSeed, false, "") {
				t.Errorf("%s fails %s\n%s%s", name, o.Name(), o.Timeline(), o.Complain())
			}
		})
	}
}
