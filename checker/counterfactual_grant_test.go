package checker

import (
	"testing"
	"time"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
	"lockstep/sim/history"
)

// TestAsking: a client asks from the first of several consecutive tries until its lock or its lane would have given up.
func TestAsking(t *testing.T) {
	const tries = `
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=10
		11   c2 invoke acquire
		11.1 c2 fail acquire
		11.2 c2 invoke acquire
		11.3 n1 set c2#1
		11.4 c2 ok acquire c2#1 until=21
	`
	for _, test := range []struct {
		name, story string
		within      time.Duration
		from, until time.Duration
	}{
		{"until it is granted", tries, 0, 11 * time.Second, 11400 * time.Millisecond},
		{"for as long as its lane says", tries, 2 * time.Second, 11 * time.Second, 13200 * time.Millisecond},
		{"for as long as one that failed", "5 c3 invoke acquire\n8 c3 fail acquire\n" + tries, 0, 11 * time.Second, 14200 * time.Millisecond},
		{"for as long as one that nobody heard of", "5 c3 invoke acquire\n8 c3 info acquire\n" + tries, 0, 11 * time.Second, 14200 * time.Millisecond},
	} {
		h := handmade.History(t, inOrder(t, test.story))
		for i := range h.Events {
			if e := &h.Events[i]; e.Kind == history.Invoke {
				e.Within = test.within
			}
		}
		ix := &index{Facts: facts.Of(h)}
		if from, until := ix.asking(ix.Lease("c2#1")); from != test.from || until != test.until {
			t.Errorf("%s: from %v until %v, want %v and %v", test.name, from, until, test.from, test.until)
		}
	}
}
