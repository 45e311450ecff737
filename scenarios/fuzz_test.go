package scenarios_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/clients/broken"
	"lockstep/scenarios"
)

// FuzzExplored is what a user writes. Its lock is a good one, unless TestFuzz says otherwise.
func FuzzExplored(f *testing.F) {
	newLock := clients.NewSingle
	if name := os.Getenv(mine); name != "" {
		var err error
		if newLock, err = clients.FindIn(broken.All(), name); err != nil {
			f.Fatal(err)
		}
	}
	scenarios.Fuzz(f, newLock)
}

// fuzzed fuzzes a lock for a while in a directory, and returns what that printed. The test binary is not instrumented, so nothing
// guides the fuzzer: to build it so takes longer than this test may.
func fuzzed(t *testing.T, dir, lock string, args ...string) (out string, failed bool) {
	t.Helper()
	c := exec.Command(os.Args[0], append([]string{"-test.fuzzcachedir=" + filepath.Join(dir, "cache"), "-test.parallel=2"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), mine+"="+lock)
	data, err := c.CombinedOutput()
	return string(data), err != nil
}

// The fuzzer finds a mistake, and keeps the input. The report is that of Explore, and its token repeats the run. In a good lock it
// finds nothing.
func TestFuzz(t *testing.T) {
	if testing.Short() {
		t.Skip("fuzzes for seconds")
	}
	fuzzing := []string{"-test.run=^$", "-test.fuzz=^FuzzExplored$", "-test.fuzzminimizetime=10x", "-test.fuzztime"}
	dir := t.TempDir()
	// What go test draws depends on luck: what it finds may need pauses of clients only, without a nemesis, and owner only may break
	// alone or with lease exclusion. It stops when it has found something, mostly within 500 executions.
	out, failed := fuzzed(t, dir, "single-counter-token", append(fuzzing, "20000x")...)
	for _, want := range []string{
		"--- FAIL: FuzzExplored", " violated, no broken assumption: ", "reduced further to:\n", "client c1\n", "the claim is that the lock keeps this",
		"see it again: LOCKSTEP_REPLAY=lk1.", " go test -run '^FuzzExplored$' lockstep/scenarios\n",
	} {
		if !failed || !strings.Contains(out, want) {
			t.Fatalf("fuzzing a broken lock does not print %q:\n%s", want, out)
		}
	}
	kept, err := filepath.Glob(filepath.Join(dir, "testdata/fuzz/FuzzExplored/*"))
	if err != nil || len(kept) == 0 {
		t.Errorf("no input was kept: %v", err)
	}
	t.Setenv("LOCKSTEP_REPLAY", token.FindStringSubmatch(out)[1])
	out, failed = fuzzed(t, t.TempDir(), "single-counter-token", "-test.run=^FuzzExplored$")
	if !failed || strings.Count(out, "the run breaks what is claimed of the lock") != 1 || !strings.Contains(out, " violated, no broken assumption: ") {
		t.Errorf("the token does not repeat the run once:\n%s", out)
	}
	os.Unsetenv("LOCKSTEP_REPLAY")
	start := time.Now()
	if out, failed := fuzzed(t, t.TempDir(), "", append(fuzzing, "500x")...); failed || !strings.Contains(out, "PASS") {
		t.Errorf("fuzzing a good lock fails:\n%s", out)
	}
	t.Logf("a good lock: %v", time.Since(start))
}
