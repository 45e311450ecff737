package scenarios_test

import (
	"cmp"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/clients/planted"
	"lockstep/clients/sound"
	"lockstep/internal/draws"
	"lockstep/scenarios"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// mine names a planted lock that takes the place of the good one in TestMine.
const mine = "LOCKSTEP_TEST_LOCK"

// little has TestMine restrict the memory of a run.
const little = "LOCKSTEP_TEST_LITTLE"

// inScenario has TestMine play other scenarios than pause-fenced: those with these names, separated by commas, or all.
const inScenario = "LOCKSTEP_TEST_SCENARIO"

// likeWhat names the lock that the planted one is like; single by default.
const likeWhat = "LOCKSTEP_TEST_LIKE"

// TestMine is what a user writes. Its lock is a good one, unless TestPlanted says otherwise.
func TestMine(t *testing.T) {
	draws.Seldom(t, 2, 4)
	if name := os.Getenv(mine); name != "" {
		newLock, err := clients.FindIn(slices.Concat(planted.Locks(), sound.Waiting()), name)
		if name == "fails" {
			newLock, err = func(env clients.Env) clients.Locker {
				t.Error("the lock is not pleased")
				return clients.NewSingle(env)
			}, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		opts := []scenarios.Option{scenarios.Limit(5 * time.Second), scenarios.Like(cmp.Or(os.Getenv(likeWhat), "single"))}
		if in := cmp.Or(os.Getenv(inScenario), "pause-fenced"); in != "all" {
			opts = append(opts, scenarios.Only(strings.Split(in, ",")...))
		}
		if os.Getenv(little) != "" {
			opts = append(opts, scenarios.Limit(time.Minute), scenarios.Memory(250e6))
		}
		scenarios.Test(t, newLock, opts...)
		return
	}
	scenarios.Test(t, clients.NewSingle)
}

// A lock that breaks its process fails the test, with a report that says what happened, in which run, and where.
func TestPlanted(t *testing.T) {
	draws.Seldom(t, 3, 4)
	for name, want := range map[string][]string{
		"panics":          {"panic: assignment to entry in nil map", "planted.panics"},
		"deadlocks":       {"virtual time stands still", "a goroutine waits for a mutex; with the clients as WebAssembly the run did not end either: c1: ", "planted.(*lock).ping"},
		"spins":           {"virtual time stands still, and the run was stopped after 5s of real time", "planted.spins"},
		"races":           {"fatal error: concurrent map writes", "planted.write"},
		"leaks":           {"goroutines left behind", "planted.leaks", " Lockstep calls Close on a Locker that is an io.Closer when its client has finished; "},
		"is never made":   {"goroutines left behind", "planted.Locks.func1", "the function that makes the lock must return; "},
		"is never closed": {"goroutines left behind", "planted.unclosable.Close", "Close of the lock must return; "},
		"exits":           {"panic: the lock called runtime.Goexit, as t.FailNow and t.Fatal do; it must return an error instead", "failed in planted.exits"},
		"dials":           {"the lock makes its own connections; it must use Env.Nodes, Env.Client or Env.Dial, ", "net.Dial is called in", "lockstep/clients/planted.dials.Acquire\n", "planted.go:"},
		"connects":        {"the lock makes its own connections; it must use Env.Nodes, Env.Client or Env.Dial, ", "redis.NewClient is called in", "lockstep/clients/planted.connecting\n", "planted.go:"},

		"grants nothing":    {"panic: Acquire of planted.grants returned neither a lease nor an error; without a lease it must return an error, "},
		"keeps connections": {"panic: Acquire of planted.keeps returned with 40 connections in use; it must close each connection that it takes from a client with Conn"},
		"is not made":       {"panic: the function that makes the lock, planted.Locks.func3 (planted.go:", ", returned nil; it must return a clients.Locker"},

		"fails": {"the lock called t.Error or t.Fail; it must return an error or panic instead"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "deadlocks" {
				t.Skip("compiles a program to WebAssembly")
			}
			t.Parallel()
			c := exec.Command(os.Args[0], "-test.run=^TestMine$")
			c.Env = append(os.Environ(), mine+"="+name)
			out, err := c.CombinedOutput()
			if err == nil {
				t.Errorf("the test passed:\n%s", out)
			}
			if !slices.Contains([]string{"deadlocks", "races", "spins", "is never made", "is never closed"}, name) {
				_, report, _ := strings.Cut(string(out), "the run did not end: ")
				report, _, _ = strings.Cut(report, "see it again: ")
				if n := strings.Count(report, "\n"); n > 12 {
					t.Errorf("the report has %d lines:\n%s", n, report)
				}
			}
			if strings.Contains(string(out), "Is it like") {
				t.Errorf("the output doubts the reference, though the run did not end:\n%s", out)
			}
			for _, w := range append(want, "--- FAIL: TestMine/pause-fenced/single", "pause-fenced/single, seed 1\n", "the run did not end: ", "1 did not end", "see it again: go test -run '^TestMine$/^pause-fenced$/^single$' lockstep/scenarios\n") {
				if !strings.Contains(string(out), w) {
					t.Errorf("the output does not contain %q:\n%s", w, out)
				}
			}
		})
	}
}

// Goroutines of a correct lock may wait for a mutex that another holds while it waits for the network. Where this keeps a native run from
// ending, guests take over, and nothing is unproved for it.
func TestMutex(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program to WebAssembly")
	}
	for name, c := range map[string]struct {
		like, in string
		part     uint64
	}{
		"watchdog-mutex": {"watchdog", "all", 0},
		"single-channel": {"single", "all", 1},
		"single-shared":  {"single", "slow-reply,sweep-die", 2}, // the story leaves the mutex locked, so that the sweep cannot begin
	} {
		t.Run(name, func(t *testing.T) {
			draws.Turn(t, c.part, 3)
			test := exec.Command(os.Args[0], "-test.run=^TestMine$")
			test.Env = append(os.Environ(), mine+"="+name, inScenario+"="+c.in, likeWhat+"="+c.like)
			out, err := test.CombinedOutput()
			if err != nil || !strings.Contains(string(out), " with the clients as WebAssembly (*)") || strings.Contains(string(out), "unproved (package time") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	t.Run("explored", func(t *testing.T) {
		draws.Turn(t, 2, 3)
		c := exec.Command(os.Args[0], "-test.run=^TestExplored$")
		c.Env = append(os.Environ(), mine+"=single-channel", likeOf+"=single", within+"=empty")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// Mistakes in an adapter that do not break its process are diagnosed, too.
func TestPlantedMistakes(t *testing.T) {
	draws.Seldom(t, 1, 4)
	for name, test := range map[string]struct {
		scenario string
		like     string
		want     []string
	}{
		"grumbles": {"release-race", "", []string{" refused acquires returned errors that do not wrap clients.ErrNotAcquired, so it is unknown whether they were refused: somebody else has it\n", "what helps: return fmt.Errorf("}},
		"redials":  {"sweep-lose", "", []string{"the run did not end: the lock makes its own connections; it must use Env.Nodes, ", "net.Dial is called in", "lockstep/clients/planted.redials.Acquire\n", " 1 did not end"}},
		// At another position of the sweep there is a violation that single has, too. It must not hide this panic, even though
		// the process that knew the position is gone.
		"panics later": {"sweep-stall", "", []string{"with the fault when n1 sets c1 crash n1", "the run did not end: panic: assignment to entry in nil map", "planted.panics", " 1 did not end"}},
		"reads its own clock": {"client-clock-jump", "redlock", []string{
			"unproved because the lock takes, or may take, the time from package time, which no fault can set or stop in native code: 2 runs\nwhat helps: run the test where its source and a go command are, ", "2 unproved (package time: 2)"}},
		"hurries": {"pause-fenced", "", []string{"expired on return violated: ", "what helps: count the lease by Env.Clock "}},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "reads its own clock" {
				t.Skip("compiles a program to WebAssembly")
			}
			t.Parallel()
			c := exec.Command(os.Args[0], "-test.run=^TestMine$")
			c.Env = append(os.Environ(), mine+"="+name, inScenario+"="+test.scenario, likeWhat+"="+test.like)
			out, _ := c.CombinedOutput()
			for _, w := range test.want {
				if !strings.Contains(string(out), w) {
					t.Errorf("the output does not contain %q:\n%s", w, out)
				}
			}
		})
	}
}

// With -v, what a lock prints is shown, but not the stacks of all goroutines: the report has the one that matters.
func TestPanicIsShort(t *testing.T) {
	t.Parallel()
	c := exec.Command(os.Args[0], "-test.run=^TestMine$", "-test.v")
	c.Env = append(os.Environ(), mine+"=panics")
	out, err := c.CombinedOutput()
	if n := strings.Count(string(out), "\n"); err == nil || n > 50 || !strings.Contains(string(out), "planted.panics") {
		t.Errorf("%v, %d lines:\n%s", err, n, out)
	}
}

// A run that uses too much memory is ended, and says what for. That is a status of its own.
func TestTooMuchMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes much memory")
	}
	for name, want := range map[string]string{
		"hoards":    "allocated in planted.hoards",
		"throngs":   "goroutines, ",
		"tabulates": "in a Lua script on a simulated node",
		"stores":    "",
	} {
		t.Run(name, func(t *testing.T) {
			c := exec.Command(os.Args[0], "-test.run=^TestMine$")
			c.Env = append(os.Environ(), mine+"="+name, little+"=1")
			out, err := c.CombinedOutput()
			if err == nil {
				t.Errorf("the test passed:\n%s", out)
			}
			for _, w := range []string{"the run used more than 250 MB of memory: ", want, "1 used too much memory", "MEMORY"} {
				if !strings.Contains(string(out), w) {
					t.Errorf("the output does not contain %q:\n%s", w, out)
				}
			}
		})
	}
}

// What a lock starts ends with the worker that it ran in.
func TestSpawned(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	c := exec.Command(os.Args[0], "-test.run=^TestMine$")
	c.Env = append(os.Environ(), mine+"=spawns")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		if line, _ := os.ReadFile(file); strings.Contains(string(line), planted.Spawned) {
			t.Errorf("%s is %q", file, line)
		}
	}
}

// An error of any length is kept in a history up to some thousand bytes.
func TestLongError(t *testing.T) {
	if testing.Short() {
		t.Skip("takes much memory")
	}
	babbles, err := clients.FindIn(planted.Locks(), "babbles")
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Find("pause-fenced")
	if err != nil {
		t.Fatal(err)
	}
	o, err := play.Simulate(s, s.Runs[0], babbles, 1)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(o.Timeline()); n > 1<<20 {
		t.Errorf("the timeline has %d bytes", n)
	}
	for _, e := range o.History.Events {
		if len(e.Error) > 5000 {
			t.Fatalf("an event has an error of %d bytes", len(e.Error))
		}
	}
}

// TestInVain has a lock that never comes to an end, where TestHopeless asks for it.
func TestInVain(t *testing.T) {
	if os.Getenv(mine) != "spins" {
		t.Skip("it is there for TestHopeless")
	}
	newLock, err := clients.FindIn(planted.Locks(), "spins")
	if err != nil {
		t.Fatal(err)
	}
	scenarios.Test(t, newLock, scenarios.Only("fixed-value", "pause-after-acquire", "pause-fenced", "failover-lag"), scenarios.Limit(300*time.Millisecond))
}

// After three runs that did not end for one reason the others are not run: go test would end the lot without a table.
func TestHopeless(t *testing.T) {
	draws.Seldom(t, 0, 4)
	t.Parallel()
	c := exec.Command(os.Args[0], "-test.run=^TestInVain$")
	c.Env = append(os.Environ(), mine+"=spins")
	out, err := c.CombinedOutput()
	if err == nil {
		t.Errorf("the test passed:\n%s", out)
	}
	for w, want := range map[string]int{
		"the run did not end: virtual time stands still, and the run was stopped after 300ms of real time":                        3,
		"not run: the three runs before did not end: virtual time stands still, and the run was stopped after 300ms of real time": 0, // without -v
		"--- FAIL: TestInVain/failover-lag/single":     0,
		"6 runs: 0 proved, 3 did not end, 3 not run\n": 2, // in the table, and after it
	} {
		if got := strings.Count(string(out), w); got != want {
			t.Errorf("the output contains %q %d times, want %d:\n%s", w, got, want, out)
		}
	}
}

// A lock that is worse than the one it claims to be like fails, and the log says why.
func TestWorse(t *testing.T) {
	draws.Seldom(t, 0, 4)
	c := exec.Command(os.Args[0], "-test.run=^TestLikeFenced$")
	c.Env = append(os.Environ(), mine+"=worse")
	out, err := c.CombinedOutput()
	if err == nil {
		t.Errorf("the test passed:\n%s", out)
	}
	for _, w := range []string{
		"--- FAIL: TestLikeFenced/pause-fenced/fenced (",
		"resource exclusion violated: c1 wrote A",
		"the assumption broken with it: bounded pause",
		"the claim is that the lock is as good as fenced, which keeps it here",
		"see it again: go test -run '^TestLikeFenced$/^pause-fenced$/^fenced$' -skip '//^fenced$/.' lockstep/scenarios\n",
	} {
		if !strings.Contains(string(out), w) {
			t.Errorf("the output does not contain %q:\n%s", w, out)
		}
	}
}

func TestLikeFenced(t *testing.T) {
	draws.Seldom(t, 1, 4)
	newLock := clients.NewFenced
	if os.Getenv(mine) == "worse" {
		newLock = clients.NewSingle
	}
	scenarios.Test(t, newLock, scenarios.Like("fenced"))
}

// fileOf names a page for TestFile.
const fileOf = "LOCKSTEP_TEST_FILE"

var renew = flag.Bool("renew", false, "renew the timelines of the page of TestFile")

// TestFile is what a user with a scenario of his own writes.
func TestFile(t *testing.T) {
	path := cmp.Or(os.Getenv(fileOf), filepath.Join("testdata", "deploy.txtar"))
	scenarios.RunFile(t, path, clients.NewSingle, scenarios.Rewrite(*renew))
}

// The lock has the name of the test that calls, whichever way it calls, and what is kept says so.
func TestFileNamesTheLock(t *testing.T) {
	dir := t.TempDir()
	out, err := exec.Command(os.Args[0], "-test.run=^TestFile$", "-test.artifacts", "-test.outputdir="+dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := 0
	filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" {
			return err
		}
		n++
		history, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(history), `"lock":"TestFile"`) {
			first, _, _ := strings.Cut(string(history), "\n")
			t.Errorf("%s, %v: %s", path, err, first)
		}
		return nil
	})
	if n == 0 {
		t.Errorf("no history was kept:\n%s", out)
	}
}

