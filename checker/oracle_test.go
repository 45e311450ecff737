package checker

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/sim"
	"pgregory.net/rapid"
)

// The oracles below say the same as the properties, in the most obvious way that could be found, without an index, without
// a sweep and without [Leases]. They look at every event again for every question.

// holds says whether the client of an ok acquire, event i, holds its lease at the instant t.
func holds(h *sim.History, i int, t time.Duration) bool { return relies(h, i, t, true) }

// relies is holds, or else only says whether the client's clock shows less than the end of the lease, whatever the client
// has done with it.
func relies(h *sim.History, i int, t time.Duration, given bool) bool {
	got := h.Events[i]
	if t < got.At {
		return false
	}
	var base sim.Event // where the client's clock last changed its rate by t, and what it read then
	until, told, gone := got, false, false
	for j, e := range h.Events {
		if e.Process != got.Process || e.At > t {
			continue
		}
		if e.Kind == sim.Injected && e.Op == "drift" {
			base = e
		}
		if j <= i {
			continue
		}
		gone = gone || e.Kind == sim.Injected && e.Op == "crash" || e.Op == sim.Exit ||
			e.Kind == sim.Invoke && e.Op == sim.Release && e.Lease == got.Lease
		switch {
		case gone || e.Lease != got.Lease:
		case e.Op == sim.Lost:
			told = true
		case e.Op == sim.Extend && e.Kind == sim.OK, e.Op == sim.Renew && !told:
			until, told = e, false
		}
	}
	if given && (gone || told) {
		return false
	}
	end := until.Until
	if end == sim.NoEnd {
		end = until.Clock + h.Meta.TTL
	}
	return (t-base.At)*time.Duration(million+base.PPM) < (end-base.Clock)*million // instants are few enough not to overflow
}

// A beginning is where a hold begins: the acquire of the lease, and the same event or a late extension.
type beginning struct{ acquire, event int }

// holdsBegun returns where holds begin, in order.
func holdsBegun(h *sim.History) []beginning {
	var found []beginning
	for j, e := range h.Events {
		for _, i := range acquired(h) {
			before := &sim.History{Meta: h.Meta, Events: h.Events[:j]}
			after := &sim.History{Meta: h.Meta, Events: h.Events[:j+1]}
			if i == j || i < j && e.Lease == h.Events[i].Lease && e.Process == h.Events[i].Process && (e.Op == sim.Extend || e.Op == sim.Renew) && !holds(before, i, e.At) && holds(after, i, e.At) {
				found = append(found, beginning{i, j})
			}
		}
	}
	return found
}

// acquired returns the events at which an Acquire returned a lease.
func acquired(h *sim.History) []int {
	var events []int
	for i, e := range h.Events {
		if e.Kind == sim.OK && e.Op == sim.Acquire {
			events = append(events, i)
		}
	}
	return events
}

