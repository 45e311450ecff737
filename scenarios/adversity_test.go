package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/clients/planted"
	"lockstep/internal/draws"
	"lockstep/nodes/live"
	"lockstep/nodes/redisserver"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
)

// statuses is what a run says of each property.
func statuses(o *play.Outcome) string {
	var b strings.Builder
	for _, p := range checker.Properties() {
		fmt.Fprintf(&b, "%s %s, ", p, o.Result.Status(p))
	}
	return b.String()
}

// beyondReach says why nothing can be said about a lock that calls package time; empty if that is not the reason.
func beyondReach(o *play.Outcome) string {
	for _, u := range o.Result.Unmet {
		switch {
		case strings.Contains(u, "package time cannot be set"):
			return "clock"
		case strings.Contains(u, "ran on while it was paused"):
			return "pause"
		}
	}
	return ""
}

// setsClientClock reports whether a run has a fault of the clocks of a client.
func setsClientClock(r script.Section) bool {
	return slices.ContainsFunc(r.Lane(script.Nemesis), func(s script.Step) bool {
		f := script.FaultOf(s)
		return f != nil && slices.Contains([]string{"jump", "drift", "slew"}, f.Verb()) && slices.Contains(r.Clients(), f.Target())
	})
}

// A lock that calls package time comes out of every run of the catalogue as it would if it took its clock from its process, or
// else nothing can be said: never is it found safe from what did not reach it, nor to blame for that.
func TestPackageTimeIsNeverTrusted(t *testing.T) {
	draws.Seldom(t, 0, 4)
	play.QuietRedis()
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	runs, clocks, pauses := 0, 0, 0
	for _, s := range all {
		for _, run := range s.Runs {
			if run.Guests {
				continue // the page is about package time as guests have it
			}
			r := s.Resolve(run)
			runs++
			own := simulated(t, s, run, 1)
			o, err := play.Simulate(s, run, planted.ByPackageTime(findLock(t, r.Lock)), 1)
			if err != nil {
				t.Fatal(err)
			}
			why := beyondReach(o)
			switch {
			case why == "clock" && setsClientClock(r):
				clocks++
			case why == "pause" && strings.Contains(s.String(), "pause"):
				pauses++
			case why != "" || o.Result.Verdict == checker.Inconclusive:
				t.Errorf("%s: %q, and no reason for it", o.Name(), o.Result.Unmet)
			case setsClientClock(r):
				t.Errorf("%s is %s, and the fault did not reach the lock", o.Name(), o.Result.Verdict)
			case statuses(o) != statuses(own):
				t.Errorf("%s by package time: %s\nby the clock of its process: %s", o.Name(), statuses(o), statuses(own))
			}
		}
	}
	t.Logf("%d runs: %d have a fault of a client's clock, and %d a pause in which the lock runs on", runs, clocks, pauses)
	if clocks == 0 || pauses == 0 {
		t.Error("the catalogue has nothing that package time keeps from a lock")
	}
}

