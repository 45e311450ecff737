package scenarios_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios"
	"lockstep/sim/wasm"
)

const (
	// knownRuns has the runs that TestKnownLock says are known, and why: RUN=WHY, separated by semicolons.
	knownRuns = "LOCKSTEP_TEST_KNOWN"
	// verdicts names the file of TestAgainstLock.
	verdicts = "LOCKSTEP_TEST_AGAINST"
)

// TestMain has no test annotate runs that fail on purpose, where this is itself a workflow on GitHub Actions. TestKnownOnGitHub does.
func TestMain(m *testing.M) {
	if os.Getenv(knownRuns) == "" {
		os.Unsetenv("GITHUB_ACTIONS")
	}
	wasm.SetSource(filepath.Join("testdata", "guest"), true) // much smaller than these tests
	m.Run()
}

// TestKnownLock is what a user writes whose lock breaks its claim: it is said to survive pauses.
func TestKnownLock(t *testing.T) {
	if os.Getenv(knownRuns) == "" {
		t.Skip("it is there for TestKnown")
	}
	opts := []scenarios.Option{scenarios.Only("pause-fenced", "release-race"), scenarios.Like("single", "fenced"), scenarios.Survives(checker.BoundedPause)}
	for known := range strings.SplitSeq(os.Getenv(knownRuns), ";") {
		run, why, _ := strings.Cut(known, "=")
		opts = append(opts, scenarios.Known(run, why))
	}
	scenarios.Test(t, clients.NewSingle, opts...)
}

// TestAgainstLock is what a user writes who has a file of verdicts.
func TestAgainstLock(t *testing.T) {
	file := os.Getenv(verdicts)
	if file == "" {
		t.Skip("it is there for TestAgainst")
	}
	newLock := clients.NewSingle
	if os.Getenv(mine) != "" {
		newLock = clients.NewFenced
	}
	only := strings.Split(cmp.Or(os.Getenv(mine+"_ONLY"), "pause-fenced,release-race"), ",")
	scenarios.Test(t, newLock, scenarios.Only(only...), scenarios.Like("single", "fenced"), scenarios.Against(file), scenarios.Rewrite(*renew))
}

// binary runs this test binary with arguments, and with env added to the environment.
func binary(t *testing.T, env []string, args ...string) (out string, passed bool) {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), env...)
	b, err := c.CombinedOutput()
	return string(b), err == nil
}

const bothKnown = "pause-fenced/fenced/unchecked=ticket 123;pause-fenced/single=ticket 124"

// A run that is known to break its claim does not fail, until it keeps it.
func TestKnown(t *testing.T) {
	for _, test := range []struct {
		name, known, run string
		passes           bool
		want             []string
	}{
		{"all are known", bothKnown, "", true, []string{"this is known: ticket 123", "UNSAFE  resource exclusion bounded pause     known\n", "2 known", "the claim is that the lock survives a breach of bounded pause"}},
		{"one is not", "pause-fenced/fenced/unchecked=ticket 123", "", false, []string{"this is known: ticket 123", "--- FAIL: TestKnownLock/pause-fenced/single (", "1 known; 1 broken"}},
		{"one keeps its claim", bothKnown + ";release-race/single=ticket 5", "", false, []string{
			"--- FAIL: TestKnownLock/release-race/single (", `scenarios.Known("release-race/single", "ticket 5") must be removed: the run no longer breaks its claim; it keeps its claim`,
			"UNEXPECTED", "2 known; 1 not as expected", "see it again: go test -run '^TestKnownLock$/^release-race$/^single$'"}},
		{"one is no run", bothKnown + ";release-rase/single=ticket 5", "", false, []string{`scenarios.Known: the test has no run "release-rase/single" (did you mean "release-race/single"?)`}},
		{"one is no run, and another is selected", bothKnown + ";release-rase/single=ticket 5", "/pause-fenced/^single", false, []string{`the test has no run "release-rase/single"`}},
		{"no reason", "pause-fenced/single= ", "", false, []string{`scenarios.Known("pause-fenced/single", " "): it must have a reason, such as the number of a ticket`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, passed := binary(t, []string{knownRuns + "=" + test.known}, "-test.v", "-test.run=^TestKnownLock$"+test.run)
			if passed != test.passes {
				t.Errorf("passed: %v\n%s", passed, out)
			}
			for _, w := range test.want {
				if !strings.Contains(out, w) {
					t.Errorf("the output does not contain %q:\n%s", w, out)
				}
			}
		})
	}
}

