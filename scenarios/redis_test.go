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
	"lockstep/nodes/live"
	"lockstep/nodes/redisserver"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// reality returns a supervisor whose workers are this test binary, run again with only the calling test; in them it does not
// return. What they leave behind fails the test. Where there is no redis-server the test is skipped; in CI it fails.
func reality(t *testing.T) *workers.Supervisor {
	t.Helper()
	if workers.IsWorker() {
		if err := Serve(findOrdered, nil); err != nil {
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
		return byPackageTime(clients.NewWatchdog), nil
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
	all, err := script.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	var cases []Case
	for _, s := range all {
		for _, r := range s.Runs {
			speed := s.SpeedOf(r, 0)
			switch err := CheckRedis(s, r, 0); {
			case errors.Is(err, live.ErrSimOnly):
				if s.Speed > 0 && !slices.ContainsFunc(s.Runs, func(r script.Section) bool { return CheckRedis(s, r, 0) == nil }) {
					t.Errorf("%s says its speed, and no run of it can be done on real servers: %v", s.File, err)
				}
			case err != nil:
				t.Error(err)
			case s.Resolve(r).Speed == 0:
				t.Errorf("%s can be done on real servers, and its page does not say how fast", s.Name+"/"+r.ID())
			case speed >= fast/2 || !testing.Short():
				cases = append(cases, Case{Scenario: s, Run: r, Seed: 1, On: OnReal, Tries: tries})
			}
		}
	}
	// The longest first, so that none of them is waited for in the end.
	slices.SortStableFunc(cases, func(a, b Case) int { return cmp.Compare(b.longest(), a.longest()) })
	if least := 35; len(cases) < least {
		t.Errorf("only %d runs can be done on real servers, want %d", len(cases), least)
	}
	workers.Notice = func(text string) { fmt.Fprintln(os.Stderr, text) } // what was tried again, and why
	err = RunAll(t.Context(), workers, cases, func(_ int, o *Outcome) {
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
}

// Keys of every type are seen on real servers, and on replicas and disks: each lock has the verdict of simulation.
func TestKeysOfEveryTypeOnRedis(t *testing.T) {
	workers := reality(t)
	var cases []Case
	var want []string
	for _, run := range []string{"release-race/single", "failover-lag/single"} {
		s, r := find(t, run)
		for _, l := range kinds.Locks() {
			o, err := Simulate(s, r.With(l.Name), l.New, 1)
			if err != nil {
				t.Fatal(err)
			}
			cases = append(cases, Case{Scenario: s, Run: r.With(l.Name), Seed: 1, On: OnReal, Tries: tries})
			want = append(want, judgement(o))
		}
	}
	err := RunAll(t.Context(), workers, cases, func(i int, o *Outcome) {
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
	files, err := filepath.Glob(foundDir + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var cases []Case
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
		if err := CheckRedis(s, s.Runs[0], speed); err != nil {
			t.Logf("left out: %v", err)
			continue
		}
		cases = append(cases, Case{Scenario: s, Run: s.Runs[0], On: OnReal, Speed: speed, Tries: tries})
	}
	if len(cases) < 4 {
		t.Errorf("only %d of %d runs can be done on real servers", len(cases), len(files))
	}
	workers.Notice = func(text string) { fmt.Fprintln(os.Stderr, text) } // what was tried again, and why
	err = RunAll(t.Context(), workers, cases, func(_ int, o *Outcome) {
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
	o := really(t, workers, Case{Scenario: s, Run: s.Runs[0], Speed: calm})
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
		o := really(t, workers, Case{Scenario: s, Run: r, Tries: tries})
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
	for pool, want := range map[string]bool{"": true, " pool=warm": false} {
		s, err := script.Parse("warm.txtar", []byte(strings.Replace(twoClients, "nodes=5", "nodes=5"+pool, 1)))
		if err != nil {
			t.Fatal(err)
		}
		var o *Outcome
		var greets bool
		for range tries { // a client that waits for too long on a busy machine dials again
			o = really(t, workers, Case{Scenario: s, Run: s.Runs[0], Speed: calm, Tries: tries})
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

func TestOnRedisRefuses(t *testing.T) {
	s, err := script.Parse("silent.txtar", []byte("# It does not say how fast it may be.\n\nclient c1\n  acquire\n\n-- single nodes=1 --\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Runs[0]
	ctx := t.Context()
	_, err = onServers(ctx, s, r, job{Speed: 25})
	if err == nil || !strings.Contains(err.Error(), "TTL of 10s is 400ms") || !strings.Contains(err.Error(), "greatest speed for this run is 20") {
		t.Errorf("a TTL that is too short: %v", err)
	}
	if _, err := onServers(ctx, s, r, job{Speed: -1}); err == nil || !strings.Contains(err.Error(), "speed -1") {
		t.Errorf("backwards: %v", err)
	}
	s, err = script.Parse("drift.txtar", []byte("# A drift.\n\nclient c1\n  acquire\nnemesis\n  at 1s drift n1 +5ppm\n\n-- single nodes=1 replicas=1 --\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = onServers(ctx, s, s.Runs[0], job{Speed: 1})
	if !errors.Is(err, live.ErrSimOnly) || !strings.Contains(err.Error(), "sim only: drift n1 +5ppm") {
		t.Errorf("a drift: %v", err)
	}
	for _, c := range []struct{ nemesis, header, want string }{
		{"slew n1 +1s over 10s", "", ""},
		{"slew n1 +1s over 10s", "replicas=1", "sim only: slew n1 +1s over 10s"},
		{"stop n1", "", ""},
		{"at 1s crash n1 power", "", ""},
		{"crash n1", "persistence=rdb", ""},
		{"crash n1", "persistence=aof-everysec-slow", ""},
		{"crash n1", "persistence=none", ""},
		{"jump c1 +1s", "", ""},
		{"drift c1 +5ppm", "", ""},
		{"slew c1 +1s over 10s", "", ""},
		{"jump resource +1s", "", "sim only: jump resource +1s"},
		{"jump resource +1s", "resource=counter", ""},
		{"crash n1\n  at 1s restart n1", "persistence=none", ""},
		{"crash n1\n  at 1s restart n1", "persistence=aof-everysec", ""},
		{"crash n1", "persistence=aof-lying", ""},
	} {
		s, err := script.Parse("x.txtar", []byte("# A title.\n\nclient c1\n  acquire\nnemesis\n  "+c.nemesis+"\n\n-- single nodes=1 "+c.header+" --\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = CheckRedis(s, s.Runs[0], 1)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, live.ErrSimOnly) || !strings.HasSuffix(err.Error(), ": "+c.want)) {
			t.Errorf("%s, %s: %v, want %q", c.nemesis, c.header, err, c.want)
		}
	}
	// What a sync has reached does not scale.
	for settings, refused := range map[string]bool{
		"persistence=aof-everysec speed=2":      true,
		"persistence=aof-everysec speed=1":      false,
		"persistence=aof-everysec-slow speed=2": true,
		"persistence=aof-always speed=2":        false,
	} {
		s, err := script.Parse("x.txtar", []byte("# A title.\n\nclient c1\n  acquire\nnemesis\n  at 1s crash n1 power\n\n-- single nodes=1 "+settings+" --\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = CheckRedis(s, s.Runs[0], 0)
		if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "a server syncs once a second, whatever the speed; write speed=1") {
			t.Errorf("%s: %v", settings, err)
		}
	}
	// What a server needs for a clock of its own, and how it is without.
	t.Setenv("CC", "no-compiler")
	for page, want := range map[string]string{
		"clock-jump-back/redlock":   "",
		"clock-drift/redlock/below": "sim only: drift n3 +10000ppm: redis-server cannot be given a clock of its own without a C compiler: no-compiler is not on the PATH",
	} {
		s, r := find(t, page)
		if err := CheckRedis(s, r, 0); (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s without a compiler: %v, want %q", page, err, want)
		}
		if ownClocks(s.Resolve(r)) {
			t.Errorf("%s: clocks without a compiler", page)
		}
	}
	t.Setenv("CC", "")
	t.Setenv("PATH", t.TempDir())
	s, r = find(t, "pause-after-acquire/single")
	if _, err := onServers(ctx, s, r, job{Speed: 20}); !errors.Is(err, redisserver.ErrNoServer) {
		t.Errorf("without redis-server: %v", err)
	}
}

// really does one case on real servers.
func really(t *testing.T, workers *workers.Supervisor, c Case) (o *Outcome) {
	t.Helper()
	c.On, c.Seed = OnReal, 1
	if err := RunAll(t.Context(), workers, []Case{c}, func(_ int, out *Outcome) { o = out }); err != nil {
		t.Fatal(err)
	}
	return o
}

// However the process of a client ends that should not, the run says what happened there, and nothing is left of it.
func TestOnRedisClientEnds(t *testing.T) {
	workers := reality(t)
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
			o := really(t, workers, Case{Scenario: s, Run: r.With(lock), Speed: fast, Limit: time.Second, Tries: tries})
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
	s, r := find(t, "pause-after-acquire/redlock")
	c := Case{Scenario: s, Run: r, Seed: 1, On: OnReal, Speed: 1}
	if os.Getenv(leaves) != "" {
		err := RunAll(context.Background(), workers, []Case{c}, func(int, *Outcome) {})
		t.Fatal("nobody has killed this process: ", err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("only linux can tie the life of a process to that of its parent")
	}
	// started waits for the worker, n1 to n5, the clients and the probe, each with its broom, and the broom of the worker, and until c1 is
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
		go func() { ended <- RunAll(ctx, workers, []Case{c}, func(int, *Outcome) {}) }()
		started(t, tmp)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		nothingLeft(t, tmp)
	})
	t.Run("after the worker was killed", func(t *testing.T) {
		outcome := make(chan *Outcome, 1)
		go RunAll(t.Context(), workers, []Case{c}, func(_ int, o *Outcome) { outcome <- o })
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

// stopped says whether a process, as processesIn lists it, has been stopped.
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
	s, r := find(t, "watchdog-pause/watchdog")
	mine := r.With("package-time")
	build, err := findOrdered(mine.Lock)
	if err != nil {
		t.Fatal(err)
	}
	o := really(t, workers, Case{Scenario: s, Run: mine, Speed: fast, Tries: tries})
	if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
		t.Errorf("%s\n%s", strings.Join(diffs, "; "), o.Timeline())
	}
	err = sim.Bubble(func() { o = judge(s, s.Resolve(mine), simulate(nil, s, s.Resolve(mine), build, 1)) })
	if err != nil || beyondReach(o) != "pause" {
		t.Errorf("in simulation: %v\n%s", err, o.Timeline())
	}
}

func TestFaster(t *testing.T) {
	const lanes = `client c1
  until %s
  acquire within %s
  acquire within %s every %s
  repeat 3 acquire within %s
  pause %s
  sleep %s
  repeat 2 pause %s
  write A
  check
  release
nemesis
  pause c1 %s
  at %s jump n1 -%s
  at %s delay c1->n1 %s
  at %s heal
  when c1 acquired +%s on request SET c1->n1 delay %s
  when c1 acquired crash n1
must a request from c1 to n1 takes over %s
must c1 acquires

-- single nodes=1 replicas=1 sentinels=1 down-after=%s ttl=%s --
`
	text := func(d string) string { return "# A title.\n\n" + strings.ReplaceAll(lanes, "%s", d) }
	parse := func(text string) (*script.Scenario, script.Section) {
		t.Helper()
		s, err := script.Parse("x.txtar", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s, s.Resolve(s.Runs[0])
	}
	s, r := parse(text("20s"))
	before := s.String()
	_, want := parse(text("4s"))
	if got := faster(r, 5); !got.Equal(want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if s.String() != before {
		t.Error("the scenario itself has changed")
	}
	half := func(d time.Duration) time.Duration { return d / 2 }
	if got := scaleStep(script.Repeat{N: 5, Step: script.Increment{Within: 4 * time.Second}}, half); got != (script.Repeat{N: 5, Step: script.Increment{Within: 2 * time.Second}}) {
		t.Errorf("an increment became %s", got)
	}
}

// What slow replies can do by themselves is tried again on real servers; what they cannot is not.
func TestChancy(t *testing.T) {
	set := func(node, lease string) history.Event {
		return history.Event{Kind: history.State, Op: history.Set, Process: node, Key: "lock", Lease: lease}
	}
	gone := func(node string) history.Event {
		return history.Event{Kind: history.State, Op: history.Delete, Process: node, Key: "lock"}
	}
	refused := history.Event{Kind: history.Fail, Op: history.Acquire, Process: script.ProbeName}
	for name, c := range map[string]struct {
		violated checker.Property
		events   []history.Event
		chancy   bool
	}{
		"two hold the lock":                       {checker.LeaseExclusion, []history.Event{set("n1", "probe#1"), refused}, false},
		"the keys of another stand on a majority": {checker.DeadlockFreedom, []history.Event{set("n1", "c1#1"), set("n2", "c1#1"), set("n3", "probe#1"), refused}, false},
		"they did before":                         {checker.DeadlockFreedom, []history.Event{set("n1", "c1#1"), set("n2", "c1#1"), set("n3", "probe#1"), refused, gone("n2"), refused}, true},
		"no node granted the probe anything":      {checker.DeadlockFreedom, []history.Event{refused}, false},
		"the probe got keys, and no lease":        {checker.DeadlockFreedom, []history.Event{set("n1", "probe#1"), refused}, true},
		"a minority was down, nobody got it":      {checker.FaultTolerance, []history.Event{refused}, false},
		"nothing is violated":                     {"", nil, false},
	} {
		o := &Outcome{
			Run: script.Section{Lock: "redlock"}, Result: checker.Result{Verdict: checker.Safe},
			History: &history.History{Meta: history.Meta{Nodes: []string{"n1", "n2", "n3"}}, Events: c.events},
		}
		if c.violated != "" {
			o.Result = checker.Result{Verdict: checker.Unsafe, Statuses: []checker.PropertyStatus{{Property: c.violated, Status: checker.Violated}}}
		}
		if got := o.chancy(); got != c.chancy {
			t.Errorf("%s: tried again: %v", name, got)
		}
	}
}

// What was violated before the machine stood still was violated; what came afterwards says nothing.
func TestViolationBeforeAStall(t *testing.T) {
	s, r := find(t, "pause-after-acquire/single")
	var o *Outcome
	if err := sim.Bubble(func() {
		resolved := s.Resolve(r)
		build, err := clients.Find(r.Lock)
		if err != nil {
			t.Error(err)
			return
		}
		o = judge(s, resolved, simulate(nil, s, resolved, build, 1))
	}); err != nil {
		t.Fatal(err)
	}
	violated := s.Resolve(r)
	safe := violated
	safe.Expect = nil
	late := o.History.Events[len(o.History.Events)-1].At
	for name, c := range map[string]struct {
		run  script.Section
		err  error
		want bool
	}{
		"it was to be violated":       {violated, &live.StallError{From: late}, false},
		"it was not":                  {safe, &live.StallError{From: late}, true},
		"nothing had happened":        {safe, &live.StallError{From: time.Second}, false},
		"it ended for another reason": {safe, errors.New("no"), false},
	} {
		got := upTo(c.run, c.err, s, o.History.Events, 1)
		if (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got != nil && (got.chancy() || !strings.Contains(strings.Join(got.Result.Unmet, ""), "too busy")) {
			t.Errorf("%s: it would be tried again: %q", name, got.Result.Unmet)
		}
	}
}

// Where a library cannot be loaded, or compiled after all, the clock of a node jumps by its keys, and does not drift.
func TestJumpWithoutLibraryOnRedis(t *testing.T) {
	workers := reality(t)
	t.Setenv("CC", "false") // is on the PATH, and compiles nothing
	s, r := find(t, "clock-jump/redlock")
	o := really(t, workers, Case{Scenario: s, Run: r, Tries: tries})
	if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
		t.Errorf("%s\n%s", strings.Join(diffs, "; "), o.Timeline())
	}
	s, r = find(t, "clock-drift/redlock/far")
	const want = "sim only: redis-server cannot be given a clock of its own"
	if o := really(t, workers, Case{Scenario: s, Run: r}); o.Result.Verdict != checker.Inconclusive || !strings.Contains(strings.Join(o.Result.Unmet, "; "), want) {
		t.Errorf("%s: %q, want %q", o.Result.Verdict, o.Result.Unmet, want)
	}
}
