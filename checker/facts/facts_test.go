package facts

import (
	"strings"
	"testing"
	"time"

	"lockstep/checker/internal/handmade"
	"lockstep/sim/history"
)

// TestOutOfReach: a process is out of reach from a delay of 1/400 of the TTL on.
func TestOutOfReach(t *testing.T) {
	ix := Of(&history.History{Meta: history.Meta{TTL: 10 * time.Second}})
	for d, want := range map[time.Duration]bool{0: false, 25*time.Millisecond - 1: false, 25 * time.Millisecond: true} {
		if got := ix.OutOfReach(d); got != want {
			t.Errorf("%v: %v", d, got)
		}
	}
	if Of(&history.History{}).OutOfReach(0) {
		t.Error("out of reach without a delay")
	}
}

// TestMarked: which lease a key stands for if its value is named after another client's lease.
func TestMarked(t *testing.T) {
	const set = "0 c2 invoke acquire\n1 n1 set c1#1 by=c2\n"
	for text, want := range map[string]string{
		"0 c1 invoke acquire\n1 n1 set c1#1\n2 c1 ok acquire c1#1": "c1#1",
		set + "2 c2 ok acquire c2#1":                               "c2#1",
		set + "2 c2 fail acquire":                                  "c2#?",
		set:                                                        "c2#?",
		"0 c2 invoke release\n1 n1 set c1#1 by=c2\n2 c2 ok release c2#1":             "c2#?",
		"0 c2 invoke acquire\n1 n1 over c1#1 by=c2 was=c2#1\n2 c2 ok acquire c2#1":   "c1#1",
		"replica r1\n0 c2 invoke acquire\n1 r1 set c1#1 by=n1\n2 c2 ok acquire c2#1": "c1#1",
		"0 c2 invoke acquire\n1 n1 set c1#1 by=nobody\n2 c2 ok acquire c2#1":         "c1#1",
		"0 c2 invoke acquire\n0.5 c2 fail acquire\n1 n1 set c1#1 by=c2":              "c2#?",
		"0 c3 invoke acquire\n1 n1 set c1#1 by=c2\n2 c3 ok acquire c3#1":             "c2#?",
	} {
		if got := Of(handmade.History(t, text)).marked(1 + strings.Count(text, "0.5")); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
