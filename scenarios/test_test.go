package scenarios_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/clients/planted"
	"lockstep/scenarios"
)

// mine names a planted lock that takes the place of the good one in TestMine.
const mine = "LOCKSTEP_TEST_LOCK"

// TestMine is what a user writes. Its lock is a good one, unless TestPlanted says otherwise.
func TestMine(t *testing.T) {
	if name := os.Getenv(mine); name != "" {
		newLock, err := clients.FindIn(planted.Locks(), name)
		if err != nil {
			t.Fatal(err)
		}
		scenarios.Test(t, newLock, scenarios.Only("pause-fenced"), scenarios.Limit(5*time.Second))
		return
	}
	scenarios.Test(t, clients.NewSingle)
}

// A lock that breaks its process fails the test, with a report that says what happened, in which run, and where.
func TestPlanted(t *testing.T) {
	for name, want := range map[string][]string{
		"panics":    {"panic: assignment to entry in nil map", "planted.panics"},
		"deadlocks": {"the world did not go quiet", "a goroutine waits for a mutex that another holds", "planted.(*lock).ping"},
		"spins":     {"the world did not go quiet within 5s", "planted.spins"},
		"races":     {"fatal error: concurrent map writes", "planted.write"},
		"leaks":     {"goroutines left behind", "planted.leaks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := exec.Command(os.Args[0], "-test.run=^TestMine$")
			c.Env = append(os.Environ(), mine+"="+name)
			out, err := c.CombinedOutput()
			if err == nil {
				t.Errorf("the test passed:\n%s", out)
			}
			for _, w := range append(want, "--- FAIL: TestMine/pause-fenced/run", "pause-fenced/single, seed 1: ") {
				if !strings.Contains(string(out), w) {
					t.Errorf("the output does not contain %q:\n%s", w, out)
				}
			}
		})
	}
}

// A lock that is worse than the one it claims to be like fails, and the log says why.
func TestWorse(t *testing.T) {
	c := exec.Command(os.Args[0], "-test.run=^TestLikeFenced$")
	c.Env = append(os.Environ(), mine+"=worse")
	out, err := c.CombinedOutput()
	if err == nil {
		t.Errorf("the test passed:\n%s", out)
	}
	for _, w := range []string{"--- FAIL: TestLikeFenced/pause-fenced/run", "resource exclusion violated, and fenced keeps it here: c1 wrote A", "(bounded pause broken, which fenced survives here)", "see it again: go test -v -run '^TestLikeFenced$/^pause-fenced$/^run$'"} {
		if !strings.Contains(string(out), w) {
			t.Errorf("the output does not contain %q:\n%s", w, out)
		}
	}
}

func TestLikeFenced(t *testing.T) {
	newLock := clients.NewFenced
	if os.Getenv(mine) == "worse" {
		newLock = clients.NewSingle
	}
	scenarios.Test(t, newLock, scenarios.Like("fenced"))
}
