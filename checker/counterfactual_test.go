package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
	"lockstep/sim/history"
)

// TestAheadAfter: what a client does after a sleep moves forward with what was before the sleep. A pause that a fault causes, and
// an instant for which the lane waits, do not move.
func TestAheadAfter(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name             string
		pause            string // "from to" in seconds; a pause of the client
		invoked          string // in seconds; the outcome before it is at 11 s
		slept, notBefore time.Duration
		kept             []Assumption
		want             time.Duration // if the outcome had come 2 s earlier
	}{
		{"a sleep", "", "16", 5 * s, 0, nil, 2 * s},
		{"work", "", "16", 0, 0, nil, 2 * s},
		{"an instant", "", "16", 0, 16 * s, nil, 0},
		{"an instant, which comes after half of it", "", "16", 5 * s, 15 * s, nil, s},
		{"a pause of its lane", "11 16", "16", 0, 0, nil, 2 * s},
		{"a pause of its lane, before a sleep", "11 16", "16", 2 * s, 0, nil, 2 * s},
		{"a pause of its lane, after a sleep", "13 16", "16", 2 * s, 0, nil, 2 * s},
		{"a pause that it would have come into", "14 16", "16", 5 * s, 0, nil, 0},
		{"a pause that was over", "12 13", "16", 5 * s, 0, nil, 2 * s},
		{"a pause that would not have been", "15 19", "19", 5 * s, 0, []Assumption{BoundedPause}, 5 * s},
		{"a pause that would not have been, inside a sleep", "12 14", "16", 5 * s, 0, []Assumption{BoundedPause}, 2 * s},
	} {
		text := "10 c1 invoke acquire\n11 c1 ok acquire c1#1 until=20\n"
		if from, to, ok := strings.Cut(test.pause, " "); ok {
			text += from + " c1 fault pause\n" + to + " c1 fault resume\n"
		}
		text += test.invoked + " c1 invoke write A c1#1"
		h := handmade.History(t, text)
		e := &h.Events[len(h.Events)-1]
		e.Slept, e.NotBefore = test.slept, test.notBefore
		ix := &index{Facts: facts.Of(h)}
		if got := ix.aheadAfter(h.Events[1], *e, 2*s, test.kept); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestExcess: how much time an operation lost through pauses and late messages. A message that arrives during a pause waits for the
// end of the pause, but this does not make it later.
func TestExcess(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name, story  string
		pause, delay time.Duration // lost through each
		both         time.Duration
	}{
		{"nothing", "0.5 c1 deliver n1 sent=0.499", 0, 0, 0},
		{"a pause", "2 c1 fault pause\n6 c1 fault resume", 4 * s, 0, 4 * s},
		{"a late reply", "4 c1 deliver n1 sent=1", 0, 3 * s, 3 * s},
		{"a late request", "4 n1 deliver c1 sent=1", 0, 3 * s, 3 * s},
		{"a reply to what it had asked before", "4 c1 deliver n1 sent=-1", 0, 0, 0},
		{"a pause in which the reply came", "2 c1 fault pause\n6 c1 fault resume\n6 c1 deliver n1 sent=1", 4 * s, s, 5 * s},
		{"a pause while it waited", "2 c1 fault pause\n3 c1 fault resume\n6 c1 deliver n1 sent=1", 0, 4 * s, 5 * s},
	} {
		ix := &index{Facts: facts.Of(handmade.History(t, "0 c1 invoke acquire\n"+test.story+"\n7 c1 fail acquire"))}
		for _, c := range []struct {
			kept []Assumption
			want time.Duration
		}{{nil, 0}, {[]Assumption{BoundedPause}, test.pause}, {[]Assumption{BoundedDelay}, test.delay}, {[]Assumption{BoundedPause, BoundedDelay}, test.both}} {
			if got := ix.excess("c1", history.Acquire, facts.Stretch{From: 0, To: 7 * s}, c.kept, false); got != c.want {
				t.Errorf("%s: %v lost but for %v, want %v", test.name, got, c.kept, c.want)
			}
		}
	}
}

