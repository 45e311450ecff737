package scenarios_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"lockstep/clients"
	"lockstep/scenarios"
)

// A module is one of somebody else's, in a directory of its own, that requires Lockstep.
type module struct{ dir string }

const guide = "../docs/your-lock.md"

// newModule makes a module of what README.md and the guide show, and of testdata/shop.txtar.
func newModule(t *testing.T) module {
	t.Helper()
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	m := module{t.TempDir()}
	m.write(t, "go.mod", fmt.Sprintf("module example.com/shop\n\ngo 1.26\n\nrequire lockstep v0.0.0\n\nreplace lockstep => %s\n", repository))

	readme := regexp.MustCompile("(?s)## Your lock, in ten lines\n[^`#]*`mylock_test.go`[^`]*\n```go\n(.*?)```").FindStringSubmatch(read(t, "../README.md"))
	if readme == nil {
		t.Fatal("README.md shows no lock in ten lines")
	}
	m.write(t, "mylock/mylock_test.go", readme[1])

	files := regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```\\w*\n(.*?)```\n").FindAllStringSubmatch(read(t, guide), -1)
	if len(files) != 9 {
		t.Errorf("%s has %d files, want 9", guide, len(files))
	}
	for _, f := range files {
		m.write(t, f[1], f[2])
	}
	for _, f := range txtar.Parse([]byte(read(t, "testdata/shop.txtar"))).Files {
		m.write(t, f.Name, string(f.Data))
	}
	return m
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (m module) write(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in the module, and returns what it printed and its exit status.
func (m module) run(t *testing.T, dir, name string, args ...string) (string, int) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = filepath.Join(m.dir, dir)
	// Nothing is to be had from the network that this repository does not need itself.
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod -ldflags=-w -vet=off", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off")
	out, err := c.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// says demands that a command ended with a status, and printed some things.
func says(t *testing.T, out string, status, wantStatus int, want ...string) {
	t.Helper()
	if status != wantStatus {
		t.Errorf("exit status %d, want %d:\n%s", status, wantStatus, out)
		return
	}
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("the output does not contain %q:\n%s", w, out)
		}
	}
}

var (
	failures = regexp.MustCompile(`(?s)--- FAIL: (Test\S+/\S+) \([0-9.s]+\)\n[^\n]*?: ([^\n]*, seed [^\n]*)\n(.*?)see it again: ([^\n]*)\n`)
	again    = regexp.MustCompile(`see it again: ([^\n]*)\n`)
)

// repeats demands that the first failure in the output explains itself, and that the command which it ends with gives the same.
// If there is a test binary already, it does what the command has go test do, which would take its time to link another.
func (m module) repeats(t *testing.T, out, binary string, want ...string) {
	t.Helper()
	failure := failures.FindStringSubmatch(out)
	if failure == nil {
		t.Errorf("there is no failure that ends with its command:\n%s", out)
		return
	}
	name, head, text, command := failure[1], failure[2], failure[3], failure[4]
	says(t, head+"\n"+text, 0, 0, append(want, ", seed 1, checksum ", "  ok      acquire", "verdict: UNSAFE", "was violated\n", "   1. ", "the claim is that the lock ")...)
	t.Logf("%s: %s", name, command)
	if binary != "" {
		command = strings.NewReplacer("go test -run ", filepath.Join(m.dir, binary)+" -test.run ", " -skip ", " -test.skip ", " example.com/shop/quorum", "", " -args", "").Replace(command)
	}

	repeated, status := m.run(t, "mylock", "sh", "-c", command) // from anywhere in the module
	says(t, repeated, status, 1, "--- FAIL: "+name, head+"\n"+text)
	if n := len(again.FindAllString(repeated, -1)); n != 1 || !strings.Contains(repeated, "1 run: ") {
		t.Errorf("%s repeats %d failures, and not just one run:\n%s", command, n, repeated)
	}
}

