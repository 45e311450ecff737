package scenarios

import (
	"testing"

	"lockstep/checker"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

func TestAgreement(t *testing.T) {
	outcome := func(v checker.Verdict, p checker.Status, a checker.Assumption, ends ...history.Event) *play.Outcome {
		o := &play.Outcome{History: &history.History{Meta: history.Meta{Clients: []string{"c1"}, Probe: "probe"}}}
		o.Result.Verdict = v
		o.Result.Statuses = []checker.PropertyStatus{{Property: checker.LeaseExclusion, Status: p}}
		if p == checker.Violated {
			o.Result.Violations = []checker.Violation{{Property: checker.LeaseExclusion, Assumption: a}}
		}
		for i, e := range ends {
			e.Process, e.ID = "c1", i+1
			o.History.Events = append(o.History.Events, history.Event{Process: "c1", Kind: history.Invoke, Op: e.Op, ID: i + 1}, e)
		}
		return o
	}
	end := func(op string, kind history.Kind, value string) history.Event {
		return history.Event{Op: op, Kind: kind, Value: value}
	}
	acquired, refused := end(history.Acquire, history.OK, ""), end(history.Acquire, history.Fail, "")
	wrote, late := end(history.Write, history.OK, "A"), end(history.Write, history.Fail, "A")
	safe := outcome(checker.Safe, checker.OK, "", acquired, wrote)
	for name, c := range map[string]struct {
		sim, real *play.Outcome
		want      play.Agreement
	}{
		"alike":          {safe, outcome(checker.Safe, checker.OK, "", acquired, wrote), play.Agreement{Proved: true}},
		"more tries":     {safe, outcome(checker.Safe, checker.OK, "", refused, refused, acquired, wrote), play.Agreement{Proved: true}},
		"never acquired": {safe, outcome(checker.Safe, checker.OK, "", refused), play.Agreement{Proved: true, Operations: "c1, operation 1: acquire ok, then acquire fail"}},
		"another end":    {safe, outcome(checker.Safe, checker.OK, "", acquired, late), play.Agreement{Proved: true, Operations: "c1, operation 2: write A ok, then write A fail"}},
		"less":           {safe, outcome(checker.Safe, checker.OK, "", acquired), play.Agreement{Proved: true, Operations: "c1, operation 2: write A ok, then nothing more"}},
		"nothing proved": {safe, outcome(checker.Inconclusive, checker.OK, "", acquired, wrote), play.Agreement{}},
		"neither proved": {outcome(checker.Inconclusive, checker.OK, "", acquired), outcome(checker.Inconclusive, checker.OK, "", acquired), play.Agreement{Proved: true}},
		"violated there": {safe, outcome(checker.Unsafe, checker.Violated, checker.None, acquired, wrote),
			play.Agreement{Proved: true, Verdict: "lease exclusion: ok, then violated"}},
		"broken otherwise": {outcome(checker.Unsafe, checker.Violated, checker.BoundedPause, acquired), outcome(checker.Unsafe, checker.Violated, checker.None, acquired),
			play.Agreement{Proved: true, Verdict: "broken: lease exclusion (bounded pause), then lease exclusion (none)"}},
	} {
		if got := c.sim.Agreement(c.real); got != c.want {
			t.Errorf("%s: %+v\nwant %+v", name, got, c.want)
		}
	}
}

// What a page says of its speed holds where more is asked for, and where nothing is.
func TestSpeedOf(t *testing.T) {
	s, err := script.Parse("x.txtar", []byte("# A title.\n\nspeed 5\nclient c1\n  acquire\n\n-- single nodes=1 --\n-- single nodes=1 label=slow speed=2 --\n"))
	if err != nil {
		t.Fatal(err)
	}
	silent, err := script.Parse("x.txtar", []byte("# A title.\n\nclient c1\n  acquire\n\n-- single nodes=1 --\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s          *script.Scenario
		run        int
		most, want float64
	}{
		{s, 0, 0, 5}, {s, 0, 20, 5}, {s, 0, 4, 4},
		{s, 1, 0, 2}, {s, 1, 20, 2}, {s, 1, 1, 1},
		{silent, 0, 0, 1}, {silent, 0, 20, 20},
	} {
		if got := c.s.SpeedOf(c.s.Runs[c.run], c.most); got != c.want {
			t.Errorf("run %d at most at %v: %v, want %v", c.run, c.most, got, c.want)
		}
	}
}
