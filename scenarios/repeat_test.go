package scenarios

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients/libraries"
	"lockstep/sim/history"
)

// TestRestlessLibrariesRepeatWhatClientsSee takes less than a minute. These make it more, or less.
var (
	restlessSeeds = flag.Uint64("restless-seeds", 12, "how many seeds restless libraries are repeated with")
	restlessOf    = flag.String("restless", "rueidislock,rueidislock-one,rueidislock-setpx", "the restless configurations that are repeated; all: every one")
	restlessSlow  = flag.Bool("restless-slow", false, "also the pages on which a restless library takes 5 to 15 s")
	restlessEvery = flag.Bool("restless-runs", false, "every run of the catalogue with every seed; otherwise the run changes with the seed")
)

// In at least 99 of 100 repetitions of a seed a restless library has the same verdict, and its clients see the same. The
// runs take turns with the seeds. Each seed is run five times, in several processes. Where the most differs is watchdog-pause, where the
// loss of a lease is told some milliseconds apart: it comes with every seed, so that its share is no accident.
func TestRestlessLibrariesRepeatWhatClientsSee(t *testing.T) {
	asLibraryWorker()
	for _, l := range libraries.Locks() {
		if !l.Restless || *restlessOf != "all" && !slices.Contains(strings.Split(*restlessOf, ","), l.Name) {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			runs := libraryRuns(t, l)
			if !*restlessSlow {
				runs = slices.DeleteFunc(runs, func(c Case) bool {
					return slices.Contains([]string{"held-quietly", "delay-to-resource"}, c.Scenario.Name)
				})
			}
			var cases []Case
			for seed := range *restlessSeeds {
				for i, c := range runs {
					if *restlessEvery || i == int(seed)%len(runs) || c.Scenario.Name == "watchdog-pause" {
						c.Seed = seed
						cases = append(cases, c)
					}
				}
			}
			const times = 5
			first := make([]*Outcome, len(cases))
			of, differs := map[string]int{}, map[string]int{} // by run
			runLibraries(t, slices.Repeat(cases, times), func(i int, o *Outcome) {
				i %= len(cases)
				if o.Result.Verdict == checker.Inconclusive { // the canary compares checksums, which is not the question here
					o = judge(o.Scenario, o.Run, o.History)
				}
				if first[i] == nil {
					first[i] = o
					return
				}
				of[o.Name()]++
				if o.Report != nil || first[i].Report != nil {
					t.Errorf("%s, seed %d: %v, %v", o.Name(), cases[i].Seed, first[i].Report, o.Report)
				} else if d := difference(first[i], o); d != "" {
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

// What counts as a difference, and what does not.
func TestDifference(t *testing.T) {
	recorded := func(change func([]history.Event)) *history.History {
		events := []history.Event{
			{At: 0, Process: "c1", Kind: history.Invoke, Op: history.Acquire, ID: 1, Lock: theLock},
			{At: time.Second, Process: "n1", Kind: history.State, Op: history.Set, Key: theLock, Lease: "c1#1"},
			{At: 2 * time.Second, Process: "c1", Kind: history.OK, Op: history.Acquire, ID: 1, Lock: theLock, Lease: "c1#1", Until: history.NoEnd},
			{At: 3 * time.Second, Process: "c2", Kind: history.Invoke, Op: history.Write, ID: 1, Value: "A"},
			{At: 4 * time.Second, Process: "c1", Kind: history.Info, Op: history.Lost, Lease: "c1#1"},
		}
		if change != nil {
			change(events)
		}
		return &history.History{Meta: history.Meta{Scenario: "x", Clients: []string{"c1", "c2"}, Nodes: []string{"n1"}, Checksum: "1"}, Events: events}
	}
	outcome := func(h *history.History, result checker.Result) *Outcome { return &Outcome{History: h, Result: result} }
	for _, test := range []struct {
		name   string
		change func([]history.Event)
		want   string // how the difference begins; empty: there is none
	}{
		{"equal", nil, ""},
		{"less than two round trips", func(e []history.Event) { e[2].At += 6*time.Millisecond - 1 }, ""},
		{"what a server did", func(e []history.Event) { e[1].At, e[1].Lease = 0, "c2#1" }, ""},
		{"two round trips", func(e []history.Event) { e[2].At += 6 * time.Millisecond }, "c1 ok acquire c1#1 at 2.000000s, then ok acquire c1#1 at 2.006000s"},
		{"another token", func(e []history.Event) { e[2].Fence = 2 }, "c1 ok acquire c1#1 at 2.000000s, then ok acquire c1#1 at 2.000000s"},
		{"an end that is nearly the same", func(e []history.Event) { e[0].Until = 6*time.Millisecond - 1 }, ""},
		{"an end that is not", func(e []history.Event) { e[0].Until = 6 * time.Millisecond }, "c1 invoke acquire"},
		{"another outcome", func(e []history.Event) { e[2].Kind = history.Fail }, "c1 ok acquire c1#1 at 2.000000s, then fail acquire"},
		{"another lease", func(e []history.Event) { e[2].Lease = "c1#2" }, "c1 ok acquire c1#1 at"},
		{"another value", func(e []history.Event) { e[3].Value = "B" }, "c2 invoke write A at 3.000000s, then invoke write B"},
		{"an end", func(e []history.Event) { e[2].Until = time.Minute }, "c1 ok acquire c1#1"},
		{"a loss that was not told", func(e []history.Event) { e[4].Process = "n1" }, "c1 info lost c1#1 at 4.000000s, then nothing more"},
		{"the first of two", func(e []history.Event) { e[3].Value, e[2].Lease = "B", "c1#2" }, "c1 ok acquire"},
	} {
		got := difference(outcome(recorded(nil), checker.Result{}), outcome(recorded(test.change), checker.Result{}))
		if got != "" && test.want == "" || !strings.HasPrefix(got, test.want) || test.want != "" && got == "" {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	ok := checker.Result{Verdict: checker.Safe, Statuses: []checker.PropertyStatus{{Property: checker.LeaseExclusion, Status: checker.OK}}}
	violated := checker.Result{Verdict: checker.Unsafe, Statuses: []checker.PropertyStatus{{Property: checker.LeaseExclusion, Status: checker.Violated}}}
	if got := difference(outcome(recorded(nil), ok), outcome(recorded(nil), violated)); !strings.HasPrefix(got, "lease exclusion: ok, then ") {
		t.Errorf("another status: %q", got)
	}
	inconclusive := ok
	inconclusive.Verdict = checker.Inconclusive
	if got, want := difference(outcome(recorded(nil), ok), outcome(recorded(nil), inconclusive)), "verdict SAFE, then UNKNOWN"; got != want {
		t.Errorf("another verdict: %q, want %q", got, want)
	}
	paused, delayed := violated, violated
	paused.Violations = []checker.Violation{{Property: checker.LeaseExclusion, Assumption: checker.BoundedPause}}
	delayed.Violations = []checker.Violation{{Property: checker.LeaseExclusion, Assumption: checker.BoundedDelay}}
	if got, want := difference(outcome(recorded(nil), paused), outcome(recorded(nil), delayed)), "broken: lease exclusion (bounded pause), then lease exclusion (bounded delay)"; got != want {
		t.Errorf("another assumption: %q, want %q", got, want)
	}
	delayed.Violations = append(delayed.Violations, paused.Violations...)
	again := violated
	again.Violations = append(slices.Clone(paused.Violations), delayed.Violations...)
	if got := difference(outcome(recorded(nil), delayed), outcome(recorded(nil), again)); got != "" {
		t.Errorf("the same assumptions, in another order and number: %q", got)
	}
	o := outcome(recorded(nil), ok)
	o.Repeat = "c1 was late"
	if !strings.Contains(o.Timeline(), "not reproducible: with the same seed c1 was late\n") {
		t.Error("the timeline does not say that it is not reproducible")
	}
}
