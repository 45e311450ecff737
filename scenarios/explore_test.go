package scenarios_test

import (
	"context"
	"errors"
	"fmt"
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
	"lockstep/clients/sound"
	"lockstep/internal/draws"
	"lockstep/scenarios"
	"lockstep/scenarios/script"
)

// likeOf names the lock that the one of TestExplored is claimed to be like.
const likeOf = "LOCKSTEP_TEST_LIKE"

// within names the kinds of perturbations, with commas.
const within = "LOCKSTEP_TEST_WITHIN"

// hunted is how long to hunt, if at all.
const hunted = "LOCKSTEP_TEST_HUNT"

// from is the scenario file whose runs are perturbed, if there is one.
const from = "LOCKSTEP_TEST_FROM"

// TestExplored is what a user writes. Its lock is a good one, unless TestExploreFinds says otherwise.
func TestExplored(t *testing.T) {
	if os.Getenv(mine) == "" {
		draws.Seldom(t, 0, 4)
		t.Run("single", func(t *testing.T) { scenarios.Explore(t, clients.NewSingle) })
		if !testing.Short() {
			t.Run("redlock", func(t *testing.T) {
				draws.Turn(t, 3, 4) // not on the day of TestFindings, because both take long
				scenarios.Explore(t, clients.NewRedlock, scenarios.Like("redlock"))
			})
		}
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
		{Name: "kept", New: func(env clients.Env) clients.Locker { return kept{env, clients.NewSingle(env)} }},
		{Name: "from-reply", New: func(env clients.Env) clients.Locker { return fromReply{env} }},
		{Name: "impatient", New: func(env clients.Env) clients.Locker { return &impatient{env: env} }},
		{Name: "impatient-again", New: func(env clients.Env) clients.Locker { return &impatient{env: env, patience: 1} }},
	}
	newLock, err := clients.FindIn(slices.Concat(clients.Locks(), broken.All(), sound.Locks(), sound.Waiting(), own), os.Getenv(mine))
	if err != nil {
		t.Fatal(err)
	}
	opts := []scenarios.Option{scenarios.Like(os.Getenv(likeOf))}
	if os.Getenv(mine) == "single" {
		opts = append(opts, scenarios.Survives(checker.BoundedPause), scenarios.Within(script.Pausing))
	}
	if kinds := os.Getenv(within); kinds != "" {
		for kind := range strings.SplitSeq(kinds, ",") {
			opts = append(opts, scenarios.Within(script.Kind(kind)))
		}
	}
	if d, err := time.ParseDuration(os.Getenv(hunted)); err == nil {
		opts = append(opts, scenarios.Hunt(d))
	}
	if file := os.Getenv(from); file != "" {
		opts = append(opts, scenarios.From(file))
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

// kept is a lock that is never given back.
type kept struct {
	env clients.Env
	clients.Locker
}

func (l kept) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lease, err := l.Locker.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	return pinged{lease, l.env}, nil
}

type pinged struct {
	clients.Lease
	env clients.Env
}

func (l pinged) Release(ctx context.Context) error { return l.env.Nodes[0].Ping(ctx).Err() }

// fromReply counts the TTL from when the reply arrives, and not from before the request.
type fromReply struct{ env clients.Env }

func (l fromReply) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	token := fmt.Sprint(l.env.Rand.Uint64())
	ok, err := l.env.Nodes[0].SetNX(ctx, name, token, ttl).Result()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, clients.ErrNotAcquired
	}
	return replied{l.env, name, token, l.env.Clock.Now().Add(ttl)}, nil
}

type replied struct {
	env         clients.Env
	name, token string
	until       time.Time
}

func (l replied) Until() time.Time { return l.until }

func (l replied) Release(ctx context.Context) error {
	const lua = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
	n, err := l.env.Nodes[0].Eval(ctx, lua, []string{l.name}, l.token).Int()
	if err == nil && n == 0 {
		return clients.ErrNotHeld
	}
	return err
}

