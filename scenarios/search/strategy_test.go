package search

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"lockstep/checker"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
)

// A catch is what a hunt came to.
type catch struct {
	found bool
	trial Trial // what was found
	walks int
	runs  int   // of the broken lock
	broke error // why it came to no end
}

// walk makes walks with a strategy, from a seed on, until the broken lock violates the property in a run in which the proper lock does
// not, or until there were so many runs.
func (h hunt) walk(t testing.TB, s Strategy, start uint64, runs int) (c catch) {
	calm, build := h.broken(t)
	proper, properly := h.whole(t)
	only := []checker.Property{h.property}
	c.broke = play.Series(func(replayed play.Player) {
		x := &explorer{calm: calm, build: build, play: replayed, properties: only}
		of := &Task{Kinds: h.kinds, Constants: constantsOf(x, start)}
		x.played = 0
		for seed := start; !c.found && x.played < runs; seed++ {
			walk(t.Context(), x, of, s, seed, func(trial Trial, _ []Perturbation, _ *play.Outcome) bool {
				if trial.Class == Violating {
					p := Perturbed(proper, trial.Plan)
					c.found, c.trial = len(replayed(p, p.Runs[0], properly, seed).Failing(only...)) == 0, trial
				}
				return trial.Class != Violating && x.played < runs
			})
			c.walks++
		}
		c.runs = x.played
	})
	return c
}

func constantsOf(x *explorer, seed uint64) Constants {
	var y Result
	(&survey{}).run(x, &Task{}, seed, &y)
	return y.Constants
}

// strategyDocs has the table of how many runs it takes until each strategy has found each broken lock.
const strategyDocs = "../../docs/exploring.md"

// What the table is measured with. The seeds to start from lie too far apart for their walks to meet.
const (
	strategySeeds = 5
	strategyRuns  = 1500
)

// furtherHunts are for mistakes whose locks are not in hunts: those that one perturbation does not show, and a sample of those that it
// does.
var furtherHunts = []hunt{
	{lacks: "the release of a failed try", lock: "redlock-leaves-failed", proper: "redlock", property: checker.FaultTolerance,
		shape: Shape{Nodes: 3}, kinds: bounded, bound: 2},
	{lacks: "the end of a renewed lease", lock: "watchdog-from-reply", proper: "watchdog", property: checker.LeaseExclusion,
		shape: Shape{Workload: Beyond}, kinds: bounded, bound: 2},
	{lacks: "a token for each attempt", lock: "single-client-token", proper: "single", property: checker.LeaseExclusion,
		shape: Shape{Workload: Again}, kinds: bounded, bound: 2},
	{lacks: "a look at what WATCH guards", lock: "single-late-watch", proper: "single", property: checker.OwnerOnly,
		shape: Shape{Workload: Again}, kinds: bounded, bound: 1},
	{lacks: "a token for each try", lock: "redlock-same-token", proper: "redlock", property: checker.NoLostVote,
		shape: Shape{Nodes: 3}, kinds: bounded, bound: 1},
	{lacks: "votes of one try only", lock: "redlock-collects", proper: "redlock", property: checker.LeaseExclusion,
		shape: Shape{Nodes: 3}, kinds: bounded, bound: 1},
	{lacks: "a renewal that only renews", lock: "watchdog-recreates", proper: "watchdog", property: checker.FaultTolerance,
		shape: Shape{Workload: Beyond}, kinds: bounded, bound: 1},
}

// The table in the documentation says in how many runs each strategy finds each broken lock. -rewrite measures it again, -run with the
// name of a lock one row. Otherwise the default strategy must find the lock as the table says; some rows are tried each day.
func TestStrategiesFindBrokenLocks(t *testing.T) {
	if testing.Short() {
		t.Skip("plays thousands of runs")
	}
	play.QuietRedis()
	data, err := os.ReadFile(strategyDocs)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for i, h := range slices.Concat(hunts, furtherHunts) {
		if h.beyond != "" {
			continue
		}
		t.Run(h.lock, func(t *testing.T) {
			start := fmt.Sprintf("| `%s` | %s | %s |", h.lock, h.lacks, h.sets())
			at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, start) })
			if at < 0 {
				t.Fatalf("%s must have a row that begins with %q", strategyDocs, start)
			}
			if *rewrite {
				for _, s := range Strategies() {
					start += " " + h.median(t, s) + " |"
				}
				lines[at] = start
				return
			}
			if testing.Short() || !draws.Due(uint64(i), 40) {
				t.Skip("another day")
			}
			if want := start + " " + h.median(t, Strategies()[0]) + " |"; !strings.HasPrefix(lines[at], want) {
				t.Errorf("go test ./scenarios/search -run StrategiesFind -timeout 0 -rewrite renews the row in %s, which must begin with\n%s\nnot\n%s", strategyDocs, want, lines[at])
			}
		})
	}
	if *rewrite {
		if err := os.WriteFile(strategyDocs, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sets says how many perturbations a bounded search needs.
func (h hunt) sets() string {
	if h.bound < 2 {
		return "yes"
	}
	return "no"
}

// median hunts from all seeds, two at a time. A hunt that found nothing took more runs than any that did.
func (h hunt) median(t *testing.T, s Strategy) string {
	all := make([]catch, strategySeeds)
	var hands sync.WaitGroup
	for hand := range 2 {
		hands.Go(func() {
			for i := hand; i < len(all); i += 2 {
				all[i] = h.walk(t, s, uint64(i)<<32+1, strategyRuns)
			}
		})
	}
	hands.Wait()
	var runs []int
	missed := 0
	for _, c := range all {
		if c.broke != nil {
			t.Errorf("%s, %s: %v", h.lock, s, c.broke)
		}
		if !c.found {
			missed++
			c.runs = strategyRuns + 1
		}
		runs = append(runs, c.runs)
	}
	slices.Sort(runs)
	switch text := Grouped(runs[len(runs)/2]); {
	case missed > len(runs)/2:
		return fmt.Sprintf("missed %d of %d", missed, len(runs))
	case missed > 0:
		return fmt.Sprintf("%s (%d missed)", text, missed)
	default:
		return text
	}
}
