package scenarios

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/clients/libraries"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
)

// TestRestlessLibrariesRepeatWhatClientsSee takes less than a minute. These make it more, or less.
var (
	restlessSeeds = flag.Uint64("restless-seeds", 12, "how many seeds restless libraries are repeated with")
	restlessOf    = flag.String("restless", "", "the restless configurations that are repeated; all: every one; otherwise one a day of rueidislock, rueidislock-one and rueidislock-setpx, or with -all-draws all three")
	restlessSlow  = flag.Bool("restless-slow", false, "also the pages on which a restless library takes 5 to 15 s")
	restlessEvery = flag.Bool("restless-runs", false, "every run of the catalogue with every seed; otherwise the run changes with the seed")
)

// In at least 99 of 100 repetitions of a seed a restless library has the same verdict, and its clients see the same. The
// runs take turns with the seeds. Each seed is run five times, in several processes. Where the most differs is watchdog-pause, where the
// loss of a lease is told some milliseconds apart: it comes with every seed, so that its share is no accident.
func TestRestlessLibrariesRepeatWhatClientsSee(t *testing.T) {
	asLibraryWorker()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	configurations := strings.Split(*restlessOf, ",")
	if *restlessOf == "" {
		configurations = nil
		for i, name := range []string{"rueidislock", "rueidislock-one", "rueidislock-setpx"} {
			if draws.Due(uint64(i), 3) {
				configurations = append(configurations, name)
			}
		}
	}
	for _, l := range libraries.Locks() {
		if !l.Restless || *restlessOf != "all" && !slices.Contains(configurations, l.Name) {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			runs := libraryRuns(t, l)
			if !*restlessSlow {
				runs = slices.DeleteFunc(runs, func(c play.Case) bool {
					return slices.Contains([]string{"held-quietly", "delay-to-resource"}, c.Scenario.Name)
				})
			}
			var cases []play.Case
			for seed := range *restlessSeeds {
				for i, c := range runs {
					if *restlessEvery || i == int(seed)%len(runs) || c.Scenario.Name == "watchdog-pause" {
						c.Seed = seed
						cases = append(cases, c)
					}
				}
			}
			const times = 5
			first := make([]*play.Outcome, len(cases))
			of, differs := map[string]int{}, map[string]int{} // by run
			runLibraries(t, slices.Repeat(cases, times), func(i int, o *play.Outcome) {
				i %= len(cases)
				if o.Result.Verdict == checker.Inconclusive { // the canary compares checksums, which is not the question here
					o = play.Judge(o.Scenario, o.Run, o.History)
				}
				if first[i] == nil {
					first[i] = o
					return
				}
				of[o.Name()]++
				if o.Report != nil || first[i].Report != nil {
					t.Errorf("%s, seed %d: %v, %v", o.Name(), cases[i].Seed, first[i].Report, o.Report)
				} else if d := play.Difference(first[i], o); d != "" {
					differs[o.Name()]++
					t.Logf("%s with %s, seed %d, is not reproducible: %s", o.Name(), l.Name, cases[i].Seed, d)
				}
			})
			// Watchdog-pause comes more often than its turn, so it weighs what it is: one run of those that take turns.
			const restlessOne = "watchdog-pause/watchdog"
			differ, repetitions := 0, 0
			for run := range of {
				if run != restlessOne {
					differ, repetitions = differ+differs[run], repetitions+of[run]
				}
			}
			equal := func(differ, of int) float64 { return 100 * float64(of-differ) / float64(of) }
			others, one := equal(differ, repetitions), equal(differs[restlessOne], of[restlessOne])
			n := float64(len(runs))
			share := ((n-1)*others + one) / n
			t.Logf("%s: %.2f %% of repetitions are equal: %.2f %% of %d of %s, which is one of %.0f runs, and %.2f %% of %d of the others",
				l.Name, share, one, of[restlessOne], restlessOne, n, others, repetitions)
			if !(share >= 99) {
				t.Errorf("%.2f %% of repetitions are equal; 99 is what is promised", share)
			}
		})
	}
}