// impatient is a lock that, after the second error which it did not expect, takes the key away from whoever has it. Where messages
// are lost one at a time, it takes two of them. It only begins to count once it has been granted the lease of its patience.
type impatient struct {
	env      clients.Env
	patience int
	errors   int
}

func (l *impatient) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lease, err := clients.NewSingle(l.env).Acquire(ctx, name, ttl)
	switch {
	case err == nil:
		l.patience--
	case !errors.Is(err, clients.ErrNotAcquired) && l.patience <= 0:
		if l.errors++; l.errors == 2 {
			l.env.Nodes[0].Del(ctx, name)
		}
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
	out, failed := explored(t, t.TempDir(), "changes", "single")
	if !failed || !strings.Contains(out, "came out differently the second time") || !strings.Contains(out, "scenarios.Restless()") {
		t.Errorf("a lock that does not repeat itself is not found out:\n%s", out)
	}
	for i, test := range []struct {
		lock, like string
		within     script.Kind // only those perturbations, to save time; all if it is ""
		want       []string
	}{
		{"redlock-half-quorum", "redlock", script.Delaying, []string{"lease exclusion violated, no broken assumption: ", "keeps this as long as no assumption breaks, as redlock does under this plan\n"}},
		{"kept", "single", "", []string{"nothing went wrong, and yet a claim is broken\n", "fault tolerance violated, no broken assumption: ", "n1 was up and in reach\n"}},
		{"from-reply", "single", "", []string{"workload once: one perturbation is enough\n", "lease exclusion violated, no broken assumption: ", "reduced further to:\n"}},
		{"single-uncompared", "single", script.Emptying, []string{"owner only violated, no broken assumption: ", "nemesis\n"}},
		{"fenced-per-client", "fenced", "", []string{"nothing went wrong, and yet a claim is broken\n", "tokens violated, no broken assumption: "}},
		{"single", "single", "", []string{"resource exclusion violated, broken assumption \"bounded pause\": ", "the claim is that the lock survives a breach of bounded pause\n", "pause "}},
		{"watchdog-fixed-period", "watchdog", script.LateWrite, []string{"resource exclusion violated, broken assumption \"bounded delay\": ", "the claim is that the lock keeps this even with a breach of bounded delay, as watchdog does under this plan\n"}},
		{"panics", "single", script.Crashing, []string{"the run did not end: panic: no answer\n", "(explore_test.go:", "nemesis\n"}},
		{"leaks", "single", script.Crashing, []string{"the run did not end: goroutines left behind\n", "(explore_test.go:", "nemesis\n"}},
	} {
		t.Run(test.lock, func(t *testing.T) {
			if i == 0 { // it takes a minute
				draws.Turn(t, 2, 4)
			}
			draws.Seldom(t, uint64(i), 6)
			t.Setenv(within, string(test.within))
			out, failed := explored(t, t.TempDir(), test.lock, test.like)
			if !failed {
				t.Errorf("the test passed:\n%s", out)
			}
			for _, w := range append(test.want, "--- FAIL: TestExplored ", "see it again: LOCKSTEP_REPLAY=lk1.", " go test -run '^TestExplored$' lockstep/scenarios\n") {
				if !strings.Contains(out, w) {
					t.Errorf("the output does not contain %q:\n%s", w, out)
				}
			}
			if n := strings.Count(out, "\n"); n > 250 {
				t.Errorf("the output has %d lines:\n%s", n, out)
			}
		})
	}
}

var (
	head  = regexp.MustCompile(`(?m)^ +\S+, seed [0-9]+, (checksum [0-9a-f]+)$`)
	token = regexp.MustCompile(`LOCKSTEP_REPLAY=(\S+)`)

	artifacts = regexp.MustCompile(`(?m)^=== ARTIFACTS .*\n`)
)

