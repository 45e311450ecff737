package nodes

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/nodes/engine"
	"lockstep/nodes/internal/redistest"
	"lockstep/sim"
	"lockstep/sim/history"
)

// What a node loses in a crash depends on how its process ends and how it persists its data.
func TestNodeCrashes(t *testing.T) {
	for _, test := range []struct {
		how  history.Fault
		kind engine.Persistence
		lost int
	}{
		{history.Crash{Process: "n1"}, engine.AOFEverysec, 0},
		{history.Crash{Process: "n1", Power: true}, engine.AOFEverysec, 1},
		{history.Crash{Process: "n1", Power: true}, "", 0},
		{history.Crash{Process: "n1"}, engine.AOFEverysecSlow, 0}, // no fsync is in progress
		{history.Crash{Process: "n1", Power: true}, engine.AOFEverysecSlow, 1},
		{history.Stop{Process: "n1"}, engine.AOFEverysecSlow, 0},
		{history.Crash{Process: "n1"}, engine.RDB, 1},
		{history.Stop{Process: "n1"}, engine.RDB, 0},
		{history.Stop{Process: "n1"}, engine.NoPersistence, 1},
	} {
		err := sim.Bubble(func() {
			w := sim.NewWorld(sim.Config{Seed: 1})
			defer w.Close()
			n := Serve(w, "n1")
			defer n.Redis.Close()
			n.Persist(test.kind)
			c1, c2 := w.Process("c1"), w.Process("c2")
			w.At(200*time.Millisecond, func() { w.Inject(test.how) })
			w.At(300*time.Millisecond, func() { w.Inject(history.Restart{Process: "n1"}) })
			addrs := map[redistest.Host]string{c1: n.Process.Addr(), c2: n.Process.Addr()}
			redistest.Talk(c1, c2, addrs, w.Run, "c1 a SET lock token-of-c1-number-1 NX PX 30000\nc1 400ms")
			lost := 0
			for _, e := range w.History().Events {
				if e.Kind == history.State && e.Op == history.Lose {
					lost++
					if e.Owner != "c1#1" || e.By != "" {
						t.Errorf("lost: %+v", e)
					}
				}
			}
			if lost != test.lost {
				t.Errorf("%v under %q lost %d keys, want %d", test.how, test.kind, lost, test.lost)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A release begins an fsync that takes half a second. In that time the next client gets the lock, and the node is killed.
func TestKillDuringAnFsync(t *testing.T) {
	for kind, want := range map[engine.Persistence][]string{
		engine.AOFEverysec:     {"set c1#1 c1", "delete c1#1 c1", "set c1#2 c1"},
		engine.AOFEverysecSlow: {"set c1#1 c1", "delete c1#1 c1", "set c1#2 c1", "lose c1#2"},
	} {
		err := sim.Bubble(func() {
			w := sim.NewWorld(sim.Config{Seed: 1})
			defer w.Close()
			n := Serve(w, "n1")
			defer n.Redis.Close()
			n.Persist(kind)
			c1, c2 := w.Process("c1"), w.Process("c2")
			w.At(2450*time.Millisecond, func() { w.Inject(history.Crash{Process: "n1"}) })
			w.At(2600*time.Millisecond, func() { w.Inject(history.Restart{Process: "n1"}) })
			addrs := map[redistest.Host]string{c1: n.Process.Addr(), c2: n.Process.Addr()}
			redistest.Talk(c1, c2, addrs, w.Run, "c1 a SET lock token-of-c1-number-1 NX PX 30000\nc1 2300ms\nc1 a DEL lock\n"+
				"c1 2403ms\nc1 a SET lock token-of-c1-number-2 NX PX 30000\nc1 2700ms")
			var got []string
			for _, e := range w.History().Events {
				if e.Kind == history.State && e.Key == "lock" {
					got = append(got, strings.TrimSpace(e.Op+" "+cmp.Or(e.Lease, e.Owner)+" "+e.By))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", kind, got, want)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A lock that had been released comes back after a power loss, and is still recognised as the same lease.
func TestNodeKnowsWhatCameBack(t *testing.T) {
	err := sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{Seed: 1})
		defer w.Close()
		n := Serve(w, "n1")
		defer n.Redis.Close()
		n.Persist(engine.AOFEverysec)
		c1, c2 := w.Process("c1"), w.Process("c2")
		w.At(2500*time.Millisecond, func() { w.Inject(history.Crash{Process: "n1", Power: true}) })
		w.At(2600*time.Millisecond, func() { w.Inject(history.Restart{Process: "n1"}) })
		addrs := map[redistest.Host]string{c1: n.Process.Addr(), c2: n.Process.Addr()}
		redistest.Talk(c1, c2, addrs, w.Run, "c1 1100ms\nc1 a SET lock token-of-c1-number-1 NX PX 30000\nc1 2100ms\nc1 a SET x y\nc1 a DEL lock\nc1 2700ms")
		var got []string
		for _, e := range w.History().Events {
			if e.Kind == history.State && e.Key == "lock" {
				got = append(got, strings.TrimSpace(e.Op+" "+e.Lease+e.Owner+" "+e.By))
			}
		}
		if want := []string{"set c1#1 c1", "delete c1#1 c1", "set c1#1"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
