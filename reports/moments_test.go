package reports

import (
	"strings"
	"testing"

	"lockstep/checker/facts"
	"lockstep/reports/internal/sample"
	"lockstep/sim/history"
)

// The moments of a run are the lines of its timeline.
func TestMoments(t *testing.T) {
	for _, r := range sample.Runs(t) {
		var b strings.Builder
		f := facts.Of(r.H)
		if err := Text(&b, f, r.Result, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		timeline, _, _ := strings.Cut(b.String(), "verdict:")
		var lines []string
		for line := range strings.Lines(timeline) {
			if !strings.HasPrefix(line, strings.Repeat(" ", 11)) { // otherwise the line before goes on
				lines = append(lines, line)
			}
		}
		moments := Moments(f, r.Result)
		if len(moments) != len(lines) {
			t.Errorf("%s: %d moments, %d lines", r.Name, len(moments), len(lines))
			continue
		}
		for i, m := range moments {
			line := lines[i]
			if !strings.Contains(line, history.Seconds(m.At)) || strings.HasPrefix(line, "!") != m.Proof {
				t.Errorf("%s: moment %+v is not the line %q", r.Name, m, line)
			}
		}
		for i := range r.H.Events {
			if e := r.H.Events[i]; e.Kind == history.Message && !strings.Contains(Told(f, i), e.Process) {
				t.Errorf("%s: %q does not name %s", r.Name, Told(facts.Of(r.H), i), e.Process)
			}
		}
	}
}

func TestMessage(t *testing.T) {
	for _, test := range []struct {
		e    history.Event
		want string
	}{
		{history.Event{By: "c1", Process: "n1", Value: "SET lock c1#1", Word: "SET"}, "c1 sends SET lock c1#1 to n1"},
		{history.Event{By: "n1", Process: "c1", Value: "OK", Word: "SET"}, "n1 sends the reply to SET to c1"},
		{history.Event{By: "n1", Process: "r1", Value: strings.Repeat("x", 99)}, "n1 sends " + strings.Repeat("x", 39) + "… to r1"},
	} {
		if got := Sent(test.e); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
