package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/scenarios/files"
	"lockstep/scenarios/play"
	"lockstep/scenarios/search"
	"lockstep/sim/workers"
)

// A bench plays the runs of one call.
type bench struct {
	options
	pool  *workers.Pool // nil if processes are not available
	names []string      // of the runs, as in Outcome.Name
	runs  []string      // the same, with those that are not possible on real servers

	earlier map[string]earlier // what the file of Against says, by the names of the runs

	t       *testing.T // which made the call
	ending  string     // of the names of the files about the call; empty for the first call of the test
	replays bool       // a kept scenario is played again instead of the catalogue

	mu       sync.Mutex // guards the fields below
	outcomes []*play.Outcome
	accounts map[*play.Outcome]account
	streak   streak
}

// sideBySide runs a subtest concurrently with others if it takes real time.
func (b *bench) sideBySide(t *testing.T) {
	if b.on == play.OnReal {
		t.Parallel()
	}
}

func newBench(t *testing.T, call string, o options) *bench {
	t.Helper()
	b := &bench{options: o, t: t, accounts: map[*play.Outcome]account{}}
	if n := strings.TrimPrefix(call, t.Name()+" "); n != "0" {
		b.ending = "-" + n
	}
	if runtime.GOOS == "js" {
		play.QuietRedis()
		return b
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-test.run=" + only(t.Name()), "-test.count=1", "-test.timeout=0"}, ownFlags()...)
	s := &workers.Supervisor{Limit: o.wall(), Memory: workers.Memory(o.memory), Command: func() *exec.Cmd {
		c := exec.Command(self, args...)
		c.Env = append(c.Environ(), callEnv+"="+call)
		return c
	}}
	if o.on == play.OnReal {
		s.Workers = AtOnce
	}
	if testing.Verbose() {
		s.Output = os.Stderr // the output of the lock
		s.Notice = func(text string) { fmt.Fprintln(os.Stderr, text) }
	}
	if b.pool, err = s.Start(); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) close() {
	if b.pool != nil {
		b.pool.Close()
	}
}

// do plays case i, stores its outcome, and keeps files about it.
func (b *bench) do(t *testing.T, c play.Case, i int, p play.Promise) *play.Outcome {
	t.Helper()
	o := b.play(t, c, i, p)
	if !o.NotRun {
		keep(b.t, t.Name(), o)
	}
	return o
}

// play plays case i, and stores its outcome.
func (b *bench) play(t *testing.T, c play.Case, i int, p play.Promise) *play.Outcome {
	t.Helper()
	c.Promise = p
	job, err := c.Job(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	if why := b.hopeless(t); why != "" {
		o := c.Outcome(workers.Outcome{Report: &workers.Report{Reason: why}})
		o.NotRun = true
		b.mu.Lock()
		b.outcomes = append(b.outcomes, o)
		b.mu.Unlock()
		return o
	}
	began := time.Now()
	o, err := b.outcome(t.Context(), c, job)
	if err != nil {
		t.Fatalf("%v\nA worker process runs the test binary again and must reach this call of scenarios. TestMain, and the code before the call in the test, must allow that.", err)
	}
	b.mu.Lock()
	b.outcomes = append(b.outcomes, o)
	b.streak.note(o, time.Since(began))
	b.mu.Unlock()
	return o
}

// hopeless says why a run should be skipped; empty if it should not. On real servers runs are concurrent, and none delays
// another.
func (b *bench) hopeless(t *testing.T) string {
	if b.on == play.OnReal {
		return ""
	}
	left := time.Duration(math.MaxInt64)
	if end, ok := t.Deadline(); ok {
		left = time.Until(end)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.streak.hopeless(left, cmp.Or(b.limit, play.DefaultLimit))
}

// outcome plays a case, whose job is given.
func (b *bench) outcome(ctx context.Context, c play.Case, job json.RawMessage) (*play.Outcome, error) {
	if len(c.Scenario.Sweep) > 0 {
		s := search.Search{}
		if b.pool != nil {
			s.Do = b.pool.Do
		}
		return s.Sweep(ctx, c)
	}
	result, err := b.perform(ctx, c, job)
	if err != nil {
		return nil, err
	}
	return c.AsGuests(ctx, c.Outcome(result), func(c play.Case) (*play.Outcome, error) {
		job, err := c.Job(ctx, 1)
		if err != nil {
			return nil, err
		}
		result, err := b.perform(ctx, c, job)
		return c.Outcome(result), err
	})
}

func (b *bench) perform(ctx context.Context, c play.Case, job json.RawMessage) (workers.Outcome, error) {
	if b.pool != nil {
		return b.pool.Do(ctx, job)
	}
	return play.PerformHere(ctx, job, c.Find, search.SearchTask)
}

// claimed fails a test whose outcome breaks a claim or whose run did not end, and skips one that proves nothing.
func (b *bench) claimed(t *testing.T, o *play.Outcome) {
	t.Helper()
	switch head := headOf(o); o.Standing() {
	case play.Failed, play.TooBig:
		b.fail(t, o, "", whyUnended(o))
	case play.NotRun: // the three runs before it fail; it would only repeat what they say
		why := whyUnended(o)
		b.account(t, o, why, false)
		t.Skip(why)
	case play.Broke:
		b.fail(t, o, o.Timeline(), o.Complain())
	case play.Other:
		b.fail(t, o, o.Timeline(), b.surprise(o))
	case play.Known:
		why := fmt.Sprintf("%sthis is known: %s", o.Complain(), o.Promise.Known)
		b.account(t, o, why, false)
		t.Logf("%s\n%s\n%s", head, o.Timeline(), why)
	case play.Unproved:
		why := "nothing is proved: " + strings.Join(o.Result.Unmet, "; ")
		b.account(t, o, why, false)
		t.Skipf("%s\n%s\n%s", head, o.Timeline(), why)
	case play.NotApplicable:
		why := "does not apply: " + o.Inapplicable()
		b.account(t, o, why, false)
		t.Skipf("%s\n%s", head, why)
	default:
		b.account(t, o, "", false)
		t.Logf("%s\n%s", head, o.Timeline())
	}
}

// fail fails a test, and on GitHub Actions annotates its run.
func (b *bench) fail(t *testing.T, o *play.Outcome, timeline, why string) {
	t.Helper()
	if timeline != "" {
		timeline += "\n"
	}
	why = strings.TrimSuffix(why, "\n")
	b.account(t, o, why, true)
	again := "see it again: " + b.again(t.Name(), o)
	kept := ""
	if keeping() {
		file := filepath.Join(b.t.ArtifactDir(), fileName(t.Name())+pageEnding)
		kept = "\nthe scenario is kept; to play it with this lock: " + b.replay(file)
	}
	t.Errorf("%s\n%s%s%s\n%s", headOf(o), timeline, why, kept, again)
	if onGitHub() {
		lines := strings.SplitAfter(why+"\n", "\n")
		message := strings.Join(lines[:min(len(lines), annotated)], "") + again
		fmt.Print(reports.WorkflowCommand("error", "", 0, t.Name()+": "+o.Standing().Word(), reports.VisibleLines(message)))
	}
}

// annotated is how many lines of an explanation an annotation has. The first of them say what is wrong; the log has all.
const annotated = 10

// onGitHub reports whether the test is a part of a workflow of GitHub Actions.
func onGitHub() bool { return os.Getenv("GITHUB_ACTIONS") == "true" }

// surprise says how an outcome differs from what [Known] or [Against] says.
func (b *bench) surprise(o *play.Outcome) string {
	if o.Promise.Known != "" {
		now := "it keeps its claim"
		switch {
		case o.Inapplicable() != "":
			now = "it does not apply: " + o.Inapplicable()
		case o.Result.Verdict == checker.Inconclusive:
			now = "it proves nothing: " + strings.Join(o.Result.Unmet, "; ")
		}
		return fmt.Sprintf("scenarios.Known(%q, %q) must be removed: the run no longer breaks its claim; %s", o.Name(), o.Promise.Known, now)
	}
	was, ok := b.earlier[o.Name()]
	if !ok {
		return fmt.Sprintf("the run is not in %s; it must be added, as scenarios.Rewrite(true) does", b.against)
	}
	changes := strings.Join(o.Result.Changes(was.result()), "\n  ")
	return fmt.Sprintf("the run has changed since %s:%d; if that is right, scenarios.Rewrite(true) renews it\n  %s", b.against, was.line, reports.VisibleLines(changes))
}

// headOf returns the first line of the log about an outcome.
func headOf(o *play.Outcome) string {
	s := fmt.Sprintf("%s, seed %d", o.Name(), o.History.Meta.Seed)
	if sum := o.History.Meta.Checksum; sum != "" {
		s += ", checksum " + sum
	}
	if o.Run.Guests {
		s += ", the clients as WebAssembly"
	}
	return s
}

// sumUp logs the table, and stores it.
func (b *bench) sumUp(t *testing.T) {
	t.Helper()
	if len(b.outcomes) == 0 {
		return
	}
	slices.SortFunc(b.outcomes, func(o, p *play.Outcome) int { // on real servers they end in any order
		return slices.Index(b.names, o.Name()) - slices.Index(b.names, p.Name())
	})
	var s strings.Builder
	Summary(&s, b.outcomes) // a strings.Builder takes everything
	t.Log("\n" + s.String())
	keepFile(t, fileName(t.Name())+b.ending+".txt", func(w io.Writer) error {
		_, err := io.WriteString(w, s.String())
		return err
	})
	line := sentence(b.outcomes)
	if keeping() {
		keepFile(t, "index"+b.ending+".html", b.index().Write)
		keepFile(t, "junit"+b.ending+".xml", func(w io.Writer) error {
			return reports.WriteJUnit(w, t.Name(), b.cases(), time.Time{}, 0)
		})
	}
	for _, hint := range hints(b.outcomes) {
		t.Log(hint)
		line += "\n" + hint
	}
	if !testing.Verbose() { // where the table is not seen if the test passes
		fmt.Printf("%s: %s\n", t.Name(), line)
	}
	if onGitHub() {
		summary := reports.Markdown(t.Name()+": "+line) + "\n\n"
		if err := files.Append(os.Getenv("GITHUB_STEP_SUMMARY"), func(int64) string { return summary }); err != nil {
			t.Logf("the summary of the step: %v", err) // not a failure: the verdicts are logged
		}
	}
	// If go test was asked for some runs only, the user knows which.
	selected := b.replays || len(b.outcomes) < len(b.names)
	if b.against != "" {
		b.compared(t, selected)
		return
	}
	if selected || b.outcomes[0].Promise.Exact {
		return
	}
	// Runs that did not end fail for themselves, and are no sign of a wrong reference.
	ended := slices.DeleteFunc(slices.Clone(b.outcomes), func(o *play.Outcome) bool {
		s := o.Standing()
		return s == play.Failed || s == play.TooBig || s == play.NotRun
	})
	if n, apply := proved(ended); float64(n) < b.atLeast*float64(apply) {
		hint := "Is it like " + strings.Join(b.like, ", ") + "? See scenarios.Like."
		if refused := refusedIn(ended); len(refused) > 0 {
			hint = "Lockstep does not simulate " + strings.Join(refused, ", ") + "; real Redis does: see scenarios.OnRedis."
			if ended[0].History.Meta.On == play.OnReal {
				hint = "Lockstep cannot follow " + strings.Join(refused, ", ") + " on real servers; leave out scenarios.OnRedis."
			}
		}
		t.Errorf("%d of the %d runs that apply to this lock prove something; at least %.0f %% must. %s", n, apply, 100*b.atLeast, hint)
	}
}

// refusedIn lists the commands that the lock sent and that simulated nodes lack.
func refusedIn(outcomes []*play.Outcome) []string {
	all := map[string]bool{}
	for _, o := range outcomes {
		for _, command := range o.Result.Refused {
			all[command] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// compared renews the file of [Against], or fails if a run of the file is missing. A selection of runs misses none.
func (b *bench) compared(t *testing.T, selected bool) {
	t.Helper()
	if b.rewrite {
		changed, err := b.renew(context.Background(), selected) // the context of the test has ended
		if err != nil {
			t.Error(err)
		} else if changed {
			t.Logf("renewed %s", b.against)
		}
		return
	}
	if selected {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(b.earlier)) {
		if e := b.earlier[name]; !slices.Contains(b.runs, name) {
			t.Errorf("%s:%d: the test no longer has the run %s, whose verdict was %s; if that is intended, scenarios.Rewrite(true) removes the line", b.against, e.line, reports.Visible(name), e.Verdict)
		}
	}
}

// qualify adds to the promise of an outcome what [Known] and [Against] say of its run. It comes after the run because it is the
// claim itself by which a sweep tells its worst position.
func (b *bench) qualify(o *play.Outcome) {
	for _, k := range b.known {
		if k.run == o.Name() {
			o.Promise.Known = k.why
		}
	}
	if b.against == "" {
		return
	}
	r := b.earlier[o.Name()].result()
	if b.rewrite {
		r = o.Result
	}
	o.Promise.Earlier = &r
}

// failedTest is the error for a lock that has failed the test that it knows: that test is the worker's, which nobody looks at.
type failedTest struct{}

func (failedTest) Error() string {
	return "the lock called t.Error or t.Fail; it must return an error or panic instead: what it logs by t is lost with its process"
}

// Unfit marks the worker as unfit for more runs: its test has failed.
func (failedTest) Unfit() {}
