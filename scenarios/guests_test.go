package scenarios

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients/planted"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// Each run of the catalogue comes out the same for the lock from the literature that it names, whether the clients are native and
// take their time from Env, or are guests. A twelfth of the pages has its turn each day.
func TestGuestsAsNative(t *testing.T) {
	if testing.Short() {
		t.Skip("plays every run of the catalogue as WebAssembly")
	}
	play.QuietRedis()
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	for n, s := range all {
		if !draws.Due(uint64(n), 24) {
			continue
		}
		for _, run := range s.Runs {
			t.Run(s.Name+"/"+run.ID(), func(t *testing.T) {
				own := simulated(t, s, run, 1)
				run.Guests = true
				o, err := play.Simulate(s, run, findLock(t, run.Lock), 1)
				if err != nil {
					t.Fatal(err)
				}
				if a, b := statuses(own), statuses(o); a != b || own.Result.Verdict != o.Result.Verdict {
					t.Errorf("native: %s\nas WebAssembly: %s\n%s", a, b, o.Timeline())
				}
			})
		}
	}
}

// Every fault affects a lock that calls package time if its clients are guests, whatever the lock waits for. Each run can be
// repeated.
func TestGuestsByPackageTime(t *testing.T) {
	play.QuietRedis()
	for _, a := range adversities {
		if a.reach == "" {
			continue // the fault affects native code, too
		}
		s := adversity(t, a.nemesis, a.settings)
		for _, lock := range planted.Timed() {
			t.Run(a.what+"/"+lock.Name, func(t *testing.T) {
				needsGuests(t)
				own, err := play.Simulate(s, s.Runs[0], lock.New, 1)
				if err != nil {
					t.Fatal(err)
				}
				run := s.Runs[0].With(lock.Name)
				run.Guests = true
				o, err := play.Simulate(s, run, nil, 1)
				if err != nil {
					t.Fatal(err)
				}
				if a, b := statuses(own), statuses(o); a != b || o.Result.Verdict == checker.Inconclusive {
					t.Errorf("by the clock of its process: %s\nas WebAssembly: %s\n%s", a, b, o.Timeline())
				}
				again, err := play.Simulate(s, run, nil, 1)
				if err != nil || again.History.Meta.Checksum != o.History.Meta.Checksum {
					t.Errorf("%v: checksum %s, then %s", err, o.History.Meta.Checksum, again.History.Meta.Checksum)
				}
			})
		}
	}
}

// repetitions is how often TestGuestsRepeatEverything plays each fault.
var repetitions = flag.Int("guest-repetitions", 4, "how often each fault of docs/adversity.md is played with a lock that does all that a native run cannot control")

// As a guest, a lock that does everything that a native run cannot control is played with every fault of docs/adversity.md, and
// each repetition is the same. Natively the faults of a client's clock do not reach it, and its runs differ.
func TestGuestsRepeatEverything(t *testing.T) {
	play.QuietRedis()
	repeated := 0
	for _, a := range adversities {
		s := adversity(t, a.nemesis, a.settings)
		if a.reach != "" && !unknownNatively(t, s) {
			t.Errorf("%s: never UNKNOWN natively, although the fault cannot reach the lock", a.what)
		}
		t.Run(a.what, func(t *testing.T) {
			needsGuests(t)
			first := withGuests(t, s, "everything")
			if first.Result.Verdict == checker.Inconclusive {
				t.Errorf("%q\n%s", first.Result.Unmet, first.Timeline())
			}
			for n := range *repetitions - 1 {
				if o := withGuests(t, s, "everything"); o.History.Meta.Checksum != first.History.Meta.Checksum {
					t.Fatalf("repetition %d has the checksum %s instead of %s", n+2, o.History.Meta.Checksum, first.History.Meta.Checksum)
				}
			}
			repeated += *repetitions
		})
	}
	t.Logf("%d repetitions were equal", repeated)

	// The same run, natively: at least one of what it draws at random differs.
	s := adversity(t, "at 3s cut c1-resource\n  at 4s heal c1-resource", "")
	sums := map[string]bool{}
	for range 20 {
		o, err := play.Simulate(s, s.Runs[0], planted.NewEverything, 1)
		if err != nil {
			t.Fatal(err)
		}
		sums[o.History.Meta.Checksum] = true
	}
	if len(sums) == 1 {
		t.Error("20 native runs were equal, so that the lock shows nothing")
	}
}

