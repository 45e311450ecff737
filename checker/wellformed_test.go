package checker

import (
	"slices"
	"strings"
	"testing"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
)

func TestCheckMalformed(t *testing.T) {
	for _, c := range []struct{ name, story, want string }{
		{"an outcome without an invocation", "0 c1 ok acquire c1#1 -", "line 2: ok acquire of c1 without an invocation"},
		{"two outcomes", "0 c1 invoke acquire\n1 c1 ok acquire c1#1 until=9\n1 c1 ok acquire c1#2 until=9", "line 4: ok acquire of c1 has two outcomes"},
		{"an outcome of another operation", "0 c1 invoke acquire\n1 c1 ok release id=1", "line 3: ok release of c1 is the outcome of acquire"},
		{"two invocations", "0 c1 invoke acquire\n1 c1 invoke acquire id=1", "line 3: c1 invokes operation 1 twice"},
		{"time runs backwards", "5 c1 invoke acquire\n4 n1 set c1#1", "line 3: time runs backwards, from 5s to 4s"},
		{"time before time", "-1 c1 invoke acquire", "line 2: time runs backwards, from 0s to -1s"},
		{"a clock runs backwards", "5 c1 invoke acquire\n6 c1 ok acquire c1#1 clock=4", "line 3: the steady clock of c1 runs backwards, from 5s to 4s"},
		{"a clock stands still", "5 c1 fault drift ppm=-1000000", "line 2: c1 has a clock that does not advance: -1000000 ppm"},
		{"a lease without a name", "5 c1 invoke acquire\n6 c1 ok acquire until=9", "line 3: c1 acquires a lease without a name"},
		{"a lease handed out twice", "5 c1 invoke acquire\n6 c1 ok acquire c1#1 until=9\n7 c1 invoke acquire\n8 c1 ok acquire c1#1 until=9", "line 5: lease c1#1 was already handed out on line 3"},
		{"a negative TTL", "ttl -1", "line 1: the TTL or the bound of the probe is negative"},
		{"keys without end", "0 c1 invoke acquire keys=2000\n1 c1 fail acquire", "line 2: a lease of 2000 keys on each node; there can be 0 to 1000"},
		{"a negative bound", "bound -1", "line 1: the TTL or the bound of the probe is negative"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			h := handmade.History(t, c.story)
			r := Check(facts.Of(h), nil)
			if want := []string{"malformed history: " + c.want}; r.Verdict != Inconclusive || !slices.Equal(r.Unmet, want) {
				t.Errorf("%s: %q, want %q", r.Verdict, r.Unmet, want)
			}
			checkResult(t, h, r)
			for _, p := range Properties() {
				if r.Status(p) != Unknown {
					t.Errorf("%s is %s", p, r.Status(p))
				}
			}
		})
	}
}

// An operation that takes no time needs no invocation, and two processes may use the same number.
func TestCheckWellFormed(t *testing.T) {
	for _, s := range []string{
		"0 c1 ok check c1#1\n0 c1 fail check c1#1\n0 c1 ok wait\n1 c1 info exit",
		"0 c1 invoke acquire\n0 c2 invoke acquire\n1 c2 fail acquire\n1 c1 fail acquire",
		"0 c1 invoke acquire\n0 c1 invoke write\n1 c1 ok write\n1 c1 ok acquire c1#1 until=9",
		"0 c1 invoke acquire\n1 c1 fault pause\n2 c1 info unpaused\n2 c1 info unpaused id=1\n3 c1 fail acquire",
		"5 c1 invoke acquire\n5 c1 fault pause clock=0\n5 c2 invoke acquire clock=0",
	} {
		if err := facts.Of(handmade.History(t, s)).Malformed; err != nil {
			t.Errorf("%s\n%v", s, err)
		}
	}
}
