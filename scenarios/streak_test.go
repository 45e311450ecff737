package scenarios

import (
	"strings"
	"testing"
	"time"

	"lockstep/scenarios/play"
	"lockstep/sim/workers"
)

func TestStreak(t *testing.T) {
	const hour, limit = time.Hour, 20 * time.Second
	for _, test := range []struct {
		name    string
		reasons string // of the runs so far, a letter each, a capital if it took its limit, or else half a second; a dot ended
		left    time.Duration
		want    string
	}{
		{"three that took their time, and not of a kind", "ABA", hour, "not run: 3 runs did not end and took 1m0s together; the last of them: A"},
		{"three that took their time, and not in a row", "A.B.cA.", hour, "not run: 4 runs did not end and took 1m1s together; the last of them: A"},
		{"two that took their time, and a quick one", "AcA", hour, ""},
		{"two that took longer than the limit, as WebAssembly may", "XX", hour, ""},
		{"and a third", "XXc", hour, "not run: 3 runs did not end and took 3m21s together; the last of them: c"},
		{"nothing yet", "", hour, ""},
		{"two", "aa", hour, ""},
		{"three", "aaa", hour, "not run: the three runs before did not end: a"},
		{"three, but not of a kind", "aba", hour, ""},
		{"three, but not in a row", "aa.a", hour, ""},
		{"three of a kind after another", "baaa", hour, "not run: the three runs before did not end: a"},
		{"one, and little time", ".b", 20 * time.Second, "not run: go test ends in 20s, and the one before did not end: b"},
		{"one, and enough time", ".b", 30 * time.Second, ""},
		{"little time, but all is well", "b.", time.Second, ""},
	} {
		var s streak
		for r := range strings.SplitSeq(test.reasons, "") {
			o, took := &play.Outcome{}, 500*time.Millisecond
			if strings.ToUpper(r) == r && r != "." {
				took = limit
			}
			if r == "X" {
				took = 5 * limit
			}
			if r != "." {
				o.Report = &workers.Report{Reason: r}
			}
			s.note(o, took)
		}
		if got := s.hopeless(test.left, limit); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
