package scenarios

import (
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"lockstep/clients"
	"lockstep/sim/history"
)

// Test plays a lock in the catalogue: there is a subtest SCENARIO/RUN for each run of the lock that yours is like, its reference, with
// yours in its place. The default reference is single; see [Like].
//
// A subtest fails if a claim is broken. By default the claim is that your lock keeps every property that the reference keeps in this
// run. [Survives] and [Needs] strengthen and weaken the claim, and [Known] accepts a run that breaks it. With [Against], a file says
// what to expect instead. A subtest also fails if the run does not end: because of a panic, a deadlock, a
// busy loop, or goroutines left behind. A subtest that fails logs the timeline, an explanation of the violation, the claim,
// and the command that repeats the run: same seed, same checksum.
//
// A run that proves nothing about the lock, because the danger that it is about did not occur, is skipped, with the reason. All other
// runs pass. At the end Test logs a table of all runs, with go test -v or if a test fails. If GITHUB_ACTIONS is true, Test and [RunFile]
// print an error annotation for each run that fails, and add the last line of the table to the file that GITHUB_STEP_SUMMARY names, if
// that is a regular file.
//
// With go test -artifacts Test keeps index.html, a list of the runs, worst first; junit.xml, for CI servers; the table; and for each
// run the timeline, the history, the scenario and, unless the run is SAFE, a page on which you step through it. If the environment
// variable LOCKSTEP_REPLAY names the file of such a scenario, Test plays it instead of the catalogue.
//
// Test gives up if three runs in a row did not end for the same reason, or if at least three did not end and took three times the [Limit] together.
// Then the remaining runs fail without being played: each could take up to its limit, and go test would end them all before the table is
// printed. Test does not give up if a single run is selected.
//
// The runs take place in worker processes. For these Test starts the test binary again, with only the calling test. TestMain runs there,
// and the code of that test before the call of Test, but nothing else. So whatever newLock depends on must be set up there, and not by
// an earlier test. Flags of your own and the environment are passed on.
func Test(t *testing.T, newLock clients.New, opts ...Option) {
	t.Helper()
	call := enter(t, newLock)
	if call == "" {
		return
	}
	o, err := gather(newLock, opts, (*options).forTest)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := o.trials(t.Name(), newLock)
	if err != nil {
		t.Fatal(err)
	}
	before, err := o.before(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := replayed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if page != nil {
		trials = nil
		for _, r := range page.Runs {
			trials = o.addRun(trials, page, r, t.Name(), newLock)
		}
	}
	runs := namesOf(trials)
	if page == nil {
		if err := o.knowsOnly(runs); err != nil {
			t.Fatal(err)
		}
	}
	trials, left, err := o.possible(trials)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Logf("left out on real servers:\n%s", strings.Join(left, "\n"))
	}
	b := newBench(t, call, o)
	b.names, b.runs, b.earlier, b.replays = namesOf(trials), runs, before, page != nil
	t.Cleanup(b.close)
	t.Cleanup(func() { b.sumUp(t) }) // after the subtests, even if they are parallel
	for i, trial := range trials {
		t.Run(b.names[i], func(t *testing.T) {
			t.Helper()
			b.sideBySide(t)
			out := b.do(t, trial.Case, i, trial.promise)
			b.qualify(out)
			b.claimed(t, out)
		})
	}
}

// knowsOnly refuses a run that [Known] names and the test does not have.
func (o *options) knowsOnly(runs []string) error {
	for _, k := range o.known {
		if !slices.Contains(runs, k.run) {
			near := ""
			if name := history.Nearest(k.run, runs); name != "" {
				near = fmt.Sprintf(" (did you mean %q?)", name)
			}
			return fmt.Errorf("scenarios.Known: the test has no run %q%s; go test -v prints a table of its runs", k.run, near)
		}
	}
	return nil
}

func namesOf(trials []trial) []string {
	var all []string
	for _, t := range trials {
		all = append(all, t.Scenario.Name+"/"+t.Run.ID())
	}
	return all
}

// proper returns a New that panics with an explanation where newLock returns nil.
func proper(newLock clients.New) clients.New {
	return func(env clients.Env) clients.Locker {
		l := newLock(env)
		if l == nil {
			panic("the function that makes the lock, " + nameOf(newLock) + ", returned nil; it must return a clients.Locker")
		}
		return l
	}
}

// nameOf says which function makes the lock, and where it is.
func nameOf(newLock clients.New) string {
	f := runtime.FuncForPC(reflect.ValueOf(newLock).Pointer())
	file, line := f.FileLine(f.Entry())
	return fmt.Sprintf("%s (%s:%d)", path.Base(f.Name()), path.Base(filepath.ToSlash(file)), line)
}