// What fails, fails in the same way the next time; its token shows the same run, and its page is one of the catalogue's kind.
func TestExploreAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("explores a lock three times")
	}
	dir := t.TempDir()
	t.Setenv(within, string(script.Losing))
	first, failed := explored(t, dir, "impatient", "single", "-test.artifacts", "-test.outputdir="+dir)
	sum, tok := head.FindStringSubmatch(first), token.FindStringSubmatch(first)
	if !failed || sum == nil || tok == nil {
		t.Fatalf("there is no failure that explains itself:\n%s", first)
	}
	if !strings.Contains(first, "2 perturbations are enough\n") || !strings.Contains(first, "reduced further to:\n") {
		t.Errorf("the log does not show the plan and the smallest run:\n%s", first)
	}
	second, _ := explored(t, t.TempDir(), "impatient", "single")
	if timing := regexp.MustCompile(`\([0-9.]+s\)|\t[0-9.]+s`); timing.ReplaceAllString(second, "") != timing.ReplaceAllString(artifacts.ReplaceAllString(first, ""), "") {
		t.Errorf("the second time the output is\n%s\nand it was\n%s", second, first)
	}
	checkPages(t, dir)
	t.Setenv("LOCKSTEP_REPLAY", tok[1])
	again, failed := explored(t, dir, "impatient", "single")
	if !failed || !strings.Contains(again, sum[1]) {
		t.Errorf("the token does not show %s:\n%s", sum[1], again)
	}
}

// checkPages checks that the pages that were kept are scenario files.
func checkPages(t *testing.T, dir string) {
	t.Helper()
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
		if _, err := script.Parse(filepath.Base(path), data); err != nil {
			t.Errorf("the page that was kept: %v", err)
		}
		return nil
	})
	if pages == 0 {
		t.Error("no page was kept")
	}
}

// A hunt finds what takes two faults in the second of two leases. What has failed is stored, and fails first the next time.
func TestHunt(t *testing.T) {
	if testing.Short() {
		t.Skip("explores a lock three times")
	}
	dir := t.TempDir()
	t.Setenv(within, string(script.Losing))
	if out, failed := explored(t, dir, "impatient-again", "single"); failed {
		t.Fatalf("it is found without a hunt:\n%s", out)
	}
	t.Setenv(hunted, "1ms")
	first, failed := explored(t, dir, "impatient-again", "single", "-rapid.seed=1", "-rapid.checks=5000")
	sum := head.FindStringSubmatch(first)
	if !failed || sum == nil {
		t.Fatalf("the hunt finds nothing:\n%s", first)
	}
	if !strings.Contains(first, "The output above is rapid's. Use the command at the very end") || !strings.Contains(first, "reduced further to:\n") {
		t.Errorf("nothing stands between what rapid says and the smallest run:\n%s", first)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "testdata", "rapid", "TestExplored", "*.fail"))
	if err != nil || len(kept) != 1 {
		t.Errorf("rapid has kept %v, %v", kept, err)
	}
	second, failed := explored(t, dir, "impatient-again", "single", "-rapid.checks=1")
	if !failed || !strings.Contains(second, sum[1]) || !strings.Contains(second, "failed after 0 tests") {
		t.Errorf("the second time, %s is not what fails first:\n%s", sum[1], second)
	}
}

// Every plan with one perturbation is played.
func TestExploreExhausts(t *testing.T) {
	if testing.Short() {
		t.Skip("explores a lock three times")
	}
	t.Run("a lock with a mistake", func(t *testing.T) {
		draws.Turn(t, 0, 3)
		out, failed := explored(t, t.TempDir(), "from-reply", "single")
		if !failed || !regexp.MustCompile(`one perturbation is enough\n +when n1 sets c1 pause c1 12s\n`).MatchString(out) {
			t.Errorf("the perturbation was not found:\n%s", out)
		}
	})
	t.Run("a lock that looks before it asks", func(t *testing.T) { // so that the same plan meets another of its commands than it meets of single
		draws.Turn(t, 1, 3)
		out, failed := explored(t, t.TempDir(), "single-patient", "single")
		if failed {
			t.Errorf("a lock is accused that does what single does, at other moments:\n%s", out)
		}
	})
	t.Run("a good lock", func(t *testing.T) {
		draws.Turn(t, 2, 3)
		out, failed := explored(t, t.TempDir(), "fenced", "fenced", "-test.v")
		if failed || !strings.Contains(out, "all plans with one perturbation, ") {
			t.Errorf("it fails:\n%s", out)
		}
	})
}

