package scenarios

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/clients/kinds"
	"lockstep/clients/libraries"
	"lockstep/clients/planted"
	"lockstep/nodes/live"
	"lockstep/nodes/redisserver"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// reality returns a supervisor whose workers are this test binary, run again with only the calling test; in them it does not
// return. What they leave behind fails the test. Where there is no redis-server the test is skipped; in CI it fails.
func reality(t *testing.T) *workers.Supervisor {
	t.Helper()
	if workers.IsWorker() {
		if err := play.Serve(findOrdered, nil); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	}
	if err := redisserver.Find(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	tmp := os.Getenv(leaves)
	if tmp == "" {
		tmp = t.TempDir()
		t.Cleanup(func() { nothingLeft(t, tmp) })
	}
	return &workers.Supervisor{Workers: AtOnce + 6, Command: func() *exec.Cmd {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		c.Env = append(c.Environ(), "TMPDIR="+tmp)
		return c
	}}
}

// leaves is set in a process of this test that is to be killed. It names a directory that will outlive it.
const leaves = "LOCKSTEP_TEST_LEAVES"

// nothingLeft checks that nothing is left of the processes that had a directory for their temporary files: none of them,
// and nothing in it.
func nothingLeft(t *testing.T, tmp string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		files, _ := os.ReadDir(tmp)
		left := processesIn(t, tmp)
		if len(files)+len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: processes %q, files %v", left, files)
		}
	}
}