// What a page expects is what must come, to the letter, and its timeline is renewed on request, which changes nothing else.
func TestRunFile(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("testdata", "deploy.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	const (
		expects = "expect resource exclusion violated: bounded pause\n"
		writes  = "c1       ok      write A "
	)
	for _, test := range []struct {
		name, old, new string
		args           []string
		fails          bool
		want           []string
	}{
		{name: "as it is", want: []string{"PASS"}},
		{"a violation is not expected", expects, "", nil, true, []string{
			"deploy.txtar:%d: resource exclusion: expected ok, got violated", "--- FAIL: TestFile/deploy/ours", "see it again: go test -run '^TestFile$/^deploy$/^ours$' -skip '//^ours$/.' lockstep/scenarios\n", "1 not as expected"}},
		{"another assumption", "bounded pause\n", "bounded delay\n", nil, true, []string{"expected broken assumption \"bounded delay\", got broken assumption \"bounded pause\""}},
		{"a violation that does not come", "-- ours nodes=1 label=short --\n", "-- ours nodes=1 label=short --\nexpect lease exclusion violated\n", nil, true, []string{"lease exclusion: expected violated, got ok", "--- FAIL: TestFile/deploy/ours/short"}},
		{"a must that does not occur", "  pause 15s\n", "  pause 5s\n", nil, true, []string{"nothing is proved: must c1 resumes after its lease ended: did not occur"}},
		{"another timeline", writes, "c1       ok      write X ", nil, true, []string{"the timeline is another one from here on; scenarios.Rewrite(true) renews it", "\n              -   ", "c1       ok      write X ", "\n              +   ", "deploy.txtar:31: "}},
		{"another timeline, renewed", writes, "c1       ok      write X ", []string{"-renew", "-test.v"}, false, []string{"renewed the timelines in "}},
		{"a mistake", "  pause 15s\n", "  puase 15s\n", nil, true, []string{"deploy.txtar:7: unknown step \"puase\""}},
		{"what is not as expected stays, when timelines are renewed", expects, "", []string{"-renew"}, true, []string{"expected ok, got violated"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "deploy.txtar")
			before := strings.Replace(string(page), test.old, test.new, 1)
			if err := os.WriteFile(file, []byte(before), 0o640); err != nil {
				t.Fatal(err)
			}
			c := exec.Command(os.Args[0], append([]string{"-test.run=^TestFile$"}, test.args...)...)
			c.Env = append(os.Environ(), fileOf+"="+file)
			out, err := c.CombinedOutput()
			if (err != nil) != test.fails {
				t.Errorf("%v\n%s", err, out)
			}
			line := strings.Count(before[:strings.Index(before, "-- ours nodes=1 --")], "\n") + 1
			for _, w := range test.want {
				if w = strings.ReplaceAll(w, "%d", strconv.Itoa(line)); !strings.Contains(string(out), w) {
					t.Errorf("the output does not contain %q:\n%s", w, out)
				}
			}
			after, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := before
			if test.old == writes && len(test.args) > 0 {
				want = string(page)
			}
			if string(after) != want {
				t.Errorf("the file is now:\n%s", after)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("the mode of the file is now %v, %v", info.Mode(), err)
			}
		})
	}
}