// leaseExclusionOracle returns the leases whose client, when a hold of it began, was not the only one who held the lock.
func leaseExclusionOracle(h *sim.History) []string {
	var found []string
	all := holdsBegun(h)
	lasts := func(b beginning, t time.Duration) bool { // until t, without a break
		for _, other := range all {
			if other.acquire == b.acquire && other.event > b.event && h.Events[other.event].At <= t {
				return false
			}
		}
		return holds(h, b.acquire, t)
	}
	for _, b := range all {
		for _, a := range all {
			x, y, t := h.Events[a.event], h.Events[b.event], h.Events[b.event].At
			if a.event < b.event && x.Process != y.Process && h.Events[a.acquire].Lock == h.Events[b.acquire].Lock && lasts(a, t) && lasts(b, t) {
				found = append(found, y.Lease)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// grantOracle returns the last event before the return of a lease by which a majority of nodes came to have its key, or its
// return.
func grantOracle(h *sim.History, acquire int) int {
	grant := acquire
	for i := 1; i < acquire; i++ {
		if n := len(h.Meta.Nodes); 2*votesOracle(h, acquire, i) > n && 2*votesOracle(h, acquire, i-1) <= n {
			grant = i
		}
	}
	return grant
}

// votesOracle counts the nodes whose key, after event i, is one that the lease of an ok acquire set there, and that nothing but
// the lease itself has touched since.
func votesOracle(h *sim.History, acquire, i int) int {
	label, votes := h.Events[acquire].Lease, 0
	for _, node := range h.Meta.Nodes {
		voted := map[string]bool{} // by the node, or by a replica of it
		for _, e := range h.Events[:i+1] {
			if e.Process != node && h.Meta.Replicas[e.Process] != node || e.Kind != sim.State {
				continue
			}
			switch e.Op {
			case sim.Set, sim.Over:
				voted[e.Process] = e.Lease == label && (voted[e.Process] || e.By != "n1")
			case sim.Delete, sim.Expire, sim.Lose:
				voted[e.Process] = false
			}
		}
		for _, v := range voted {
			if v {
				votes++
				break
			}
		}
	}
	return votes
}

// resourceExclusionOracle returns the events at which a write was accepted though a newer lease had been granted.
func resourceExclusionOracle(h *sim.History) []int {
	var found []int
	for i, e := range h.Events {
		if e.Op != sim.Accept && e.Op != sim.Mark {
			continue
		}
		overtaken := false
		for _, own := range acquired(h) {
			for _, newer := range acquired(h) {
				overtaken = overtaken || h.Events[own].Lease == e.Lease && h.Events[own].Lock == h.Events[newer].Lock &&
					grantOracle(h, own) < grantOracle(h, newer) && grantOracle(h, newer) < i
			}
		}
		if overtaken {
			found = append(found, i)
		}
	}
	return found
}

// expiredOnReturnOracle returns the leases that nobody could ever have held, not even for an instant.
func expiredOnReturnOracle(h *sim.History) []string {
	var found []string
	for _, i := range acquired(h) {
		calm := &sim.History{Meta: h.Meta, Events: h.Events[:i+1]} // without what may have ended the hold at that instant
		if !holds(calm, i, h.Events[i].At) {
			found = append(found, h.Events[i].Lease)
		}
	}
	return found
}

// ownerOnlyOracle replays the keys, without believing what the events say about owners.
func ownerOnlyOracle(h *sim.History) []int {
	var found []int
	for i, e := range h.Events {
		if e.Kind != sim.State || (e.Op != sim.Over && e.Op != sim.Retime && e.Op != sim.Delete) || e.Key != "k" || e.By == "n1" {
			continue
		}
		lease, set := "", time.Duration(0)
		for _, before := range h.Events[:i] {
			if before.Process == e.Process && before.Key == e.Key && (before.Op == sim.Set || before.Op == sim.Over) {
				lease, set = before.Lease, before.At
			}
		}
		over := e.At >= set+h.Meta.TTL
		for _, j := range acquired(h) {
			over = over && h.Events[j].Lease != lease // handed out, now or later
		}
		for _, j := range acquired(h) {
			over = over || h.Events[j].Lease == lease && h.Events[j].At <= e.At && !relies(h, j, e.At, false)
		}
		if !strings.HasPrefix(lease, e.By+"#") && !over {
			found = append(found, i)
		}
	}
	return found
}

// tokensOracle returns the leases with a token that is not above that of one that was granted before.
func tokensOracle(h *sim.History) []string {
	var found []string
	for _, b := range acquired(h) {
		for _, a := range acquired(h) {
			x, y := h.Events[a], h.Events[b]
			if x.Lock == y.Lock && x.Fence > 0 && y.Fence > 0 && grantOracle(h, a) < grantOracle(h, b) && y.Fence <= x.Fence {
				found = append(found, y.Lease)
				break
			}
		}
	}
	return found
}

// noLostUpdateOracle returns the words that are neither in the last value nor kept, unless somebody rightfully replaced them,
// and "counter" if two were told of the same number, or a number was undone.
func noLostUpdateOracle(h *sim.History) []string {
	var found []string
	var final, kept string
	for _, e := range h.Events {
		switch {
		case e.Op == sim.Accept:
			final = e.Value
		case e.Op == sim.Keep:
			kept += " " + e.Word
		}
	}
	for _, e := range h.Events {
		if e.Op == sim.Update && e.Kind == sim.OK && !slices.Contains(strings.Fields(final+kept), e.Value) && !replacedOracle(h, e.Value) {
			found = append(found, e.Value)
		}
	}
	for i, e := range h.Events {
		if e.Op != sim.Increment || e.Kind != sim.OK {
			continue
		}
		mine, _ := strconv.Atoi(e.Value)
		written, lost := false, false
		for j, o := range h.Events {
			n, _ := strconv.Atoi(o.Value)
			switch {
			case o.Op == sim.Increment && o.Kind == sim.OK:
				lost = lost || j != i && n == mine
			case o.Key == "counter" && n == mine && j < i:
				written = true
			case o.Key == "counter" && n < mine && j < i:
				written = false
			case o.Key == "counter" && n < mine:
				lost = true
			}
		}
		if lost || !written {
			return append(found, "counter")
		}
	}
	return found
}

// replacedOracle says whether the last write that took a word from the value was a plain one, by somebody whose lease was the
// newest while no other client held the lock.
func replacedOracle(h *sim.History, word string) bool {
	there, taker := false, -1
	for i, e := range h.Events {
		if e.Op == sim.Accept {
			has := slices.Contains(strings.Fields(e.Value), word)
			if there && !has {
				taker = i
			}
			there = has
		}
	}
	if taker < 0 || h.Events[taker].Word != "" {
		return false
	}
	e := h.Events[taker]
	for _, own := range acquired(h) {
		if h.Events[own].Lease != e.Lease {
			continue
		}
		for _, other := range acquired(h) {
			o := h.Events[other]
			newer := grantOracle(h, own) < grantOracle(h, other) && grantOracle(h, other) < taker
			if o.Lock == h.Events[own].Lock && (newer || other < taker && o.Process != e.By && holds(h, other, e.At)) {
				return false
			}
		}
	}
	return true
}

// whatWasLost returns the word that a violation is about, or "counter".
func whatWasLost(_ *sim.History, v Violation) string {
	words := strings.Fields(v.What)
	if i := slices.Index(words, "update"); i >= 0 {
		return words[i+1]
	}
	return "counter"
}

// deadlockOracle says whether the probe asked for the lock in a time in which it might have got it, and whether it did not.
func deadlockOracle(h *sim.History) (asked, violated bool) {
	for i, e := range h.Events {
		if e.Process != h.Meta.Probe || e.Kind != sim.Invoke || e.Op != sim.Acquire {
			continue
		}
		for _, j := range acquired(h) {
			if got := h.Events[j]; j > i && got.Process == h.Meta.Probe && got.At-e.At <= h.Meta.Bound {
				return true, false
			}
		}
		instants := []time.Duration{e.At}
		for _, l := range Leases(h) {
			instants = append(instants, l.To)
		}
		for _, o := range h.Events {
			instants = append(instants, o.At)
		}
		free := false
		for _, t := range instants {
			if e.At <= t && t <= min(e.At+h.Meta.Bound, h.Events[len(h.Events)-1].At) {
				free = free || !keptAt(h, e.Lock, t)
			}
		}
		return free, free
	}
	return false, false
}

// keptAt says whether a client other than the probe holds a lock, or has been given it without an end and not given it up.
func keptAt(h *sim.History, lock string, t time.Duration) bool {
	for _, i := range acquired(h) {
		got := h.Events[i]
		if got.Lock != lock || got.Process == h.Meta.Probe || got.At > t {
			continue
		}
		endless := got.Until == sim.NoEnd
		for j, e := range h.Events {
			if j > i && e.At <= t && e.Process == got.Process {
				gone := e.Kind == sim.Injected && e.Op == "crash" || e.Op == sim.Exit
				ends := e.Op == sim.Release && e.Kind == sim.Invoke || e.Op == sim.Lost || e.Op == sim.Extend && e.Kind == sim.OK || e.Op == sim.Renew
				endless = endless && !gone && !(ends && e.Lease == got.Lease)
			}
		}
		if endless || holds(h, i, t) {
			return true
		}
	}
	return false
}

// compare checks one property against an oracle, both of which return what they find in a form that == can compare.
func compare[T comparable](t *testing.T, p Property, oracle func(*sim.History) []T, subject func(*sim.History, Violation) T) {
	t.Helper()
	outcomes := tally{}
	rapid.Check(t, func(t *rapid.T) {
		h := randomHistory(t)
		want := oracle(h)
		var got []T
		r := Check(h, nil)
		for _, v := range r.Violations {
			if v.Property == p {
				got = append(got, subject(h, v))
			}
		}
		if len(got) != len(want) || slices.ContainsFunc(got, func(x T) bool { return !slices.Contains(want, x) }) {
			t.Fatalf("found %v, oracle %v", got, want)
		}
		if (r.Status(p) == Violated) != (len(want) > 0) {
			t.Fatalf("status %s, oracle %v", r.Status(p), want)
		}
		outcomes[len(want) > 0]++
	})
	outcomes.check(t)
}

// leaseNamedFirst returns the lease that the sentence of a violation is about.
func leaseNamedFirst(_ *sim.History, v Violation) string {
	for _, w := range strings.Fields(v.What) {
		if strings.Contains(w, "#") {
			return w
		}
	}
	return ""
}

// lastState returns the last change of a server's state in the proof of a violation.
func lastState(h *sim.History, v Violation) int {
	for _, i := range slices.Backward(v.Events) {
		if e := h.Events[i]; e.Kind == sim.State && e.At == v.At && e.Op != sim.Set {
			return i
		}
	}
	return -1
}

func TestLeaseExclusionOracle(t *testing.T) {
	compare(t, LeaseExclusion, leaseExclusionOracle, leaseNamedFirst)
}

func TestResourceExclusionOracle(t *testing.T) {
	compare(t, ResourceExclusion, resourceExclusionOracle, lastState)
}

func TestExpiredOnReturnOracle(t *testing.T) {
	compare(t, ExpiredOnReturn, expiredOnReturnOracle, leaseNamedFirst)
}

func TestOwnerOnlyOracle(t *testing.T) {
	compare(t, OwnerOnly, ownerOnlyOracle, lastState)
}

func TestDeadlockFreedomOracle(t *testing.T) {
	outcomes := tally{}
	rapid.Check(t, func(t *rapid.T) {
		h := randomHistory(t)
		asked, violated := deadlockOracle(h)
		want := OK
		switch {
		case !asked:
			want = Unknown
		case violated:
			want = Violated
		}
		if got := Check(h, nil).Status(DeadlockFreedom); got != want {
			t.Fatalf("status %s, oracle %s", got, want)
		}
		if asked {
			outcomes[violated]++
		}
	})
	outcomes.check(t)
}

func TestTokensOracle(t *testing.T) { compare(t, Tokens, tokensOracle, leaseNamedFirst) }

func TestNoLostUpdateOracle(t *testing.T) {
	compare(t, NoLostUpdate, noLostUpdateOracle, whatWasLost)
}

// The ends of a hold are exact: it is held a nanosecond before, and not any more at that instant.
func TestHoldOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := randomHistory(t)
		leases := Leases(h)
		var instants []time.Duration
		for _, l := range leases {
			instants = append(instants, l.From-1, l.From, l.To-1, l.To)
		}
		for _, i := range acquired(h) {
			label := h.Events[i].Lease
			for _, at := range instants {
				held := false
				for _, l := range leases {
					held = held || l.Label == label && l.From <= at && at < l.To
				}
				if held != holds(h, i, at) {
					t.Fatalf("%s at %v: %v, oracle %v", label, at, held, holds(h, i, at))
				}
			}
			for _, l := range leases {
				if l.Label == label && l.GrantEvent != grantOracle(h, i) {
					t.Fatalf("%s granted by event %d, oracle %d", l.Label, l.GrantEvent, grantOracle(h, i))
				}
			}
		}
		if len(leases) < len(acquired(h)) {
			t.Fatalf("%d holds of %d leases", len(leases), len(acquired(h)))
		}
	})
}
