package facts

import (
	"maps"
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
	if f := Of(&history.History{}); f.Malformed != nil || f.OutOfReach(0) { // it has no TTL
		t.Errorf("out of reach without a delay, or %v", f.Malformed)
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

// TestAdvances: a script that takes a key from one lease and gives it to another may delete it in between.
func TestAdvances(t *testing.T) {
	const deleted = "0 c1 invoke release\n1 n1 delete c1#1 by=c1 sent=0.5\n"
	for text, want := range map[string]bool{
		"0 c1 invoke release\n0 x info exit\n1 n1 over c2#1 by=c1 was=c1#1 sent=0.5":         true,
		deleted + "1 n1 set c2#1 by=c1 sent=0.5":                                             true,
		deleted + "1 n1 set c2#1 by=c1 sent=0.6":                                             false, // another request
		deleted + "1.1 n1 set c2#1 by=c1 sent=0.5":                                           false, // later
		deleted + "1 n1 set c2#1 by=c2 sent=0.5":                                             false, // of another client
		"0 c1 invoke release\n0 x info exit\n1 n1 set c2#1 by=c1 sent=0.5":                   false, // nothing was deleted
		"0 c1 invoke release\n1 n2 delete c1#1 by=c1 sent=0.5\n1 n1 set c2#1 by=c1 sent=0.5": false, // on another node
		deleted + "1 n1 set c1#2 by=c1 sent=0.5":                                             false, // for itself
	} {
		if got := Of(handmade.History(t, text)).Advances(2); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestCounters: which event set a counter of fencing tokens back, and which set it together with the key of the second lease.
func TestCounters(t *testing.T) {
	const (
		first  = "0 c1 invoke acquire\n1 n1 set 33 key=lock:fence by=c1\n1 n1 set c1#1\n2 c1 ok acquire c1#1 until=10 fence=33\n"
		second = "12 n1 set c2#1\n13 c2 ok acquire c2#1 until=22 fence=32"
	)
	for text, want := range map[string][2]int{
		"11 c2 invoke acquire\n12 n1 over 32 key=lock:fence by=c2\n":      {5, 5},
		"11 c2 invoke acquire\n11.5 n1 over 32 key=lock:fence by=c2\n":    {5, -1},
		"11 c2 invoke acquire\n12 n1 over 34 key=lock:fence by=c2\n":      {-1, 5},
		"11 c2 invoke acquire\n12 n1 delete 33 key=lock:fence by=c2\n":    {-1, -1},
		"11 c2 invoke acquire\n12 n1 over 32 key=lock:fence c2#9 by=c2\n": {-1, -1}, // it stands for a lease
	} {
		f := Of(handmade.History(t, first+text+second))
		a, b := f.Lease("c1#1"), f.Lease("c2#1")
		if got := [2]int{f.CounterSetBack(a, b), f.CountedWithKey(b)}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestPassing: a key that a client removes before it has the lease is no vote, if another key stands for the lease then.
func TestPassing(t *testing.T) {
	const head = "0 c1 invoke acquire\n1 n1 set c1#1 key=intent\n"
	for text, want := range map[string]float64{
		head + "2 n1 set c1#1 key=lock\n2 n1 delete c1#1 key=intent\n3 c1 ok acquire c1#1 until=12":                                       2,
		head + "2 n1 set c1#1 key=lock\n2 n1 expire c1#1 key=intent\n3 c1 ok acquire c1#1 until=12":                                       1, // it was the node that removed it
		head + "2 n1 delete c1#1 key=intent\n3 c1 ok acquire c1#1 until=12":                                                               1, // there is no other
		head + "2 n1 set c1#1 key=lock\n3 c1 ok acquire c1#1 until=12\n4 n1 delete c1#1 key=intent":                                       1, // it was there with the lease
		"0 c1 invoke acquire\n1 n1 set c1#1 key=lock\n1.5 n1 delete c1#1 key=lock\n2 n1 set c1#1 key=lock\n3 c1 ok acquire c1#1 until=12": 2, // the same key
	} {
		f := Of(handmade.History(t, text))
		if got := f.Leases[0].Granted.Seconds(); got != want {
			t.Errorf("%s: granted at %v, want %v", text, got, want)
		}
	}
}

// TestUndone: which fault ends which.
func TestUndone(t *testing.T) {
	const cut = "1 c1-n1 fault cut cut_c1-n1\n"
	for text, want := range map[string]map[int]int{
		"1 c1 fault pause\n2 n1 fault resume\n3 c1 fault resume\n4 c1 fault resume":                         {0: 2},
		"1 c1 fault pause\n2 c1 fault pause\n3 c1 fault resume":                                             {0: 2, 1: 2},
		"1 n1 fault crash\n2 n2 fault stop\n3 n1 fault restart\n4 n1 fault crash\n5 n2 fault restart":       {0: 2, 1: 4},
		"1 c1 fault pause\n2 c1 fault restart":                                                              {},
		cut + "2 c1-n2 fault heal heal_c1-n2\n3 c1-n1 fault heal heal_c1-n1":                                {0: 2},
		cut + "2 c1->n1 fault hold hold_c1->n1\n3 - fault heal heal":                                        {0: 2, 1: 2},
		cut + "2 c1-n1 fault hold hold_c1-n1\n3 c1-n1 fault release release_c1-n1":                          {1: 2},
		cut + "2 c1-n1 fault delay delay_c1-n1_1s\n3 c1-n1 fault delay delay_c1-n1_0s\n4 - fault heal heal": {0: 3, 1: 2},
	} {
		if got := Of(handmade.History(t, text)).Undone; !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestLifeAt: a key lives on a node, after the event that sets it, up to and including the one that ends it.
func TestLifeAt(t *testing.T) {
	f := Of(handmade.History(t, "nodes 3\n1 n1 set c1#1\n2 n2 set c1#1\n3 n1 over c2#1 by=c2 was=c1#1\n4 n1 retime c2#1\n5 n1 delete c2#1\n6 x set c1#1\n7 c1 info exit"))
	for i, want := range []string{"", "c1#1", "c1#1", "c2#1", "c2#1", ""} {
		got := ""
		if k := f.LifeAt("n1", f.Events[0].Key, i); k != nil {
			got = f.Events[k.From].Lease
		}
		if got != want {
			t.Errorf("at event %d: %q, want %q", i, got, want)
		}
	}
	if k := f.LifeAt("n1", "another", 2); k != nil {
		t.Errorf("a key that was never set: %v", k)
	}
	if k := f.LifeAt("x", f.Events[0].Key, 6); k != nil {
		t.Errorf("a key on a process that is no node: %v", k)
	}
}