// TestUnconnected: a client that sends and receives nothing while a node is out of its reach counts as waiting for that node.
func TestUnconnected(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name, story string
		want        []facts.Stretch
	}{
		{"all in reach", "5 c1 fail acquire", nil},
		{"a cut link", "1 c1-n1 fault cut cut_c1-n1\n5 c1 fail acquire", []facts.Stretch{{From: 1 * s, To: 5 * s}}},
		{"a paused node", "1 n1 fault pause\n3 n1 fault resume\n5 c1 fail acquire", []facts.Stretch{{From: 1 * s, To: 3 * s}}},
		{"another client", "1 c2-n1 fault cut cut_c2-n1\n5 c1 fail acquire", nil},
		{"it hears from another node", "0 c1-n1 fault cut cut_c1-n1\n2 c1 deliver n2 sent=1.9\n5 c1 fail acquire", []facts.Stretch{{From: 0, To: 2 * s}, {From: 2 * s, To: 5 * s}}},
		{"it asks another node", "0 c1-n1 fault cut cut_c1-n1\n2 n2 deliver c1 sent=1\n5 c1 fail acquire", []facts.Stretch{{From: 0, To: 1 * s}, {From: 1 * s, To: 5 * s}}},
		{"a word of another client", "0 c1-n1 fault cut cut_c1-n1\n2 n2 deliver c2 sent=1\n5 c1 fail acquire", []facts.Stretch{{From: 0, To: 5 * s}}},
		{"no word, but a fault", "0 c1-n1 fault cut cut_c1-n1\n2 c1 fault jump\n5 c1 fail acquire", []facts.Stretch{{From: 0, To: 5 * s}}},
		{"what comes after", "0 c1-n1 fault cut cut_c1-n1\n5 c1 fail acquire\n6 c1 deliver n2 sent=5.5", []facts.Stretch{{From: 0, To: 5 * s}}},
	} {
		ix := &index{Facts: facts.Of(handmade.History(t, "nodes 2\n0 c1 invoke acquire\n"+test.story))}
		if got := ix.unconnected("c1", facts.Stretch{From: 0, To: 5 * s}); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestMisledByClock: only a check that passed after the true end of the lease shows that the clock of the client misled it.
func TestMisledByClock(t *testing.T) {
	for _, test := range []struct {
		name, story string
		want        bool
	}{
		{"a check that passed after the end", "10.5 c1 invoke check c1#1\n10.5 c1 ok check c1#1", true},
		{"a check that passed before the end", "9 c1 invoke check c1#1\n9 c1 ok check c1#1", false},
		{"a check that did not pass", "10.5 c1 invoke check c1#1\n10.5 c1 fail check c1#1", false},
		{"a check after the request", "11 c1 invoke check c1#1\n11 c1 ok check c1#1", false},
		{"a check by another client", "10.5 c2 invoke check c1#1\n10.5 c2 ok check c1#1", false},
		{"a write without a check", "10.5 c1 invoke write A c1#1\n10.6 c1 ok write A c1#1", false},
	} {
		ix := &index{Facts: facts.Of(handmade.History(t, "0 c1 fault drift ppm=-100000\n0 c1 invoke acquire\n0.2 c1 ok acquire c1#1 until=10\n"+test.story))}
		if got := ix.misledByClock(ix.Lease("c1#1"), 10800*time.Millisecond); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestLanded: a request that was late would have arrived at once. A delay that is no longer than usual stays.
func TestLanded(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	ix := &index{Facts: facts.Of(handmade.History(t, "0 c1 invoke acquire\n0.2 c1 ok acquire c1#1 until=10"))}
	for _, test := range []struct {
		name  string
		delay time.Duration
		kept  []Assumption
		want  time.Duration // of a request that was sent at 5 s
	}{
		{"late", 3 * s, []Assumption{BoundedDelay}, 5 * s},
		{"in time", 10 * ms, []Assumption{BoundedDelay}, 5*s + 10*ms},
		{"late, and nothing else is kept", 3 * s, []Assumption{BoundedPause}, 8 * s},
	} {
		if got := ix.landed(5*s+test.delay, 5*s, ix.Lease("c1#1"), test.kept); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestWorked: a client that had begun an operation earlier may have come into a pause that was over when it began.
func TestWorked(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, test := range []struct {
		name, story string // of an operation from 10 s to 14 s, of which 3 s would not have been spent
		from, want  time.Duration
	}{
		{"no pause", "", 4 * s, 5 * s},
		{"a pause in the operation", "11 c1 fault pause\n12 c1 fault resume\n", 8 * s, 8 * s},
		{"a pause that it comes to later", "11 c1 fault pause\n11.5 c1 fault resume\n", 10800 * ms, 11800 * ms},
		{"a pause before, which it comes into", "5 c1 fault pause\n9 c1 fault resume\n", 4500 * ms, 9500 * ms},
		{"a pause before, which comes after its end", "6 c1 fault pause\n9 c1 fault resume\n", 4500 * ms, 5500 * ms},
		{"a pause before, which is over", "2 c1 fault pause\n3 c1 fault resume\n", 4500 * ms, 5500 * ms},
	} {
		ix := &index{Facts: facts.Of(handmade.History(t, test.story+"10 c1 invoke acquire\n14 c1 fail acquire"))}
		if got := ix.worked("c1", test.from, facts.Stretch{From: 10 * s, To: 14 * s}, 3*s); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestVacant: a client that had asked for the lock earlier would not have been granted it before the key of the other lease was gone. When it
// would have tried again after a try in vain is chance.
func TestVacant(t *testing.T) {
	const (
		s     = time.Second
		other = "1 c1 invoke acquire\n1.1 n1 set c1#1\n1.2 c1 ok acquire c1#1 until=11\n"
		asks  = "12 c2 invoke acquire\n"
		gets  = asks + "12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22"
	)
	for _, test := range []struct {
		name, story string
		want        time.Duration // if it had asked 2 s earlier
	}{
		{"the other key was gone", other + "5 n1 delete c1#1\n" + gets, 2 * s},
		{"the other key was there", other + "11 n1 expire c1#1\n" + gets, s},
		{"the other key was there until then", other + "12 n1 expire c1#1\n" + gets, 0},
		{"nobody knows what came of it", other + "11 n1 expire c1#1\n" + asks, 2 * s},
		{"it had tried before", other + "6 c2 invoke acquire\n7 c2 fail acquire\n11 n1 expire c1#1\n" + gets, 0},
		{"it had written before", other + "6 c2 invoke write A\n7 c2 fail write A\n11 n1 expire c1#1\n" + gets, s},
	} {
		ix := &index{Facts: facts.Of(handmade.History(t, test.story))}
		asked := ix.Invokes["c2"]
		if got := ix.vacant(asked[len(asked)-1], 2*s); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
