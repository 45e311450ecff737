package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// What waits waits past the events that it does not commute with, and past no others.
func TestWaitsPastWhatMatters(t *testing.T) {
	isClient := func(name string) bool { return strings.HasPrefix(name, "c") }
	arrival := func(node, client, text string) history.Event {
		return history.Event{Process: node, By: client, Kind: history.Message, Op: history.Deliver, Word: "SET", Value: text}
	}
	state := func(node, op, by, owner string) history.Event {
		return history.Event{Process: node, Kind: history.State, Op: op, By: by, Owner: owner, Key: "lock"}
	}
	did := func(client, op string, kind history.Kind, at time.Duration) history.Event {
		return history.Event{Process: client, Kind: kind, Op: op, ID: 1, At: at}
	}
	request := wait{what: waitingRequest, client: "c1", server: "n1", text: "SET lock c1#1 nx"}
	write := wait{what: waitingRequest, client: "c1", server: script.ResourceName, text: "write A c1#1"}
	reply := wait{what: waitingReply, client: "c1", server: "n1", over: 5}
	client := wait{what: waitingClient, client: "c1"}
	node := wait{what: waitingNode, server: "n1"}
	restart := wait{what: waitingRestart, server: "n1"}
	for _, c := range []struct {
		name string
		w    wait
		e    history.Event
		want bool
	}{
		{"a request, and one of another client for the same key", request, arrival("n1", "c2", "SET lock c2#1 nx"), true},
		{"a request, and one for another key", request, arrival("n1", "c2", "SET other c2#1 nx"), false},
		{"a request, and one that names no known key", request, arrival("n1", "c2", "FLUSHALL"), true},
		{"a request, and one at another node", request, arrival("n2", "c2", "SET lock c2#1 nx"), false},
		{"a request, and the next on the same connection, which keeps its place", request, arrival("n1", "c1", "SET lock c1#2 nx"), false},
		{"a request, and the expiry of its key", request, state("n1", history.Expire, "", "c2#1"), true},
		{"a request, and the expiry elsewhere", request, state("n2", history.Expire, "", "c2#1"), false},
		{"a request, and the return of its sender", request, did("c1", history.Acquire, history.Fail, 9), true},
		{"a request, and the return of another", request, did("c2", history.Acquire, history.Fail, 9), false},
		{"a request to a node, and the grant of another, which is seen at the node already", request, did("c2", history.Acquire, history.OK, 9), false},
		{"a write, and the grant of another", write, did("c2", history.Acquire, history.OK, 9), true},
		{"a write, and that of another", write, arrival(script.ResourceName, "c2", "write B c2#1"), true},
		{"a reply, and one from another node", reply, history.Event{Process: "c1", By: "n2", Kind: history.Message, Op: history.Deliver, Word: "SET", At: 4}, true},
		{"a reply, and one in a later operation", reply, history.Event{Process: "c1", By: "n2", Kind: history.Message, Op: history.Deliver, Word: "SET", At: 6}, false},
		{"a reply, and the reply to another client", reply, history.Event{Process: "c2", By: "n1", Kind: history.Message, Op: history.Deliver, Word: "SET", At: 4}, false},
		{"a reply, and the grant of another", reply, did("c2", history.Acquire, history.OK, 9), true},
		{"a reply, and the expiry of a key of its receiver", reply, state("n2", history.Expire, "", "c1#1"), true},
		{"a paused client, and the grant of another", client, did("c2", history.Acquire, history.OK, 9), true},
		{"a paused client, and the refusal of another", client, did("c2", history.Acquire, history.Fail, 9), false},
		{"a paused client, and the release of another", client, state("n1", history.Delete, "c2", "c2#1"), true},
		{"a paused client, and what its own request does", client, state("n1", history.Set, "c1", ""), false},
		{"a paused client, and an expiry", client, state("n1", history.Expire, "", "c1#1"), true},
		{"a stalled node, and the outcome of an operation", node, did("c2", history.Acquire, history.OK, 9), true},
		{"a stalled node, and a write", node, did("c2", history.Write, history.OK, 9), false},
		{"a restart, and a request to the node", restart, arrival("n1", "c2", "SET lock c2#1 nx"), true},
		{"a restart, and a request to another node", restart, arrival("n2", "c2", "SET lock c2#1 nx"), false},
	} {
		if got := c.w.matters(c.e, isClient, []string{"lock", "other"}); got != c.want {
			t.Errorf("%s: matters %t, want %t", c.name, got, c.want)
		}
	}
}

