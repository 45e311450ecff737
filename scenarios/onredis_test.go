package scenarios_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockstep/clients"
	"lockstep/clients/planted"
	"lockstep/scenarios"
)

// TestMineOnRedis is what a user writes. Its lock is a good one, unless TestPlantedOnRedis says otherwise.
func TestMineOnRedis(t *testing.T) {
	newLock := clients.NewSingle
	if name := os.Getenv(mine); name != "" {
		var err error
		if newLock, err = clients.FindIn(planted.Locks(), name); err != nil {
			t.Fatal(err)
		}
	} else if os.Getenv("CI") == "" {
		if _, err := exec.LookPath("redis-server"); err != nil {
			t.Skip(err)
		}
	}
	names := []string{"pause-after-acquire", "failover-lag", "pause-fenced"}
	if testing.Short() { // a failover takes nine seconds
		names = []string{"pause-after-acquire", "pause-fenced"}
	}
	scenarios.Test(t, newLock, scenarios.OnRedis(), scenarios.Speed(20), scenarios.Memory(250e6), scenarios.Only(names...))
}

// onRedis runs TestMineOnRedis with a planted lock.
func onRedis(t *testing.T, lock string, env ...string) (output string, err error) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestMineOnRedis$", "-test.v")
	c.Env = append(append(c.Environ(), mine+"="+lock), env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// A lock that breaks its process fails the test, with a report that says what happened, in which client, and where.
func TestPlantedOnRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds on real servers")
	}
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	for name, want := range map[string][]string{
		"panics": {": panic: assignment to entry in nil map", "planted.panics"},
		"races":  {": fatal error: concurrent map writes", "planted.write"},
		"exits":  {": panic: the lock called runtime.Goexit", "failed in planted.exits"},
		"hoards": {": the run used more than 250 MB of memory: at least ", "allocated in planted.hoards", "used too much memory"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := onRedis(t, name)
			if err == nil {
				t.Errorf("the test passed:\n%s", out)
			}
			for _, w := range append(want, "--- FAIL: TestMineOnRedis/pause-fenced/single") {
				if !strings.Contains(out, w) {
					t.Errorf("the output does not contain %q:\n%s", w, out)
				}
			}
		})
	}
}

// Without a server the test fails, in one line that says how to get one; it is not skipped.
func TestOnRedisWithoutServer(t *testing.T) {
	out, err := onRedis(t, "panics", "PATH="+t.TempDir())
	if err == nil || !regexp.MustCompile(`(?m)^ .*: scenarios\.OnRedis: redis-server is not on the PATH; install it .*$`).MatchString(out) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFileOnRedis is what a user with a scenario of his own writes.
func TestFileOnRedis(t *testing.T) {
	path := os.Getenv(fileOf)
	if path == "" {
		t.Skip("TestRunFileOnRedis says which page")
	}
	scenarios.RunFile(t, path, clients.NewSingle, scenarios.OnRedis(), scenarios.Speed(20), scenarios.Rewrite(*renew))
}

// On real servers a page of which nothing can be done there fails, and so does the wish to renew its timelines; neither
// changes it.
func TestRunFileOnRedis(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	const page = `# The clock of a node runs fast.

client c1
  acquire
  sleep 2s
  release

-- ours nodes=1 replicas=1 --
nemesis
  at 1s drift n1 +500ppm
`
	const possible = page + "\n-- theirs nodes=1 --\n"
	for _, test := range []struct {
		name, page string
		args       []string
		fails      bool
		want       []string
	}{
		{"nothing can be done", page, nil, true, []string{"none of the runs can be done on real servers:\n", "jump/ours: "}},
		{"one of two can be done", possible, nil, false, []string{"--- SKIP: TestFileOnRedis/jump/ours ", "--- PASS: TestFileOnRedis/jump/theirs "}},
		{"timelines to be renewed", possible, []string{"-renew"}, true, []string{"scenarios.Rewrite(true) and scenarios.OnRedis: "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "jump.txtar")
			if err := os.WriteFile(file, []byte(test.page), 0o644); err != nil {
				t.Fatal(err)
			}
			c := exec.Command(os.Args[0], append([]string{"-test.run=^TestFileOnRedis$", "-test.v"}, test.args...)...)
			c.Env = append(os.Environ(), fileOf+"="+file)
			out, err := c.CombinedOutput()
			if (err != nil) != test.fails {
				t.Errorf("%v\n%s", err, out)
			}
			for _, w := range test.want {
				if !strings.Contains(string(out), w) {
					t.Errorf("the output does not contain %q:\n%s", w, out)
				}
			}
			if after, err := os.ReadFile(file); err != nil || string(after) != test.page {
				t.Errorf("the file is now, %v:\n%s", err, after)
			}
		})
	}
}
