package scenarios

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
	"lockstep/sim/workers"
)

// What TestLibrariesRepeatThemselves covers takes a minute. These make it more.
var (
	repeated = flag.String("libraries", "redsync,redislock", "the library configurations that are repeated; all: every one that is said to repeat itself")
	seeds    = flag.Uint64("library-seeds", 200, "how many seeds each is repeated with")
	everyRun = flag.Bool("library-runs", false, "every run of the catalogue with every seed; otherwise the run changes with the seed")
)

// asLibraryWorker turns the process into a worker if it is to be one: libraries keep state for the whole process, and draw
// from its randomness, which can be seeded in workers only.
func asLibraryWorker() {
	if !workers.IsWorker() {
		return
	}
	if err := play.Serve(func(name string) (clients.New, error) {
		l, err := libraries.Find(name)
		return l.New, err
	}, search.SearchTask); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runLibraries does cases in fresh workers, which run the calling test again. Clients are native unless a case says otherwise; see
// [TestGuestsOfLibraries].
func runLibraries(t *testing.T, cases []play.Case, each func(i int, o *play.Outcome)) {
	t.Helper()
	cases = slices.Clone(cases)
	for i := range cases {
		cases[i].Guests = cmp.Or(cases[i].Guests, play.GuestsNever)
	}
	s := &workers.Supervisor{Command: func() *exec.Cmd {
		return exec.Command(os.Args[0], "-test.run="+only(t.Name()), "-test.count=1", "-test.timeout=0")
	}, Limit: time.Minute} // real time, of which a run of rueidislock gets little on a busy machine
	if err := search.RunAll(t.Context(), s, cases, each); err != nil {
		t.Fatal(err)
	}
}

// everyLibraryRun lists the runs of all libraries, with seed 1.
func everyLibraryRun(t *testing.T) (cases []play.Case) {
	t.Helper()
	for _, l := range libraries.Locks() {
		for _, c := range libraryRuns(t, l) {
			c.Seed, c.Restless = 1, l.Restless
			cases = append(cases, c)
		}
	}
	return cases
}

// libraryRuns lists the runs of the catalogue in which a library takes the place of the lock that a page names.
func libraryRuns(t *testing.T, l libraries.Lock) []play.Case {
	t.Helper()
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	var cases []play.Case
	for _, s := range all {
		for _, r := range s.Runs {
			if slices.Contains(l.Like, r.Lock) {
				cases = append(cases, play.Case{Scenario: s, Run: r.With(l.Name)})
			}
		}
	}
	if len(cases) == 0 {
		t.Fatalf("%s takes the place of no lock in the catalogue", l.Name)
	}
	return cases
}

// One seed gives one trace, whichever process it is run in: unmodified libraries are reproducible, if they draw only from
// what can be seeded. Each seed is taken with another run, so that all of the catalogue comes up.
func TestLibrariesRepeatThemselves(t *testing.T) {
	asLibraryWorker()
	configurations := strings.Split(*repeated, ",")
	if *repeated == "all" {
		configurations = nil
		for _, l := range libraries.Locks() {
			if !l.Restless {
				configurations = append(configurations, l.Name)
			}
		}
	}
	for _, name := range configurations {
		t.Run(name, func(t *testing.T) {
			l, err := libraries.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			repeat(t, l)
		})
	}
}

// repeat does runs of a library five times each, three in some workers and two in others.
func repeat(t *testing.T, l libraries.Lock) {
	runs := libraryRuns(t, l)
	var cases []play.Case
	n := *seeds
	if testing.Short() {
		n = min(n, 20)
	}
	for seed := range n {
		for i, c := range runs {
			if *everyRun || i == int(seed)%len(runs) {
				c.Seed = seed
				cases = append(cases, c)
			}
		}
	}
	sums := make([][]string, len(cases))
	for _, times := range []int{3, 2} {
		runLibraries(t, slices.Repeat(cases, times), func(i int, o *play.Outcome) {
			i %= len(cases)
			sum := o.History.Meta.Checksum
			if o.Report != nil {
				sum = "none: " + o.Report.Reason
			}
			sums[i] = append(sums[i], sum)
		})
	}
	differ := 0
	traces := map[string]uint64{}
	for i, c := range cases {
		if slices.Sort(sums[i]); sums[i][0] != sums[i][4] || strings.HasPrefix(sums[i][0], "none") {
			differ++
			t.Errorf("%s/%s, seed %d: five times: %v", c.Scenario.Name, c.Run.ID(), c.Seed, sums[i])
		}
		run := c.Scenario.Name + "/" + c.Run.ID()
		if other, ok := traces[run+sums[i][0]]; ok { // it would say nothing about repetitions either
			t.Errorf("%s has one trace with the seeds %d and %d", run, other, c.Seed)
		}
		traces[run+sums[i][0]] = c.Seed
	}
	t.Logf("%d cases five times each, over %d runs of the catalogue: %d of them differ from themselves", len(cases), len(runs), differ)
}