// What is perturbed may be the runs of a scenario file, without their faults. Those that are then the same are perturbed once.
func TestExploreFrom(t *testing.T) {
	if testing.Short() {
		t.Skip("explores locks")
	}
	const page = "# A file.\n\nclient c1\n  acquire\n  pause 15s\n  write A\n%s  release\nclient c2\n  until 5s\n  acquire within 20s every 1s\n  write B\n  release\n" +
		"nemesis\n  at 1s crash n1\n\n-- ours nodes=1 --\n-- ours nodes=1 label=again --\n-- ours nodes=1 label=short ttl=4s --\n"
	const pausing = "# A file.\n\nclient c1\n  pause 15s\nclient c2\n  acquire\n\n-- ours nodes=1 --\n"
	for _, test := range []struct {
		name, lock, page string
		fails            bool
		want             []string
	}{
		{"a good lock", "single", fmt.Sprintf(page, ""), true, []string{"run own/ours: one perturbation is enough\n", "the claim is that the lock survives a breach of bounded pause\n"}},
		{"two runs", "fenced", fmt.Sprintf(page, ""), false, []string{"run own/ours\n", "run own/ours/short\n"}},
		{"a broken lock", "from-reply", fmt.Sprintf(page, ""), true, []string{"run own/ours: one perturbation is enough\n", "resource exclusion violated, no broken assumption: ", "found-single-resource-exclusion-none-"}},
		{"what the lock cannot do", "single", fmt.Sprintf(page, "  extend\n"), true, []string{"run own/ours does not apply to the lock: its leases cannot be extended"}},
		{"a mistake in the file", "single", fmt.Sprintf(page, "  pauze 3s\n"), true, []string{`own.txtar:7: unknown step "pauze"`}},
		{"a client that only pauses", "single", pausing, true, []string{"own.txtar:8: c1 of ours does nothing but pause"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "own.txtar"), []byte(test.page), 0o644); err != nil {
				t.Fatal(err)
			}
			t.Setenv(from, "own.txtar")
			out, failed := explored(t, dir, test.lock, "single", "-test.v")
			if failed != test.fails || strings.Contains(out, "run own/ours/again") {
				t.Errorf("failed: %v\n%s", failed, out)
			}
			for _, w := range test.want {
				if !strings.Contains(out, w) {
					t.Errorf("the output does not contain %q:\n%s", w, out)
				}
			}
		})
	}
}

// A test fails that proves nothing.
func TestExploreProvesNothing(t *testing.T) {
	draws.Seldom(t, 2, 4)
	t.Run("nothing to perturb", func(t *testing.T) {
		t.Setenv(within, string(script.FailingOver))
		out, failed := explored(t, t.TempDir(), "fenced", "single")
		if !failed || !strings.Contains(out, "nothing is proved: the calm run has nothing to perturb by failover; ") {
			t.Errorf("there is no replica:\n%s", out)
		}
	})
	t.Run("token", func(t *testing.T) {
		page, err := script.Parse("never.txtar", []byte("# A fault without its moment.\n\nclient c1\n  acquire\n  release\nnemesis\n"+
			"  on request SET #9 c1->n1 reset\n\n-- single nodes=1 --\n"))
		if err != nil {
			t.Fatal(err)
		}
		token, err := page.Token()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("LOCKSTEP_REPLAY", token)
		out, failed := explored(t, t.TempDir(), "fenced", "single")
		if !failed || !strings.Contains(out, "it no longer applies:\n") || !strings.Contains(out, "`on request SET #9 c1->n1 reset`") {
			t.Errorf("a run that proves nothing:\n%s", out)
		}
	})
}
