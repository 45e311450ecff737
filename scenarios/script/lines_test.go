package script

import (
	"strings"
	"testing"
)

// TestLines checks that everything that a later error may be about knows where it stands.
func TestLines(t *testing.T) {
	s, err := Parse("pause.txtar", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Split(page, "\n")
	at := func(line int, want string) {
		t.Helper()
		if got := strings.TrimSpace(text[line-1]); got != want {
			t.Errorf("line %d is %q, want %q", line, got, want)
		}
	}
	for i := range s.Runs {
		r := s.Resolve(s.Runs[i])
		if head := strings.TrimPrefix(text[r.line-1], "-- "); !strings.HasPrefix(head, r.Lock+" ") {
			t.Errorf("run %s is at line %d, which is %q", r.ID(), r.line, head)
		}
		for _, lane := range r.Lanes {
			for i, step := range lane.Steps {
				at(lane.stepLine(i), step.String())
			}
		}
		for i, must := range r.Musts {
			at(r.mustLines[i], "must "+must.String())
		}
		for _, e := range r.Expect {
			at(e.line, e.String())
		}
		if r.Golden != "" {
			at(r.GoldenLine, "0.000s  c1       invoke  acquire")
		}
	}
}
