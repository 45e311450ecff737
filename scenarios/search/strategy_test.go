package search

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"

	"lockstep/checker"
	"lockstep/scenarios/play"
)

// What TestStrategiesFindBrokenLocks covers takes half a minute. These have it measure the strategies against each other:
//
//	go test ./scenarios/search -run TestStrategiesFindBrokenLocks -timeout 0 -args -strategy-seeds 20
var (
	strategySeeds = flag.Int("strategy-seeds", 0, "how many times each strategy hunts each broken lock; 0: once, and only the portfolio")
	strategyRuns  = flag.Int("strategy-runs", 20_000, "how many runs each such hunt may take")
	strategyLock  = flag.String("strategy-lock", "", "only this broken lock")
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

// Every broken lock but those that take a rare coincidence is found by the default strategy within some hundred walks.
func TestStrategiesFindBrokenLocks(t *testing.T) {
	if testing.Short() {
		t.Skip("plays thousands of runs")
	}
	play.QuietRedis()
	if *strategySeeds > 0 {
		measureStrategies(t, os.Stdout)
		return
	}
	for _, h := range hunts {
		if h.beyond != "" || h.rare {
			continue
		}
		c := h.walk(t, Portfolio, 1, 1500)
		switch {
		case c.broke != nil:
			t.Errorf("%s: %v", h.lock, c.broke)
		case !c.found:
			t.Errorf("%s escapes %d walks of %d runs", h.lock, c.walks, c.runs)
		default:
			t.Logf("%s: found in walk %d, run %d: %v", h.lock, c.walks, c.runs, c.trial.Plan)
		}
	}
}

// measureStrategies prints how many runs it takes until each strategy has found each broken lock: the median over as many
// seeds to start from, which lie too far apart for their walks to meet.
func measureStrategies(t *testing.T, w io.Writer) {
	fmt.Fprintf(w, "runs until found, median of %d; most runs %d\n%-30s", *strategySeeds, *strategyRuns, "")
	for _, s := range Strategies() {
		fmt.Fprintf(w, " %16s", s)
	}
	fmt.Fprintln(w)
	for _, h := range hunts {
		if h.beyond != "" || *strategyLock != "" && h.lock != *strategyLock {
			continue
		}
		fmt.Fprintf(w, "%-30s", h.lock)
		for _, s := range Strategies() {
			fmt.Fprintf(w, " %16s", h.median(t, s))
		}
		fmt.Fprintln(w)
	}
}

// median hunts from all seeds, two at a time. A hunt that found nothing took more runs than any that did.
func (h hunt) median(t *testing.T, s Strategy) string {
	all := make([]catch, *strategySeeds)
	var hands sync.WaitGroup
	for hand := range 2 {
		hands.Go(func() {
			for i := hand; i < len(all); i += 2 {
				all[i] = h.walk(t, s, uint64(i)<<32+1, *strategyRuns)
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
		}
		runs = append(runs, c.runs)
	}
	slices.Sort(runs)
	switch text := Grouped(runs[len(runs)/2]); {
	case missed > len(runs)/2:
		return fmt.Sprintf("missed %d of %d", missed, len(runs))
	case missed > 0:
		return fmt.Sprintf("%s (-%d)", text, missed)
	default:
		return text
	}
}