// TestModule is what README.md and the guide promise to somebody with a module of his own: his tests give a report; a lock that
// lacks a safeguard fails, and the command that it fails with repeats it.
func TestModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	m := newModule(t)

	out, status := m.run(t, "", "go", "test", "./lock", "-run", "Verdicts", "-rewrite")
	says(t, out, status, 0)
	says(t, read(t, filepath.Join(m.dir, "lock/testdata/verdicts.json")), 0, 0, `{"scenario":"pause-fenced","run":"single","verdict":"UNSAFE",`)

	out, status = m.run(t, "", "go", "test", "-v", "./mylock", "./lock")
	says(t, out, status, 0, "--- PASS: TestMyLock/pause-after-acquire/single ", "--- PASS: TestLock/", "--- PASS: FuzzLock/", "--- PASS: TestDeploy/deploy/shop ", "\n        scenario/run ", " UNSAFE as single)")
	table := regexp.MustCompile(`(?s)=== RUN   TestLock\n.*?(        scenario/run .*?UNSAFE as single\)[^\n]*\n)`).FindStringSubmatch(out)
	if table == nil {
		t.Fatalf("there is no table:\n%s", out)
	}
	shows(t, "table", table[1])

	good := read(t, filepath.Join(m.dir, "lock/lock.go"))
	const compared, bare = "release.Run(ctx, h.redis, []string{h.key}, h.token).Int()", "h.redis.Del(ctx, h.key).Result()"
	if !strings.Contains(good, compared) {
		t.Fatalf("the lock of the guide has no %s", compared)
	}
	m.write(t, "lock/lock.go", strings.Replace(good, compared, bare, 1))
	out, status = m.run(t, "", "go", "test", "./lock", "-run", "^TestLock$")
	says(t, out, status, 1, " broken)")
	m.repeats(t, out, "", "owner only violated: ", "no assumption about the environment was broken")

	m.write(t, "lock/lock.go", strings.Replace(good, compared, "h.deleteIfOurs(ctx)", 1)+`
func (h *Held) deleteIfOurs(ctx context.Context) (int64, error) {
	token, err := h.redis.Get(ctx, h.key).Result()
	if err == redis.Nil || err == nil && token != h.token {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return h.redis.Del(ctx, h.key).Result()
}
`)
	out, status = m.run(t, "", "go", "test", "./lock", "-run", "^TestLock$")
	says(t, out, status, 1, "--- FAIL: TestLock/sweep-pause/single ")
	failure := regexp.MustCompile(`(?s)    --- FAIL: TestLock/sweep-pause/single.*?see it again: [^\n]*\n`).FindString(out)
	shows(t, "failure", regexp.MustCompile(`\([0-9.]+s\)`).ReplaceAllString(failure, "(0.01s)"))

	out, status = m.run(t, "", "go", "test", "-c", "-o", "quorum.test", "./quorum")
	says(t, out, status, 0)
	quorum := func(args ...string) (string, int) {
		t.Helper()
		return m.run(t, "quorum", "../quorum.test", args...)
	}

	out, status = quorum("-test.run=^TestQuorum$")
	says(t, out, status, 0, "PASS\n")
	out, status = quorum("-test.run=^TestUnchecked$")
	says(t, out, status, 1, "expired on return violated: ")
	m.repeats(t, out, "")
	out, status = quorum("-test.run=^TestHalf$")
	says(t, out, status, 1, "lease exclusion violated: ")
	m.repeats(t, out, "")

	t.Run("mistakes", func(t *testing.T) {
		for test, want := range map[string][]string{
			"BadOption":  {"scenarios.Survives and scenarios.Needs both name \"bounded pause\""},
			"Unlike":     {"runs that apply to this lock prove something; at least 60 % must. Is it like redlock?", " unproved ("},
			"Panics":     {"the run did not end: panic: no configuration", "failed in quorum_test.TestPanics.func1 (quorum_test.go:", "DID NOT END"},
			"Nil":        {"panic: the function that makes the lock, quorum_test.TestNil.func1 (quorum_test.go:", "returned nil; it must return a clients.Locker"},
			"NoLease":    {"panic: Acquire of ", " returned neither a lease nor an error"},
			"Spins":      {"virtual time stands still, and the run was stopped after 1s of real time: a goroutine computes without waiting", "quorum_test.TestSpins.func1 (quorum_test.go:"},
			"Leaks":      {"goroutines left behind", "quorum_test.TestLeaks.func1.1 (quorum_test.go:"},
			"NotReached": {"ended before it took a job", "the port is taken", "must reach this call of scenarios"},
		} {
			out, status := quorum("-test.run=^Test" + test + "$")
			says(t, out, status, 1, append(want, "--- FAIL: Test"+test)...)
		}
	})

	t.Run("ways to call it", func(t *testing.T) {
		out, status := quorum("-test.run=^TestTwice$")
		says(t, out, status, 1, "--- FAIL: TestTwice/pause-in-acquire/redlock#01 ", "1 run: 1 proved (1 SAFE)\n", "1 run: 1 proved (1 broken)\n")
		m.repeats(t, out, "quorum.test", "expired on return violated: ")

		out, status = quorum("-test.run=^TestFlag$")
		says(t, out, status, 0)
		out, status = quorum("-test.run=^TestFlag$", "-unchecked")
		says(t, out, status, 1, "example.com/shop/quorum -args '-unchecked=true'\n")
		m.repeats(t, out, "quorum.test", "expired on return violated: ")

		out, status = quorum("-test.run=^TestTable$", "-test.count=2", "-test.shuffle=on")
		says(t, out, status, 1, `--- FAIL: TestTable/bad_[lock]/pause-in-acquire/redlock `)
		if n := len(again.FindAllString(out, -1)); n != 2 {
			t.Errorf("%d failures in two rounds, want one in each:\n%s", n, out)
		}
		m.repeats(t, out, "quorum.test")

		dir := t.TempDir()
		out, status = m.run(t, "..", filepath.Join(m.dir, "quorum.test"), "-test.run=^TestTable$", "-test.artifacts", "-test.outputdir="+dir)
		says(t, out, status, 1)
		kept := map[string]int{}
		filepath.WalkDir(filepath.Join(dir, "_artifacts"), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				t.Error(err)
			} else if !d.IsDir() {
				kept[d.Name()]++
			}
			return nil
		})
		want := map[string]int{"TestTable-good_lock.txt": 1, "TestTable-bad_[lock].txt": 1, "index.html": 2, "junit.xml": 2,
			"TestTable-bad_[lock]-pause-in-acquire-redlock.html": 1}
		for _, ending := range []string{".txt", ".jsonl", ".txtar"} {
			want["TestTable-good_lock-pause-in-acquire-redlock"+ending] = 1
			want["TestTable-bad_[lock]-pause-in-acquire-redlock"+ending] = 1
		}
		if !maps.Equal(kept, want) {
			t.Errorf("the artifacts are %v, want %v", kept, want)
		}
	})

	t.Run("programs", func(t *testing.T) {
		out, status := m.run(t, "", "go", "build", "-o", "bin/", "./trial", "./twice")
		says(t, out, status, 0)
		out, status = m.run(t, "", "bin/trial")
		says(t, out, status, 1, "scenario/run ", " UNSAFE as fenced and single; ", "pause-fenced/fenced: c1 wrote A ", "  the claim is that the lock is as good as fenced, which keeps it here\n")
		out, status = m.run(t, "", "bin/twice")
		says(t, out, status, 0, "pause-fenced/fenced SAFE 0 false\n", "pause-fenced/fenced UNSAFE 1 true\n")
		out, status = m.run(t, "", "bin/twice", "lost")
		says(t, out, status, 1, "scenarios.Run: sim: ", "ended before it took a job", "the port is taken")
	})
}

// shows demands that a block of output in the guide is what comes out.
func shows(t *testing.T, name, out string) {
	t.Helper()
	lines := strings.SplitAfter(out, "\n")
	indent := len(out) - len(strings.TrimLeft(out, " "))
	for i, l := range lines {
		lines[i] = l[min(indent, len(l)-len(strings.TrimLeft(l, " "))):]
	}
	block := regexp.MustCompile("(?s)(<!-- output: " + name + " -->\n```\n).*?(```\n<!-- /output -->)")
	have := read(t, guide)
	want := block.ReplaceAllString(have, "${1}"+strings.ReplaceAll(strings.Join(lines, ""), "$", "$$")+"${2}")
	if have == want {
		return
	}
	if f := flag.Lookup("rewrite"); f == nil || f.Value.String() != "true" {
		t.Errorf("the %s in %s is not what comes out; go test ./scenarios -run Module -rewrite renews it", name, guide)
		return
	}
	if err := os.WriteFile(guide, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRunIsForPrograms(t *testing.T) {
	if _, err := scenarios.Run(context.Background(), clients.NewSingle); err == nil || !strings.Contains(err.Error(), "in a test use scenarios.Test") {
		t.Errorf("error %v", err)
	}
}