// A file of verdicts is made, holds, and is renewed; what differs from it fails.
func TestAgainst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "verdicts.json")
	env := []string{verdicts + "=" + file}
	demand := func(name string, passes bool, env []string, args []string, want ...string) {
		t.Helper()
		out, passed := binary(t, env, append([]string{"-test.v"}, args...)...)
		if passed != passes {
			t.Errorf("%s: passed: %v\n%s", name, passed, out)
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: the output does not contain %q:\n%s", name, w, out)
			}
		}
	}
	all, fenced := []string{"-test.run=^TestAgainstLock$"}, append(env, mine+"=fenced")
	demand("no file", false, env, all, "scenarios.Against: "+file+": there is no such file; ", "to create it, run the test with scenarios.Rewrite(true)")
	demand("made", true, env, append(all, "-renew"), "renewed "+file)
	made := read(t, file)
	const first = `{"scenario":"pause-fenced","run":"fenced/unchecked","verdict":"UNSAFE","properties":{`
	if !strings.HasPrefix(made, first) || !strings.Contains(made, `"violations":[{"property":"resource exclusion","assumption":"bounded pause"}]}`) {
		t.Fatalf("the file is\n%s", made)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(made, "\n"), "\n")
	demand("the same", true, env, all, "UNSAFE as before", "kept\n")
	demand("another lock", false, fenced, all, "--- FAIL: TestAgainstLock/pause-fenced/single (", "the run has changed since "+file+":2; if that is right, scenarios.Rewrite(true) renews it\n",
		"it was UNSAFE, and is SAFE\n", "resource exclusion was violated, and is ok\n", "UNEXPECTED", "see it again: ")
	demand("a run is not there", false, append(env, mine+"_ONLY=pause-fenced"), all, "the test no longer has the run release-race/single, whose verdict was SAFE; if that is intended")
	demand("a run is not selected", true, env, []string{"-test.run=^TestAgainstLock$/^pause-fenced$/^single$"})

	for _, test := range []struct{ name, text, want string }{
		{"a run is new", strings.Join(lines[1:], ""), "the run is not in " + file + "; it must be added, as scenarios.Rewrite(true) does"},
		{"torn", lines[0] + "{\n", file + ":2: this must be a line as scenarios.Rewrite(true) writes it: the line must be a JSON object: "},
		{"twice", made + lines[0], "pause-fenced/fenced/unchecked is also on line 1; each run must occur once"},
		{"no run", "{}\n", file + `:1: this must be a line as scenarios.Rewrite(true) writes it: it must have a "scenario" and a "run"`},
		{"a lie", strings.Replace(made, "UNSAFE", "SAFE", 1), file + ":1: this must be a line as scenarios.Rewrite(true) writes it: it contradicts itself: its verdict is SAFE, and resource exclusion is violated"},
		{"other words", strings.Replace(made, "bounded pause", "bounded delay", 1), "resource exclusion was violated with bounded delay broken, and is with bounded pause"},
	} {
		if err := os.WriteFile(file, []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		demand(test.name, false, env, all, test.want)
	}

	// Only what is played is renewed.
	if err := os.WriteFile(file, []byte(made+strings.Replace(lines[0], "pause-fenced", "pause-of-yore", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	demand("one is renewed", true, fenced, []string{"-test.run=^TestAgainstLock$/^pause-fenced$/^single$", "-renew"})
	got := read(t, file)
	if !strings.HasPrefix(got, first) || !strings.Contains(got, "pause-of-yore") || !strings.Contains(got, `"run":"single","verdict":"SAFE"`) {
		t.Errorf("the file is now\n%s", got)
	}
	demand("all are renewed", true, env, append(all, "-renew"), "renewed "+file)
	if got := read(t, file); got != made {
		t.Errorf("the file is now\n%s", got)
	}
}

// What lockstep run --json prints is a file of verdicts, too.
func TestAgainstLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "verdicts.json")
	const line = `{"scenario":"clock-jump","run":"redlock","lock":"redlock","seed":1,"verdict":"SAFE","expected":"SAFE","properties":{"lease exclusion":"ok"},"violations":[],"checksum":"1"}` + "\n"
	if err := os.WriteFile(file, []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	out, passed := binary(t, []string{verdicts + "=" + file}, "-test.run=^TestAgainstLock$")
	if passed || !strings.Contains(out, "verdicts.json:1: the test no longer has the run clock-jump/redlock, whose verdict was SAFE") {
		t.Errorf("passed: %v\n%s", passed, out)
	}
}

// On GitHub Actions each run that fails has an annotation, and the step a summary.
func TestKnownOnGitHub(t *testing.T) {
	file := filepath.Join(t.TempDir(), "summary.md")
	if err := os.WriteFile(file, []byte("before\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{knownRuns + "=pause-fenced/single=ticket 124", "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + file}
	out, passed := binary(t, env, "-test.run=^TestKnownLock$")
	const want = "\n::error title=TestKnownLock/pause-fenced/fenced/unchecked%3A BROKEN::resource exclusion violated: c1 wrote A"
	if passed || strings.Count("\n"+out, "\n::") != 1 || !strings.Contains("\n"+out, want) || !strings.Contains(out, "%0Asee it again: go test -run '^TestKnownLock$/^pause-fenced$/^fenced$/^unchecked$'") {
		t.Errorf("passed: %v\n%s", passed, out)
	}
	summary := read(t, file)
	if !strings.HasPrefix(summary, "before\nTestKnownLock: ") || !strings.Contains(summary, "1 known; 1 broken") {
		t.Errorf("the summary is %q", summary)
	}
	env[2] = "GITHUB_STEP_SUMMARY=" + t.TempDir()
	if out, _ := binary(t, env, "-test.v", "-test.run=^TestKnownLock$"); !strings.Contains(out, "is not a regular file") {
		t.Errorf("nothing says so:\n%s", out)
	}
}
