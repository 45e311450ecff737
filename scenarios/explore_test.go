package scenarios_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/clients/broken"
	"lockstep/scenarios"
)

// likeOf names the lock that the one of TestExplored is claimed to be like.
const likeOf = "LOCKSTEP_TEST_LIKE"

// TestExplored is what a user writes. Its lock is a good one, unless TestExploreFinds says otherwise.
func TestExplored(t *testing.T) {
	if os.Getenv(mine) == "" {
		t.Run("single", func(t *testing.T) { scenarios.Explore(t, clients.NewSingle) })
		t.Run("redlock", func(t *testing.T) { scenarios.Explore(t, clients.NewRedlock, scenarios.Like("redlock")) })
		return
	}
	own := []clients.Lock{
		{Name: "panics", New: func(env clients.Env) clients.Locker {
			return shaky{clients.NewSingle(env), func() { panic("no answer") }}
		}},
		{Name: "leaks", New: func(env clients.Env) clients.Locker {
			return shaky{clients.NewSingle(env), func() { go func() { select {} }() }}
		}},
		{Name: "changes", New: func(env clients.Env) clients.Locker {
			return shaky{clients.NewSingle(env), func() { env.Clock.Sleep(time.Duration(tries.Add(1)) * time.Millisecond) }}
		}},
	}
	newLock, err := clients.FindIn(slices.Concat(clients.Locks(), broken.Locks(), own), os.Getenv(mine))
	if err != nil {
		t.Fatal(err)
	}
	opts := []scenarios.Option{scenarios.Like(os.Getenv(likeOf))}
	if os.Getenv(mine) == "single" {
		opts = append(opts, scenarios.Survives(checker.BoundedPause), scenarios.Within(scenarios.Pausing))
	}
	scenarios.Explore(t, newLock, opts...)
}

// tries outlive a run, so that no run is like another.
var tries atomic.Int64

// shaky is a lock that does something of its own after an error that it did not expect.
type shaky struct {
	clients.Locker
	then func()
}

func (l shaky) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lease, err := l.Locker.Acquire(ctx, name, ttl)
	if err != nil && !errors.Is(err, clients.ErrNotAcquired) {
		l.then()
	}
	return lease, err
}

// explored runs TestExplored with a lock in a directory, and returns what it printed.
func explored(t *testing.T, dir, lock, like string, args ...string) (out string, failed bool) {
	t.Helper()
	c := exec.Command(os.Args[0], append([]string{"-test.run=^TestExplored$"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), mine+"="+lock, likeOf+"="+like)
	data, err := c.CombinedOutput()
	return string(data), err != nil
}

// A lock that lacks a safeguard fails, and the log says in which run, why, and how to see it again.
func TestExploreFinds(t *testing.T) {
	out, failed := explored(t, t.TempDir(), "changes", "single", "-rapid.seed=1")
	if !failed || !strings.Contains(out, "came out differently the second time") || !strings.Contains(out, "scenarios.Restless()") {
		t.Errorf("a lock that does not repeat itself is not found out:\n%s", out)
	}
	for _, test := range []struct {
		lock, like string
		want       []string
	}{
		{"redlock-half-quorum", "redlock", []string{"lease exclusion violated, no broken assumption: ", "keeps this as long as no assumption breaks, as redlock does under this plan\n"}},
		{"single-uncompared", "single", []string{"owner only violated, no broken assumption: ", "nemesis\n"}},
		{"fenced-per-client", "fenced", []string{"nothing went wrong, and yet a claim is broken\n", "tokens violated, no broken assumption: "}},
		{"single", "single", []string{"resource exclusion violated, broken bounded pause: ", "it is claimed that the lock survives a breach of bounded pause\n", "pause "}},
		{"panics", "single", []string{"the run did not end: panic: no answer\n", "(explore_test.go:", "nemesis\n"}},
		{"leaks", "single", []string{"the run did not end: goroutines left behind\n", "(explore_test.go:", "nemesis\n"}},
	} {
		t.Run(test.lock, func(t *testing.T) {
			out, failed := explored(t, t.TempDir(), test.lock, test.like, "-rapid.seed=1", "-rapid.checks=1000")
			if !failed {
				t.Errorf("the test passed:\n%s", out)
			}
			for _, w := range append(test.want, "--- FAIL: TestExplored ", "see it again: LOCKSTEP_REPLAY=lk1.", " go test -run '^TestExplored$' lockstep/scenarios\n") {
				if !strings.Contains(out, w) {
					t.Errorf("the output does not contain %q:\n%s", w, out)
				}
			}
			if n := strings.Count(out, "\n"); n > 100 {
				t.Errorf("the output has %d lines:\n%s", n, out)
			}
		})
	}
}

var (
	head  = regexp.MustCompile(`(?m)^    \S+, seed [0-9]+, (checksum [0-9a-f]+)$`)
	token = regexp.MustCompile(`LOCKSTEP_REPLAY=(\S+)`)
)

// What has failed is kept, and fails first the next time; its token shows the same run, and its page is one of the catalogue's kind.
func TestExploreAgain(t *testing.T) {
	dir := t.TempDir()
	first, failed := explored(t, dir, "redlock-half-quorum", "redlock", "-rapid.seed=1", "-rapid.checks=1000", "-test.artifacts", "-test.outputdir="+dir)
	sum, tok := head.FindStringSubmatch(first), token.FindStringSubmatch(first)
	if !failed || sum == nil || tok == nil {
		t.Fatalf("there is no failure that explains itself:\n%s", first)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "testdata", "rapid", "TestExplored", "*.fail"))
	if err != nil || len(kept) != 1 {
		t.Errorf("rapid has kept %v, %v", kept, err)
	}
	second, failed := explored(t, dir, "redlock-half-quorum", "redlock", "-rapid.checks=1")
	if !failed || !strings.Contains(second, sum[1]) || !strings.Contains(second, "failed after 0 tests") {
		t.Errorf("the second time, %s is not what fails first:\n%s", sum[1], second)
	}
	t.Setenv("LOCKSTEP_REPLAY", tok[1])
	again, failed := explored(t, dir, "redlock-half-quorum", "redlock")
	if !failed || !strings.Contains(again, sum[1]) || strings.Contains(again, "rapid") {
		t.Errorf("the token does not show %s:\n%s", sum[1], again)
	}
	pages := 0
	filepath.WalkDir(filepath.Join(dir, "_artifacts"), func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txtar" {
			return err
		}
		pages++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := scenarios.Parse(filepath.Base(path), data); err != nil {
			t.Errorf("the page that was kept: %v", err)
		}
		return nil
	})
	if pages != 1 {
		t.Errorf("%d pages were kept, want 1:\n%s", pages, first)
	}
}
