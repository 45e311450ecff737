package play

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// Each row of the table names scenarios that exist, and a run that keeps its property; and a broken claim quotes the row.
func TestCures(t *testing.T) {
	QuietRedis()
	for _, c := range cures {
		name, id, _ := strings.Cut(c.shownBy, "/")
		s, err := script.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.FindRun(id)
		if err != nil {
			t.Fatal(err)
		}
		if e := r.Expectation(c.property); e.Status != checker.OK {
			t.Errorf("in %s %s is %s", c.shownBy, c.property, e.Status)
		}
		in := c.scenarios
		if len(in) == 0 {
			in = []string{name}
		}
		for _, name := range in {
			s, err := script.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			kept := slices.IndexFunc(s.Runs, func(r script.Section) bool { return r.Expectation(c.property).Status == checker.OK })
			if kept < 0 {
				t.Errorf("no run of %s is expected to keep %s", name, c.property)
				continue
			}
			o := &Outcome{Scenario: s, Run: s.Resolve(s.Runs[kept])}
			o.History = &history.History{Events: []history.Event{
				{Kind: history.Invoke, Process: "c1", Op: c.during}, {Kind: history.State, Op: c.change, By: "c1"},
			}}
			o.Result.Violations = []checker.Violation{{Property: c.property, Assumption: checker.None, Events: []int{1}}}
			if got, want := o.Complain(), "\n  what helps: "+c.advice+" (lockstep show "+c.shownBy+")\n"; !strings.Contains(got, want) {
				t.Errorf("%s: the complaint does not contain %q:\n%s", name, want, got)
			}
		}
	}
	h := &history.History{Events: []history.Event{{Kind: history.State, Op: history.Delete}}}
	v := checker.Violation{Property: checker.NoLostVote, Events: []int{0}}
	if got := cureFor(h, v, "extend-other-ttl"); !strings.Contains(got, "so that a late request cannot delete the key") {
		t.Errorf("a key that was deleted has the cure: %s", got)
	}
	h = &history.History{Events: []history.Event{
		{Kind: history.Invoke, Process: "c1", Op: history.Acquire}, {Kind: history.Fail, Process: "c1", Op: history.Acquire, At: time.Second},
		{Kind: history.State, Op: history.Over, By: "c1", At: 3 * time.Second, Sent: 2 * time.Second},
		{Kind: history.State, Op: history.Over, By: "c1", At: 3 * time.Second, Sent: time.Second / 2},
	}}
	for i, want := range []string{2: "", 3: history.Acquire} {
		if got := operation(h, i); i >= 2 && got != want {
			t.Errorf("event %d was made during %q, want %q", i, got, want)
		}
	}
	if got := cureFor(nil, checker.Violation{Property: checker.ResourceExclusion}, "pause-fenced"); got != "" {
		t.Errorf("there is no cure, but: %s", got)
	}
}
