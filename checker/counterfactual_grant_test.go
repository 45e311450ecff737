package checker

import (
	"fmt"
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

// TestRoomOfMisdatedKey: with right clocks, a key that got too little time would have lasted a TTL, or for as long as its lock renews it.
func TestRoomOfMisdatedKey(t *testing.T) {
	const story = `
		0    c1 fault jump jump_c1_-8s wall=-8
		0    c1 invoke acquire wall=-8
		0.1  n1 set c1#1 until=2.05
		0.2  c1 ok acquire c1#1 wall=-8 until=%s
		2.05 n1 expire c1#1
		3    c2 invoke acquire
		3.1  n1 set c2#1
		3.2  c2 ok acquire c2#1 until=13`
	for until, want := range map[string]time.Duration{"9.9": 10100 * time.Millisecond, "never renews": never} {
		ix := &index{Facts: facts.Of(handmade.History(t, fmt.Sprintf(story, until)))}
		taker := ix.Lives[ix.LivesOf["c2#1"][0]]
		if _, would := ix.room(ix.Lease("c1#1"), ix.Lease("c2#1"), taker, []Assumption{BoundedClockError}); would != want {
			t.Errorf("until %s: %v, want %v", until, would, want)
		}
	}
}

// TestRoomOfEndedLease: a key without an end that another client takes over when the lease is over would have stayed if the extension had arrived.
func TestRoomOfEndedLease(t *testing.T) {
	const c2 = "11 c2 invoke acquire\n13 n1 set c2#1\n13.1 c2 ok acquire c2#1 until=23"
	for _, test := range []struct {
		name, until, story string
		kept               Assumption
		want               time.Duration
	}{
		{"taken over", "never", "8 c1-n1 fault cut cut_c1-n1\n8 c1 invoke extend c1#1\n8.5 c1 info extend c1#1\n12 n1 delete c1#1 by=c2\n" + c2, BoundedDelay, 18 * time.Second},
		{"taken over, but it had an end", "20.1", "8 c1-n1 fault cut cut_c1-n1\n8 c1 invoke extend c1#1\n8.5 c1 info extend c1#1\n12 n1 delete c1#1 by=c2\n" + c2, BoundedDelay, 12 * time.Second},
		{"deleted by its own client after a pause", "never", "9 c1 fault pause\n11 c1 fault resume\n12 n1 delete c1#1\n" + c2, BoundedPause, 10 * time.Second},
	} {
		h := handmade.History(t, inOrder(t, "0 c1 invoke acquire\n0.1 n1 set c1#1 until="+test.until+"\n0.2 c1 ok acquire c1#1 until=10\n"+test.story))
		ix := &index{Facts: facts.Of(h)}
		taker := ix.Lives[ix.LivesOf["c2#1"][0]]
		if _, would := ix.room(ix.Lease("c1#1"), ix.Lease("c2#1"), taker, []Assumption{test.kept}); would != test.want {
			t.Errorf("%s: %v, want %v", test.name, would, test.want)
		}
	}
}
