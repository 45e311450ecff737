package scenarios

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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

// fixed is a lock whose clients mark their keys in the same way each time.
type fixed struct {
	clients.Env
	token string
}

func (l fixed) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	until := l.Clock.Now().Add(ttl)
	ok, err := l.Nodes[0].SetNX(ctx, name, l.token, ttl).Result()
	if err == nil && !ok {
		err = clients.ErrNotAcquired
	}
	return fixedLease{l, name, until}, err
}

type fixedLease struct {
	lock  fixed
	name  string
	until time.Time
}

func (l fixedLease) Until() time.Time                  { return l.until }
func (l fixedLease) Release(ctx context.Context) error { return l.lock.Nodes[0].Del(ctx, l.name).Err() }

// A lock need not draw a fresh token for each attempt in order to be understood: the operation tells what a key stands for.
// Each of these locks releases without comparison, and is caught at it.
func TestMarksUsedAgain(t *testing.T) {
	quietRedis()
	s, err := Parse("again.txtar", []byte(`# The lock is taken again and again, and at last given back too late.

client c1
  acquire
  release
  until 2s
  acquire
  pause 12s
  release
client c2
  until 1s
  acquire
  release
  until 13s
  acquire
  until 15s
  release
must c1 holds exactly n1
must c1 resumes after its lease ended

-- single nodes=1 --
expect owner only violated
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]func(clients.Env) string{
		"one token for each client": func(env clients.Env) string { return strconv.FormatUint(env.Rand.Uint64()|1<<63, 10) },
		"one value for all":         func(clients.Env) string { return "1" },
	} {
		o, err := Simulate(s, s.Runs[0], func(env clients.Env) clients.Locker { return fixed{env, token(env)} }, 1)
		if err != nil {
			t.Fatal(err)
		}
		if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
			t.Errorf("%s: %s\n%s", name, strings.Join(diffs, "; "), o.Timeline())
		}
		var labels []string
		for _, l := range checker.Leases(o.History) {
			labels = append(labels, l.Label)
		}
		if got := strings.Join(labels, " "); got != "c1#1 c2#1 c1#2 c2#2 probe#1" {
			t.Errorf("%s: leases %s", name, got)
		}
	}
}