// processesIn lists the processes that have a directory for their temporary files, or work there (redis-server overwrites its
// environment); none where /proc does not tell.
func processesIn(t *testing.T, tmp string) (all []string) {
	t.Helper()
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		works, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if slices.Contains(strings.Split(string(env), "\x00"), "TMPDIR="+tmp) || strings.HasPrefix(works, tmp+"/") {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			all = append(all, filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return all
}

// findOrdered knows the locks of the literature, and some that do what their names say.
func findOrdered(name string) (clients.New, error) {
	switch name {
	case "panics":
		return func(clients.Env) clients.Locker { return ordered(func(context.Context) { panic("as ordered") }) }, nil
	case "exits":
		return func(clients.Env) clients.Locker { return ordered(func(context.Context) { os.Exit(7) }) }, nil
	case "waits":
		return func(clients.Env) clients.Locker { return ordered(func(ctx context.Context) { <-ctx.Done() }) }, nil
	case "spins":
		return func(clients.Env) clients.Locker { return ordered(spin) }, nil
	case "not built":
		return func(clients.Env) clients.Locker { panic("no such server") }, nil
	case "package-time":
		return planted.ByPackageTime(clients.NewWatchdog), nil
	}
	if lib, err := libraries.Find(name); err == nil {
		return lib.New, nil
	}
	return clients.FindIn(slices.Concat(clients.Locks(), kinds.Locks()), name)
}

// ordered is a lock that does something else instead of acquiring.
type ordered func(context.Context)

func (f ordered) Acquire(ctx context.Context, _ string, _ time.Duration) (clients.Lease, error) {
	f(ctx)
	return nil, ctx.Err()
}

func spin(context.Context) {
	for i := 0; ; i++ {
		spun = i
	}
}

var spun int

// Speeds for pages that are not of the catalogue.
const (
	fast = 20 // a TTL of 500 ms
	calm = 5
	slow = 2
)

// Real Redis gives the verdicts of simulation, property by property, in every run of the catalogue that exists there.
func TestOnRedis(t *testing.T) {
	workers := reality(t)
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	var cases []play.Case
	for _, s := range all {
		for _, r := range s.Runs {
			speed := s.SpeedOf(r, 0)
			switch err := play.CheckRedis(s, r, 0); {
			case errors.Is(err, live.ErrSimOnly):
				if s.Speed > 0 && !slices.ContainsFunc(s.Runs, func(r script.Section) bool { return play.CheckRedis(s, r, 0) == nil }) {
					t.Errorf("%s says its speed, and no run of it can be done on real servers: %v", s.File, err)
				}
			case err != nil:
				t.Error(err)
			case s.Resolve(r).Speed == 0:
				t.Errorf("%s can be done on real servers, and its page does not say how fast", s.Name+"/"+r.ID())
			case speed >= fast/2 || !testing.Short():
				cases = append(cases, play.Case{Scenario: s, Run: r, Seed: 1, On: play.OnReal})
			}
		}
	}
	// The longest first, so that none of them is waited for in the end.
	slices.SortStableFunc(cases, func(a, b play.Case) int { return cmp.Compare(b.Longest(), a.Longest()) })
	if least := 35; len(cases) < least {
		t.Errorf("only %d runs can be done on real servers, want %d", len(cases), least)
	} else if testing.Short() {
		cases = cases[len(cases)-20:]
	}
	workers.Notice = func(text string) { fmt.Fprintln(os.Stderr, text) } // what was tried again, and why
	// Runs mostly wait, so many are played side by side. On a busy machine a node may answer so late that a lock gives it up. A run that
	// does not come out as expected is played again after the others, when the machine is quiet.
	var again []play.Case
	workers.Workers = 16
	err = play.RunAll(t.Context(), workers, cases, func(i int, o *play.Outcome) {
		if o.Report != nil || len(o.Result.Unmet) > 0 || len(o.Unexpected()) > 0 {
			cases[i].Tries = tries
			again = append(again, cases[i])
			return
		}
		t.Run(o.Name(), func(*testing.T) {})
	})
	if err != nil {
		t.Fatal(err)
	}
	workers.Workers = 2
	err = play.RunAll(t.Context(), workers, again, func(_ int, o *play.Outcome) {
		t.Run(o.Name(), func(t *testing.T) {
			if o.Report != nil {
				t.Error(o.Report)
			}
			if len(o.Result.Unmet) > 0 {
				t.Errorf("nothing is proved: %s\n%s", strings.Join(o.Result.Unmet, "; "), o.Timeline())
			}
			if diffs := o.Unexpected(); len(diffs) > 0 {
				t.Errorf("%s\n%s", strings.Join(diffs, "; "), o.Timeline())
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d runs were played again", len(again), len(cases))
}

// Keys of every type are seen on real servers, and on replicas and disks: each lock has the verdict of simulation.
func TestKeysOfEveryTypeOnRedis(t *testing.T) {
	workers := reality(t)
	if testing.Short() {
		t.Skip("takes ten seconds and more on real servers")
	}
	var cases []play.Case
	var want []string
	for _, run := range []string{"release-race/single", "failover-lag/single"} {
		s, r := find(t, run)
		for _, l := range kinds.Locks() {
			o, err := play.Simulate(s, r.With(l.Name), l.New, 1)
			if err != nil {
				t.Fatal(err)
			}
			cases = append(cases, play.Case{Scenario: s, Run: r.With(l.Name), Seed: 1, On: play.OnReal, Tries: tries})
			want = append(want, judgement(o))
		}
	}
	err := play.RunAll(t.Context(), workers, cases, func(i int, o *play.Outcome) {
		if got := judgement(o); o.Report != nil || got != want[i] {
			t.Errorf("%s, %s: %v %s, in simulation %s\n%s", o.Name(), o.Run.Lock, o.Report, got, want[i], o.Timeline())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What was found in simulation is there on real servers, too.
func TestFoundOnRedis(t *testing.T) {
	workers := reality(t)
	if testing.Short() {
		t.Skip("takes seconds on real servers")
	}
	files, err := filepath.Glob("search/testdata/found/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var cases []play.Case
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := script.Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		speed := float64(calm)
		if strings.Contains(s.String(), "restart n") {
			speed = slow // a server takes 50 ms to come back, and longer on a busy machine
		}
		if err := play.CheckRedis(s, s.Runs[0], speed); err != nil {
			t.Logf("left out: %v", err)
			continue
		}
		cases = append(cases, play.Case{Scenario: s, Run: s.Runs[0], On: play.OnReal, Speed: speed, Tries: tries})
	}
	if len(cases) < 4 {
		t.Errorf("only %d of %d runs can be done on real servers", len(cases), len(files))
	}
	workers.Notice = func(text string) { fmt.Fprintln(os.Stderr, text) } // what was tried again, and why
	err = play.RunAll(t.Context(), workers, cases, func(_ int, o *play.Outcome) {
		t.Run(o.Name(), func(t *testing.T) {
			if o.Report != nil {
				t.Error(o.Report)
			}
			if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
				t.Errorf("%s\n%s", strings.Join(diffs, "; "), o.Timeline())
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A counter is one more server; a node without persistence forgets; a client that stays is not waited for.
func TestOnRedisServers(t *testing.T) {
	workers := reality(t)
	const counting = `# Two clients count, and a node forgets.

ttl 5s
client c1
  repeat 20 increment
  until 2s
  acquire
  stay
client c2
  repeat 20 increment
nemesis
  at 3s crash n1
  at 3500ms restart n1
must n1 drops the key of c1 early

-- single nodes=1 persistence=none resource=counter --
`
	s, err := script.Parse("counting.txtar", []byte(counting))
	if err != nil {
		t.Fatal(err)
	}
	o := really(t, workers, play.Case{Scenario: s, Run: s.Runs[0], Speed: slow}) // the server must be back before the key expires
	last := ""
	for _, e := range o.History.Events {
		if e.Process == script.ResourceName && e.Kind == history.State && e.Key == clients.CounterKey {
			last = e.Value
		}
	}
	if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 || last != "40" {
		t.Errorf("%s; the counter is %q, want 40\n%s", strings.Join(diffs, "; "), last, o.Timeline())
	}
}

// Two clients count on real Redis, as in docs/counter.txtar, though not as far: what is asked is counted, skipped or lost, and
// only where there is no lock is something lost.
func TestOnRedisCounter(t *testing.T) {
	workers := reality(t)
	if testing.Short() {
		t.Skip("takes ten seconds and more on real servers")
	}
	const file = "../docs/counter.txtar"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const each = 250
	s, err := script.Parse(file, bytes.ReplaceAll(data, []byte("20000"), []byte(strconv.Itoa(each))))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Runs {
		o := really(t, workers, play.Case{Scenario: s, Run: r, Tries: tries})
		if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 || o.Report != nil {
			t.Fatalf("%s: %s\n%v", r.ID(), strings.Join(diffs, "; "), o.Report)
		}
		is := map[string]int{}
		for _, number := range regexp.MustCompile(`(\d+) (asked|skipped|lost|in the counter)`).FindAllStringSubmatch(o.Measurements[0].Text, -1) {
			is[number[2]], _ = strconv.Atoi(number[1])
		}
		if is["asked"] != 2*each || is["asked"] != is["skipped"]+is["lost"]+is["in the counter"] {
			t.Errorf("%s: the numbers do not add up: %s", r.ID(), o.Measurements[0].Text)
		}
		if is["lost"] > 0 != (r.Lock == "nolock") || is["skipped"] > 0 != (r.Lock == "watch") {
			t.Errorf("%s: %s", r.ID(), o.Measurements[0].Text)
		}
	}
}

// A client with a warm pool has greeted the nodes before its lane begins, as in simulation.
func TestWarmOnRedis(t *testing.T) {
	workers := reality(t)
	if testing.Short() {
		t.Skip("takes seconds on real servers")
	}
	for pool, want := range map[string]bool{"": true, " pool=warm": false} {
		s, err := script.Parse("warm.txtar", []byte(strings.Replace(twoClients, "nodes=5", "nodes=5"+pool, 1)))
		if err != nil {
			t.Fatal(err)
		}
		var o *play.Outcome
		var greets bool
		for range tries { // a client that waits for too long on a busy machine dials again
			o = really(t, workers, play.Case{Scenario: s, Run: s.Runs[0], Speed: calm, Tries: tries})
			greets = slices.ContainsFunc(o.History.Events, func(e history.Event) bool { return e.Kind == history.Message && strings.EqualFold(e.Word, "HELLO") })
			if greets == want {
				break
			}
		}
		if o.Result.Verdict != checker.Safe || greets != want {
			t.Errorf("%q: %s, a node was greeted in the run: %v\n%s", pool, o.Result.Verdict, greets, o.Timeline())
		}
	}
}

// really does one case on real servers.
func really(t *testing.T, workers *workers.Supervisor, c play.Case) (o *play.Outcome) {
	t.Helper()
	c.On, c.Seed = play.OnReal, 1
	if err := play.RunAll(t.Context(), workers, []play.Case{c}, func(_ int, out *play.Outcome) { o = out }); err != nil {
		t.Fatal(err)
	}
	return o
}

// However the process of a client ends that should not, the run says what happened there, and nothing is left of it.
func TestOnRedisClientEnds(t *testing.T) {
	workers := reality(t)
	if testing.Short() {
		t.Skip("takes ten seconds and more on real servers")
	}
	s, r := find(t, "redlock-calm/redlock")
	for lock, want := range map[string][]string{
		"panics":    {": panic: as ordered", "scenarios.findOrdered", "redis_test.go"},
		"exits":     {": the worker exited: exit status 7"},
		"waits":     {": the job did not end within ", "scenarios.findOrdered"},
		"spins":     {": the job did not end within ", "scenarios.spin"},
		"not built": {": panic: no such server"},
		"unknown":   {`unknown lock "unknown"`},
	} {
		t.Run(lock, func(t *testing.T) {
			o := really(t, workers, play.Case{Scenario: s, Run: r.With(lock), Speed: fast, Limit: time.Second, Tries: tries})
			if o.Report == nil || o.Result.Verdict != checker.Inconclusive {
				t.Fatalf("%s\n%s", o.Result.Verdict, o.Timeline())
			}
			for _, w := range want {
				if !strings.Contains(o.Report.String(), w) {
					t.Errorf("the report does not contain %q:\n%s", w, o.Report)
				}
			}
		})
	}
}

// However a run ends, nothing of it is left.
func TestOnRedisLeavesNothing(t *testing.T) {
	workers := reality(t)
	if testing.Short() {
		t.Skip("takes ten seconds and more on real servers")
	}
	s, r := find(t, "pause-after-acquire/redlock")
	c := play.Case{Scenario: s, Run: r, Seed: 1, On: play.OnReal, Speed: 1}
	if os.Getenv(leaves) != "" {
		err := play.RunAll(context.Background(), workers, []play.Case{c}, func(int, *play.Outcome) {})
		t.Fatal("nobody has killed this process: ", err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("only linux can tie the life of a process to that of its parent")
	}
	// started waits for the worker, n1 to n5, the clients and the probe, each with its cleaner, and the cleaner of the worker, and until c1 is
	// stopped.
	started := func(t *testing.T, tmp string) []string {
		t.Helper()
		want := 1 + r.Nodes + 2*(len(s.Resolve(r).Clients())+1) + 1
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			all := processesIn(t, tmp)
			if len(all) == want && slices.ContainsFunc(all, stopped) {
				return all
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d processes, want %d:\n%s", len(all), want, strings.Join(all, "\n"))
			}
		}
	}
	tmp, _ := strings.CutPrefix(workers.Command().Env[len(workers.Command().Env)-1], "TMPDIR=")
	t.Run("after the end of its context", func(t *testing.T) { // which is what Ctrl-C does to the program
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- play.RunAll(ctx, workers, []play.Case{c}, func(int, *play.Outcome) {}) }()
		started(t, tmp)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		nothingLeft(t, tmp)
	})
	t.Run("after the worker was killed", func(t *testing.T) {
		outcome := make(chan *play.Outcome, 1)
		go play.RunAll(t.Context(), workers, []play.Case{c}, func(_ int, o *play.Outcome) { outcome <- o })
		killed := false
		for _, process := range started(t, tmp) {
			var pid int
			fmt.Sscan(process, &pid)
			if parentOf(t, pid) == os.Getpid() {
				p, _ := os.FindProcess(pid)
				killed = p.Kill() == nil
			}
		}
		if o := <-outcome; !killed || o.Report == nil || !strings.Contains(o.Report.Reason, "signal: killed") {
			t.Errorf("killed: %v; %v", killed, o.Report)
		}
		nothingLeft(t, tmp)
	})
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		t.Run("after the test was told to "+signal.String(), func(t *testing.T) {
			tmp := t.TempDir()
			c := exec.Command(os.Args[0], "-test.run=^TestOnRedisLeavesNothing$")
			c.Env = append(c.Environ(), leaves+"="+tmp)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			started(t, tmp)
			c.Process.Signal(signal)
			c.Wait()
			nothingLeft(t, tmp)
		})
	}
}

// stopped reports whether a process, as processesIn lists it, has been stopped.
func stopped(process string) bool {
	pid, _, _ := strings.Cut(process, " ")
	status, _ := os.ReadFile("/proc/" + pid + "/status")
	return strings.Contains(string(status), "State:\tT")
}

func parentOf(t *testing.T, pid int) (parent int) {
	t.Helper()
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "PPid:")
	fmt.Sscan(rest, &parent)
	return parent
}

// A pause stops the process of a client, also code that calls package time, of which a simulation can say nothing: there it
// runs on.
func TestOnRedisPackageTimeStops(t *testing.T) {
	workers := reality(t)
	if testing.Short() {
		t.Skip("takes seconds on real servers")
	}
	s, r := find(t, "watchdog-pause/watchdog")
	mine := r.With("package-time")
	build, err := findOrdered(mine.Lock)
	if err != nil {
		t.Fatal(err)
	}
	o := really(t, workers, play.Case{Scenario: s, Run: mine, Speed: fast, Tries: tries})
	if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
		t.Errorf("%s\n%s", strings.Join(diffs, "; "), o.Timeline())
	}
	o, err = play.Simulate(s, mine, build, 1)
	if err != nil || beyondReach(o) != "pause" {
		t.Errorf("in simulation: %v\n%s", err, o.Timeline())
	}
}

// Where a library cannot be loaded, or compiled after all, the clock of a node jumps by its keys, and does not drift.
func TestJumpWithoutLibraryOnRedis(t *testing.T) {
	workers := reality(t)
	if testing.Short() {
		t.Skip("takes seconds on real servers")
	}
	t.Setenv("CC", "false") // is on the PATH, and compiles nothing
	s, r := find(t, "clock-jump/redlock")
	o := really(t, workers, play.Case{Scenario: s, Run: r, Tries: tries})
	if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
		t.Errorf("%s\n%s", strings.Join(diffs, "; "), o.Timeline())
	}
	s, r = find(t, "clock-drift/redlock/far")
	const want = "sim only: redis-server cannot be given a clock of its own"
	if o := really(t, workers, play.Case{Scenario: s, Run: r}); o.Result.Verdict != checker.Inconclusive || !strings.Contains(strings.Join(o.Result.Unmet, "; "), want) {
		t.Errorf("%s: %q, want %q", o.Result.Verdict, o.Result.Unmet, want)
	}
}
