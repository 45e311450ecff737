package main

import (
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/scenarios/search"
	"lockstep/sim"
)

// What the runs of docs/why.md do not say.
func TestWhyText(t *testing.T) {
	faults := []search.Fault{{Text: "pause c1 15s"}, {Text: "crash n1"}, {Text: "cut c1-n1"}}
	late := search.LateMessage{Sending: sim.Sending{From: "c1", To: "n1", Sent: time.Second}, What: "SET lock", At: 4 * time.Second, Matters: true}
	lost, idle := late, late
	lost.Lost, idle.Matters = true, false
	futures := []search.Future{{At: -1, Odds: search.Odds{Of: 4}}, {At: time.Second, What: "n1 set lock", Odds: search.Odds{Violated: 3, Of: 4}}}
	for _, test := range []struct{ got, want string }{
		{needed(&search.Cause{Property: checker.LeaseExclusion}), "The run has no fault: the lock itself, or how it is used, violates lease exclusion."},
		{needed(&search.Cause{Faults: faults, Enough: [][]int{{0}, {1}}, Jointly: [][]int{{0, 1}, {0, 2}}}),
			"No single fault is necessary. The property holds only without both `pause c1 15s` and `crash n1`, or without both `pause c1 15s` and `cut c1-n1`."},
		{needed(&search.Cause{Faults: faults, Enough: [][]int{{0, 1}}}), "No single fault is necessary, nor any two together."},
		{sufficient(&search.Cause{Faults: faults, Necessary: []int{0}, Enough: [][]int{{0, 1}, {0, 2}}}), "Enough: `pause c1 15s` and `crash n1`; or `pause c1 15s` and `cut c1-n1`."},
		{sufficient(&search.Cause{Faults: faults, Enough: [][]int{{0}, {1}}}), "Enough: `pause c1 15s` alone; or `crash n1` alone."},
		{sufficient(&search.Cause{Faults: faults, Enough: [][]int{{}}}), ""},
		{strings.Join(amounts(&search.Cause{Faults: []search.Fault{{Text: "drift n1 +5ppm", Least: "+1ppm"}, {Text: "crash n1"}}}), " "), "Of `drift n1 +5ppm`, even +1ppm is too much."},
		{lateOnly(idle), "One message was late or lost. On time, it would have made no difference."},
		{lateOnly(late), "The property would have held had one message been on time: SET lock from c1 to n1, which left at 1.000s and took 3.000s."},
		{lateOnly(idle, idle), "2 messages were late or lost. None of them, on time, would have made a difference by itself."},
		{lateOnly(late, idle, lost), "The property would have held had any one of these messages been on time: SET lock from c1 to n1, which left at 1.000s and took 3.000s; SET lock from c1 to n1, which left at 1.000s and was lost."},
		{lateMessages(&search.Cause{Late: []search.LateMessage{idle, lost}, LateIn: 50}),
			"Of 50 messages that were late or lost, the first 2 were replayed on time. The property would have held had one message been on time: SET lock from c1 to n1, which left at 1.000s and was lost."},
		{blame(&search.Cause{Blamed: []checker.Assumption{checker.BoundedPause, checker.None}, Agreement: search.Several}),
			"The checker blames bounded pause and the lock for different violations of the property; the replays do not tell these apart."},
		{blame(&search.Cause{Blamed: []checker.Assumption{checker.BoundedPause}, Agreement: search.Differs}),
			"The checker blames bounded pause. The replays do not: they show that no assumption matters."},
		{noReturn(&search.Cause{Futures: futures, NoReturn: -1}), "There is no point of no return: had every fault ended at the last moment, 3 of 4 futures would violate the property."},
		{noReturn(&search.Cause{Futures: futures, NoReturn: 0}), "Point of no return: the start. Every future violates the property, even without any fault."},
		{noReturn(&search.Cause{Futures: futures, NoReturn: 1}), "Point of no return: 1.000s, n1 set lock. Had every fault ended right before, 0 of 4 futures would violate the property; from then on all do."},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

// lateOnly says which of some late messages mattered.
func lateOnly(all ...search.LateMessage) string {
	return lateMessages(&search.Cause{Late: all, LateIn: len(all)})
}

// Of many futures those are shown that tell something.
func TestTelling(t *testing.T) {
	c := &search.Cause{NoReturn: 25}
	for i := range 30 {
		f := search.Future{At: time.Duration(i), Odds: search.Odds{Of: 4}, Fault: i == 7, Proof: i == 28}
		switch {
		case i >= 25:
			f.Violated = 4
		case i >= 20:
			f.Violated = 2
		}
		c.Futures = append(c.Futures, f)
	}
	got := telling(c)
	want := []int{0, 7, 19, 20, 24, 25, 28}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
