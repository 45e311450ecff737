package play

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// What counts as a difference, and what does not.
func TestDifference(t *testing.T) {
	recorded := func(change func([]history.Event)) *history.History {
		events := []history.Event{
			{At: 0, Process: "c1", Kind: history.Invoke, Op: history.Acquire, ID: 1, Lock: LockName},
			{At: time.Second, Process: "n1", Kind: history.State, Op: history.Set, Key: LockName, Lease: "c1#1"},
			{At: 2 * time.Second, Process: "c1", Kind: history.OK, Op: history.Acquire, ID: 1, Lock: LockName, Lease: "c1#1", Until: history.NoEnd},
			{At: 3 * time.Second, Process: "c2", Kind: history.Invoke, Op: history.Write, ID: 1, Value: "A"},
			{At: 4 * time.Second, Process: "c1", Kind: history.Info, Op: history.Lost, Lease: "c1#1"},
		}
		if change != nil {
			change(events)
		}
		return &history.History{Meta: history.Meta{Scenario: "x", Clients: []string{"c1", "c2"}, Nodes: []string{"n1"}, Checksum: "1"}, Events: events}
	}
	outcome := func(h *history.History, result checker.Result) *Outcome {
		return &Outcome{History: h, Facts: facts.Of(h), Result: result}
	}
	for _, test := range []struct {
		name   string
		change func([]history.Event)
		want   string // how the difference begins; empty: there is none
	}{
		{"equal", nil, ""},
		{"less than two round trips", func(e []history.Event) { e[2].At += 6*time.Millisecond - 1 }, ""},
		{"what a server did", func(e []history.Event) { e[1].At, e[1].Lease = 0, "c2#1" }, ""},
		{"two round trips", func(e []history.Event) { e[2].At += 6 * time.Millisecond }, "c1 ok acquire c1#1 at 2.000000s, then ok acquire c1#1 at 2.006000s"},
		{"another token", func(e []history.Event) { e[2].Fence = 2 }, "c1 ok acquire c1#1 at 2.000000s, then ok acquire c1#1 at 2.000000s"},
		{"an end that is nearly the same", func(e []history.Event) { e[0].Until = 6*time.Millisecond - 1 }, ""},
		{"an end that is not", func(e []history.Event) { e[0].Until = 6 * time.Millisecond }, "c1 invoke acquire"},
		{"another outcome", func(e []history.Event) { e[2].Kind = history.Fail }, "c1 ok acquire c1#1 at 2.000000s, then fail acquire"},
		{"another lease", func(e []history.Event) { e[2].Lease = "c1#2" }, "c1 ok acquire c1#1 at"},
		{"another value", func(e []history.Event) { e[3].Value = "B" }, "c2 invoke write A at 3.000000s, then invoke write B"},
		{"an end", func(e []history.Event) { e[2].Until = time.Minute }, "c1 ok acquire c1#1"},
		{"a loss that was not told", func(e []history.Event) { e[4].Process = "n1" }, "c1 info lost c1#1 at 4.000000s, then nothing more"},
		{"the first of two", func(e []history.Event) { e[3].Value, e[2].Lease = "B", "c1#2" }, "c1 ok acquire"},
	} {
		got := Difference(outcome(recorded(nil), checker.Result{}), outcome(recorded(test.change), checker.Result{}))
		if got != "" && test.want == "" || !strings.HasPrefix(got, test.want) || test.want != "" && got == "" {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	ok := checker.Result{Verdict: checker.Safe, Statuses: []checker.PropertyStatus{{Property: checker.LeaseExclusion, Status: checker.OK}}}
	violated := checker.Result{Verdict: checker.Unsafe, Statuses: []checker.PropertyStatus{{Property: checker.LeaseExclusion, Status: checker.Violated}}}
	if got := Difference(outcome(recorded(nil), ok), outcome(recorded(nil), violated)); !strings.HasPrefix(got, "lease exclusion: ok, then ") {
		t.Errorf("another status: %q", got)
	}
	inconclusive := ok
	inconclusive.Verdict = checker.Inconclusive
	if got, want := Difference(outcome(recorded(nil), ok), outcome(recorded(nil), inconclusive)), "verdict SAFE, then UNKNOWN"; got != want {
		t.Errorf("another verdict: %q, want %q", got, want)
	}
	paused, delayed := violated, violated
	paused.Violations = []checker.Violation{{Property: checker.LeaseExclusion, Assumption: checker.BoundedPause}}
	delayed.Violations = []checker.Violation{{Property: checker.LeaseExclusion, Assumption: checker.BoundedDelay}}
	if got, want := Difference(outcome(recorded(nil), paused), outcome(recorded(nil), delayed)), "broken: lease exclusion (bounded pause), then lease exclusion (bounded delay)"; got != want {
		t.Errorf("another assumption: %q, want %q", got, want)
	}
	delayed.Violations = append(delayed.Violations, paused.Violations...)
	again := violated
	again.Violations = append(slices.Clone(paused.Violations), delayed.Violations...)
	if got := Difference(outcome(recorded(nil), delayed), outcome(recorded(nil), again)); got != "" {
		t.Errorf("the same assumptions, in another order and number: %q", got)
	}
	o := outcome(recorded(nil), ok)
	o.Repeat = "c1 was late"
	if !strings.Contains(o.Timeline(), "not reproducible: with the same seed c1 was late\n") {
		t.Error("the timeline does not say that it is not reproducible")
	}
}