// unknownNatively plays the only run of a scenario natively, and reports whether it is ever UNKNOWN. It plays the run up to four times,
// because the lock draws its delays at random: in about one run of a hundred, a pause begins while the lock waits for a reply and no timer
// is due. Such a run is rightly SAFE.
func unknownNatively(t *testing.T, s *script.Scenario) bool {
	t.Helper()
	for range 4 {
		o, err := play.Simulate(s, s.Runs[0], planted.NewEverything, 1)
		if err != nil {
			t.Fatal(err)
		}
		if o.Result.Verdict == checker.Inconclusive {
			return true
		}
	}
	return false
}

// withGuests plays the only run of a scenario with guests, if the test may use them.
func withGuests(t *testing.T, s *script.Scenario, lock string) *play.Outcome {
	t.Helper()
	needsGuests(t)
	run := s.Runs[0].With(lock)
	run.Guests = true
	o, err := play.Simulate(s, run, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// A pause that follows an event of a guest stops it before its next statement: the write begins after the pause.
func TestGuestStopsBetweenStatements(t *testing.T) {
	play.QuietRedis()
	s := adversity(t, "when c1 acquired pause c1 13s", "")
	for i, lane := range s.Lanes {
		if lane.Process == "c1" {
			s.Lanes[i].Steps = []script.Step{script.Acquire{}, script.Write{Value: "A"}}
		}
	}
	o := withGuests(t, s, "toy")
	i := slices.IndexFunc(o.History.Events, func(e history.Event) bool {
		return e.Process == "c1" && e.Kind == history.Invoke && e.Op == history.Write
	})
	if i < 0 || o.History.Events[i].At < 13*time.Second {
		t.Errorf("the write began in the pause:\n%s", o.Timeline())
	}
}

// A jump that follows an event of a guest comes before its next statement, too: the guest reads a date that is wrong.
func TestGuestReadsAWrongDateAtOnce(t *testing.T) {
	play.QuietRedis()
	s := adversity(t, "when c1 acquires jump c1 -3s", "")
	o := withGuests(t, s, "dated")
	i := slices.IndexFunc(o.History.Events, func(e history.Event) bool { return e.Kind == history.State && e.Op == history.Expire })
	if i < 0 || o.History.Events[i].At.Round(10*time.Millisecond) != 7*time.Second {
		t.Errorf("the key did not expire 7s after it was set, 3s before its time:\n%s", o.Timeline())
	}
}

// A guest that ends its process in the middle of its lane is reported, whatever its status.
func TestGuestExits(t *testing.T) {
	needsGuests(t)
	play.QuietRedis()
	s := adversity(t, "at 3s crash n1", "")
	run := s.Runs[0].With("exits")
	run.Guests = true
	if _, err := play.Simulate(s, run, nil, 1); err == nil || !strings.HasPrefix(err.Error(), "c1: its process exited with status 0 in the middle of its lane") {
		t.Error(err)
	}
}

// Guests settle each run of a library that is open natively because the library calls package time. With guests, the runs of
// restless libraries can be repeated.
func TestGuestsOfLibraries(t *testing.T) {
	asLibraryWorker()
	if testing.Short() {
		t.Skip("plays every run with every library")
	}
	var cases, open []play.Case
	for i, c := range everyLibraryRun(t) {
		if draws.Due(uint64(i), 8) {
			cases = append(cases, c)
		}
	}
	runLibraries(t, cases, func(i int, o *play.Outcome) {
		if o.Result.OwnTime || o.Repeat != "" {
			open = append(open, cases[i])
		}
	})
	sums := map[string]string{}
	for range 2 {
		for i := range open {
			open[i].Guests = play.GuestsAlways
		}
		runLibraries(t, open, func(i int, o *play.Outcome) {
			name := o.Name() + " " + o.Run.Lock
			switch sum := o.History.Meta.Checksum; {
			case o.Report != nil || o.Result.OwnTime || o.Differs != "":
				t.Errorf("%s: %v %q", name, o.Report, o.Result.Unmet)
			case sums[name] != "" && sums[name] != sum:
				t.Errorf("%s: checksum %s, then %s", name, sums[name], sum)
			default:
				sums[name] = sum
			}
		})
		slices.Reverse(open) // so that each run comes after other runs, in another process
	}
	t.Logf("%d of %d runs were open", len(sums), len(cases))
	if len(sums) == 0 {
		t.Error("no run was open natively")
	}
}