// Of the magnitudes between the same two events there is one, with few digits.
func TestPlacedBetween(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		marks []mark
		grain time.Duration
		want  string
	}{
		{[]mark{{at: 3123456}, {at: 325400 * time.Microsecond}}, 2, "[4ms 330ms]"},
		{[]mark{{0, 5000 * ms}, {at: 20 * ms}}, 2, "[21ms]"},                            // a fixed magnitude in a later gap
		{[]mark{{0, 10 * ms}, {at: 20 * ms}}, 2, "[10ms 21ms]"},                         // and one in its own
		{[]mark{{at: 20 * ms}, {at: 20*ms + 500*time.Microsecond}}, 2 * ms, "[21ms]"},   // too close for a process
		{[]mark{{at: 20 * ms}, {at: 20*ms + 500*time.Microsecond}}, 2, "[20.1ms 21ms]"}, // but not for a message
		{[]mark{{50 * ms, 60 * ms}, {at: 55 * ms}, {at: 58 * ms}}, 2, "[56ms 60ms]"},    // a timeout whose end is not exact
		{[]mark{{at: 20 * ms}, {at: 20 * ms}, {10 * ms, 12 * ms}}, 2, "[12ms 21ms]"},    // two events at once
		{[]mark{{10000 * ms, 12000 * ms}, {50 * ms, 60 * ms}}, 2, "[60ms 12s]"},         // only what is fixed
	} {
		if got := fmt.Sprint(placedBetween(c.marks, c.grain)); got != c.want {
			t.Errorf("%v: %s, want %s", c.marks, got, c.want)
		}
	}
}

// In a run with very many events, what waits does so past some of them only: the nearest, and others up to the end.
func TestThin(t *testing.T) {
	for _, c := range []struct {
		events, waits int
		want          string
	}{
		{1000, 200, ""},
		{1001, 200, "[0s 98ns] [99ns] [100ns 101ns] [198ns], 199 in all"},
		{mostPairs, 20, "[0s 4ns] [5ns] [8ns 11ns] [17ns], 10 in all"},
	} {
		var all []time.Duration
		for i := range c.waits {
			all = append(all, time.Duration(i))
		}
		f := finder{history: &history.History{Events: make([]history.Event, c.events)}}
		kept := f.thin(slices.Clone(all))
		got := ""
		if n := len(kept); f.thinned {
			half := n / 2
			got = fmt.Sprintf("[%v %v] [%v] [%v %v] [%v], %d in all", kept[0], kept[half-1], kept[half], kept[half+1], kept[half+2], kept[n-1], n)
		} else if !slices.Equal(kept, all) {
			t.Errorf("%d events: %v", c.events, kept)
		}
		if got != c.want || !slices.IsSorted(kept) || len(slices.Compact(slices.Clone(kept))) != len(kept) {
			t.Errorf("%d events: %s, want %s", c.events, got, c.want)
		}
	}
}

// A request that waits past a request of another client arrives after that one, in a run that is the same up to then.
func TestWaitsReorder(t *testing.T) {
	calm := calmShape(t, Shape{Lock: "redlock", Nodes: 3})
	delivered := func(h *history.History, like func(history.Event) bool) (int, history.Event) {
		i := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Message && e.Op == history.Deliver && like(e) })
		if i < 0 {
			return i, history.Event{}
		}
		return i, h.Events[i]
	}
	reordered := 0
	_, build := calmOf(t, Shape{Nodes: 3}, "redlock")
	err := play.Series(func(replayed play.Player) {
		x := &explorer{calm: calm, build: build, play: replayed}
		constants := constantsOf(x, 1)
		_, o := x.try(nil, 1)
		all, _ := Ordered(calm, o, constants, []script.Kind{script.Delaying})
		for _, p := range all {
			m := p.Steps[0].(script.AtStart).Fault.(history.Chosen)
			if m.Reply {
				continue
			}
			it := func(e history.Event) bool {
				return e.By == m.Link.From && e.Process == m.Link.To && e.Word == m.What && e.Sent == p.At
			}
			_, before := delivered(o.History, it)
			_, past := delivered(o.History, func(e history.Event) bool {
				return e.At > before.At && e.Process == m.Link.To && e.By != m.Link.From && e.By != o.History.Meta.Probe && e.Word != handshake
			})
			if past.Word == "" || past.At-before.At >= m.By {
				continue
			}
			_, run := x.try([]Perturbation{p}, 1)
			late, after := delivered(run.History, it)
			first, _ := delivered(run.History, func(e history.Event) bool { return e == past })
			if first < 0 || late < first || after.At != before.At+m.By {
				t.Errorf("%v: it arrives as event %d at %v, and %v is event %d", p, late, after.At, past, first)
			}
			reordered++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if reordered < 50 {
		t.Errorf("only %d requests come after one of another client", reordered)
	}
}

// A wait is never negative, also where the lease or the keys of its client have ended before it begins.
func TestWaitsAreNotNegative(t *testing.T) {
	for _, shape := range []Shape{{Lock: "single", Workload: Beyond}, {Lock: "watchdog", Workload: Beyond}, {Lock: "single-extend", Workload: Late}, {Lock: "redlock", Nodes: 3, Workload: Again}} {
		calm, build := calmOf(t, shape, shape.Lock)
		err := play.Series(func(replayed play.Player) {
			x := &explorer{calm: calm, build: build, play: replayed}
			constants := constantsOf(x, 1)
			_, o := x.try(nil, 1)
			all, _ := Ordered(calm, o, constants, script.Kinds())
			for _, p := range all {
				for _, step := range p.Steps {
					process := script.Nemesis
					if p.Client != "" {
						process = p.Client
					}
					if again, err := script.ParseStep(process, step.String()); err != nil || again != step {
						t.Errorf("%s: %v is parsed as %v: %v", shape.Lock, step, again, err)
					}
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