// The same holds for sweeps of clocks: what the clocks of nodes do shows nothing of what a clock of a client would do.
func TestPackageTimeIsNeverTrustedInSweeps(t *testing.T) {
	play.QuietRedis()
	for i, name := range []string{"sweep-drift/single", "sweep-drift/redlock", "sweep-stray/redlock", "sweep-client-jump/single", "sweep-client-jump/redlock"} {
		t.Run(name, func(t *testing.T) {
			seldom(t, i)
			s, r := find(t, name)
			c := play.Case{Scenario: s, Run: r, Seed: 1, Guests: play.GuestsNever, New: planted.ByPackageTime(findLock(t, r.Lock))}
			o, err := (&search.Search{}).Sweep(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if o.Result.Verdict != checker.Inconclusive || !o.Result.OwnTime || beyondReach(o) != "clock" {
				t.Errorf("%s\n%s", o.Result.Unmet, o.Timeline())
			}
		})
	}
}

// adversities are what can be done to a lock: words for it, the lines of the nemesis, what comes of it if the lock takes its
// clock from its process, and what it is on real Redis, where it is not refused.
var adversities = []struct {
	what, nemesis, settings string
	verdict                 checker.Verdict
	reach                   string // by package time: "clock" or "pause" is what keeps it from the lock
	real                    string
}{
	{"`jump` of a client", "when c1 acquires +500µs jump c1 -3s", "", checker.Unsafe, "clock", "the clock in `Env`, and package time, which takes the go command"},
	{"`slew` of a client", "on reply SET n1->c1 delay 2s\n  when c1 acquires +500µs slew c1 -1s over 2s", "", checker.Unsafe, "clock", "the clock in `Env`, and package time, which takes the go command"},
	{"`drift` of a client", "drift c1 -100000ppm", "", checker.Unsafe, "clock", "the clock in `Env`, and package time, which takes the go command"},
	{"`pause` of a client that waits for no timer of its own", "when c1 acquired +1s pause c1 13s", "", checker.Unsafe, "", "SIGSTOP"},
	{"`pause` of a client while the lock waits for a reply", "when c1 acquires +500µs pause c1 13s", "", checker.Unsafe, "", "SIGSTOP"},
	{"`pause` of a client while the lock sleeps, or is to renew", "at 7s pause c2 5s", "", checker.Safe, "pause", "SIGSTOP"},
	{"`pause`, `resume` of a client", "when c1 acquired +1s pause c1\n  at 14s resume c1", "", checker.Unsafe, "", "SIGSTOP"},
	{"`crash` of a client", "when c1 acquired +1s crash c1", "", checker.Safe, "", "SIGKILL"},
	{"`cut`, `heal`", "when c1 acquired cut c1-resource\n  at 13s heal c1-resource", "", checker.Unsafe, "", "the proxy"},
	{"`hold`, `release`", "when c1 acquired hold c1->resource\n  at 13s release c1->resource", "", checker.Unsafe, "", "the proxy"},
	{"`delay`", "when c1 acquired delay c1->resource 3s", "", checker.Unsafe, "", "the proxy"},
	{"`reset`", "when c1 releases +100µs reset c1-n1", "", checker.Safe, "", "the proxy"},
	{"`on request`: `hold`", "on request write c1->resource hold\n  at 13s release c1->resource", "", checker.Unsafe, "", "the proxy"},
	{"`on request`: `delay`", "on request write c1->resource delay 3s", "", checker.Unsafe, "", "the proxy"},
	{"`on request`: `reset`", "on request release c1->n1 reset", "", checker.Safe, "", "the proxy"},
	{"`on reply`: `hold`", "on reply SET n1->c1 hold\n  at 2s release n1->c1", "", checker.Safe, "", "the proxy"},
	{"`on reply`: `delay`", "on reply SET n1->c1 delay 2s", "", checker.Safe, "", "the proxy"},
	{"`on reply`: `reset`", "on reply SET n1->c1 reset", "", checker.Unsafe, "", "the proxy"},
	{"`pause`, `resume` of a node", "at 6s pause n1 2s", "", checker.Safe, "", "SIGSTOP"},
	{"`crash`, `restart` of a node", "at 3s crash n1\n  at 4s restart n1 empty", "", checker.Unsafe, "", "SIGKILL, and an empty disk"},
	{"`crash` of a node with `power`", "at 3s crash n1 power\n  at 4s restart n1", " persistence=aof-lying", checker.Unsafe, "", "SIGKILL, and the end of its file is cut off"},
	{"`stop`, `restart` of a node", "at 3s stop n1\n  at 4s restart n1 empty", "", checker.Unsafe, "", "SIGTERM"},
	{"`jump` of a node", "at 3s jump n1 +8s", "", checker.Unsafe, "", "a library gives it the time; without a C compiler its keys are given another end"},
	{"`slew` of a node", "at 1s slew n1 +3s over 4s", "", checker.Unsafe, "", "a library gives it the time, which takes a C compiler"},
	{"`drift` of a node", "at 1s drift n1 +300000ppm", "", checker.Unsafe, "", "the same"},
	{"`promote`, `follow`", "hold n1->r1\n  at 3s promote r1\n  at 4s release n1->r1\n  at 5s follow n1 r1", " replicas=1", checker.Unsafe, "", "REPLICAOF"},
}

// adversity is the scenario that a fault is put into: c2 asks for the lock while c1 holds it, and c1 writes in time.
func adversity(t *testing.T, nemesis, settings string) *script.Scenario {
	t.Helper()
	s, err := script.Parse("adversity.txtar", []byte(`# A fault meets a lock.
#
# c1 holds the lock, and c2 wants it.

client c1
  acquire
  until 9500ms
  write A
  until 12s
  release
client c2
  until 5s
  acquire within 20s
  write B
  sleep 2s
  release
nemesis
  `+nemesis+`

-- single nodes=1`+settings+` --
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each fault is put into a run of two locks that differ in nothing but where they take their time from, and the table in
// docs/adversity.md says what came of it.
func TestAdversity(t *testing.T) {
	play.QuietRedis()
	var table strings.Builder
	table.WriteString("| fault | the lock takes its clock from `Env` | it calls package time, natively | it calls package time, as WebAssembly | on real Redis |\n|---|---|---|---|---|\n")
	left := history.FaultVerbs()
	for _, a := range adversities {
		left = slices.DeleteFunc(left, func(verb string) bool { return strings.Contains(" "+a.nemesis, " "+verb+" ") })
		s := adversity(t, a.nemesis, a.settings)
		own, err := play.Simulate(s, s.Runs[0], planted.NewToy, 1)
		if err != nil {
			t.Fatal(err)
		}
		if own.Result.Verdict != a.verdict {
			t.Errorf("%s: %s, want %s; %q\n%s", a.what, own.Result.Verdict, a.verdict, own.Result.Unmet, own.Timeline())
		}
		other, err := play.Simulate(s, s.Runs[0], planted.ByPackageTime(planted.NewToy), 1)
		if err != nil {
			t.Fatal(err)
		}
		cell := "yes: " + string(other.Result.Verdict)
		switch reach := beyondReach(other); {
		case reach != a.reach || reach == "" && other.Result.Verdict == checker.Inconclusive:
			t.Errorf("%s, by package time: %q, want something about %q", a.what, other.Result.Unmet, a.reach)
		case reach == "clock":
			cell = "**no**: UNKNOWN"
		case reach == "pause":
			cell = "**in part**: what it sends waits, its timers do not; UNKNOWN"
		case statuses(other) != statuses(own):
			t.Errorf("%s, by package time: %s\nby the clock of its process: %s", a.what, statuses(other), statuses(own))
		}
		if testing.Short() { // guests are compiled again after each edit, and servers wait
			continue
		}
		s.Runs[0].Guests, s.Runs[0].Lock = true, "toy"
		guests, err := play.Simulate(s, s.Runs[0], nil, 1)
		switch {
		case err != nil:
			t.Fatal(err)
		case statuses(guests) != statuses(own) || guests.Result.Verdict != a.verdict:
			t.Errorf("%s, as WebAssembly: %s\nby the clock of its process: %s\n%s", a.what, statuses(guests), statuses(own), guests.Timeline())
		}
		s.Runs[0].Guests, s.Runs[0].Lock = false, "single"
		real := "yes: " + a.real
		switch err := play.CheckRedis(s, s.Runs[0], 1); {
		case errors.Is(err, redisserver.ErrNoClocks): // and none to compile them with
		case errors.Is(err, live.ErrSimOnly) && a.real == "":
			real = "no: refused, `sim only`"
		case err != nil || a.real == "":
			t.Errorf("%s, on real Redis: %v, want %q", a.what, err, a.real)
		}
		fmt.Fprintf(&table, "| %s | yes: %s | %s | yes: %s | %s |\n", a.what, own.Result.Verdict, cell, guests.Result.Verdict, real)
	}

	if len(left) > 0 {
		t.Errorf("no row puts %s into a run", strings.Join(left, ", "))
	}
	if testing.Short() { // there is no third column
		return
	}

	path := filepath.Join("..", "docs", "adversity.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin := strings.Index(string(page), "| fault |")
	if begin < 0 {
		t.Fatalf("%s has no table", path)
	}
	before, after := string(page[:begin]), ""
	if end := strings.Index(string(page[begin:]), "\n\n"); end >= 0 {
		after = string(page[begin+end+1:])
	}
	fresh := before + table.String() + after
	if *rewrite {
		if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if fresh != string(page) {
		t.Errorf("docs/adversity.md is out of date; go test ./scenarios -run Adversity -rewrite renews its table:\n%s", table.String())
	}
	source, err := os.ReadFile(filepath.Join("..", "clients", "planted", "toy.go"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(before + after) {
		if added, ok := strings.CutPrefix(line, "+"); ok && !strings.Contains(strings.Join(strings.Fields(string(source)), " "), strings.Join(strings.Fields(added), " ")) {
			t.Errorf("the example in docs/adversity.md is not the lock of this test: %s", line)
		}
	}
}

// Timers of a lock go on in a pause where they are those of package time. What the run says then is what it says of the same
// lock by the clock of its process, or nothing.
func TestTimersInPause(t *testing.T) {
	play.QuietRedis()
	decided, undecided := map[string]int{}, map[string]int{}
	for _, pause := range []struct{ name, nemesis string }{
		{"while it acquires", "when c1 acquires +500µs pause c1 13s"},
		{"while it acquires, shortly", "when c1 acquires +500µs pause c1 5s"},
		{"right after it acquired", "when c1 acquired pause c1 13s"},
		{"while it holds", "when c1 acquired +1s pause c1 13s"},
		{"while it holds, shortly", "when c1 acquired +1s pause c1 8600ms"},
		{"before its lease ends", "when c1 acquired +9400ms pause c1 4s"},
		{"while its lock releases", "when c1 releases +100µs pause c1 4s"},
		{"while another waits", "at 7s pause c2 5s"},
		{"and n1 forgets the lock", "when c1 acquired +1s pause c1 8s\n  at 3s jump n1 +8s"},
	} {
		s := adversity(t, pause.nemesis, "")
		for _, lock := range planted.Timed() {
			own, err := play.Simulate(s, s.Runs[0], lock.New, 1)
			if err != nil {
				t.Fatal(err)
			}
			o, err := play.Simulate(s, s.Runs[0], planted.ByPackageTime(lock.New), 1)
			if err != nil {
				t.Fatal(err)
			}
			name := lock.Name + ", paused " + pause.name
			if own.Result.Verdict == checker.Inconclusive {
				t.Errorf("%s, by the clock of the process: %q", name, own.Result.Unmet)
			}
			t.Logf("%s: %s, and %s by the clock of the process", name, o.Result.Verdict, own.Result.Verdict)
			if o.Result.Verdict == checker.Inconclusive {
				undecided[lock.Name]++
				if beyondReach(o) != "pause" {
					t.Errorf("%s: %q", name, o.Result.Unmet)
				}
				continue
			}
			decided[lock.Name]++
			for _, p := range checker.Properties() {
				if got := o.Result.Status(p); got != checker.Unknown && got != own.Result.Status(p) {
					t.Errorf("%s: %s %s, and by the clock of the process %s\n%s\n%s", name, p, got, own.Result.Status(p), o.Timeline(), own.Timeline())
				}
			}
		}
	}
	for _, lock := range planted.Timed() {
		if decided[lock.Name] == 0 || undecided[lock.Name] == 0 {
			t.Errorf("%s: %d pauses are decided, and %d are not", lock.Name, decided[lock.Name], undecided[lock.Name])
		}
	}
}
