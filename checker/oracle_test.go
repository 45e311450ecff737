package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/sim"
	"pgregory.net/rapid"
)

// The oracles below say the same as the properties, in the most obvious way that could be found, without an index, without
// a sweep and without [Leases]. They look at every event again for every question.

// holds says whether the client of an ok acquire, event i, holds its lease at the instant t.
func holds(h *sim.History, i int, t time.Duration) bool {
	got := h.Events[i]
	if t < got.At {
		return false
	}
	var base sim.Event // where the client's clock last changed its rate by t, and what it read then
	for j, e := range h.Events {
		if e.Process != got.Process || e.At > t {
			continue
		}
		if e.Kind == sim.Injected && e.Op == "drift" {
			base = e
		}
		gone := e.Kind == sim.Injected && e.Op == "crash" || e.Op == sim.Exit ||
			e.Kind == sim.Invoke && e.Op == sim.Release && e.Lease == got.Lease
		if gone && j > i {
			return false
		}
	}
	until := got.Until
	if until == sim.NoEnd {
		until = got.Clock + h.Meta.TTL
	}
	return (t-base.At)*time.Duration(million+base.PPM) < (until-base.Clock)*million // instants are few enough not to overflow
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

// leaseExclusionOracle returns the leases whose client, at the return, was not the only one who held the lock.
func leaseExclusionOracle(h *sim.History) []string {
	var found []string
	for _, b := range acquired(h) {
		for _, a := range acquired(h) {
			x, y, t := h.Events[a], h.Events[b], h.Events[b].At
			if a < b && x.Process != y.Process && x.Lock == y.Lock && holds(h, a, t) && holds(h, b, t) {
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

// votesOracle counts the nodes whose key, after event i, is one that the lease of an ok acquire set there where none was, and
// that nothing but the lease itself has touched since.
func votesOracle(h *sim.History, acquire, i int) int {
	label, votes := h.Events[acquire].Lease, 0
	for _, node := range h.Meta.Nodes {
		voted := false
		for _, e := range h.Events[:i+1] {
			if e.Process != node || e.Kind != sim.State {
				continue
			}
			switch e.Op {
			case sim.Set:
				voted = e.Lease == label
			case sim.Over:
				voted = voted && e.Lease == label
			case sim.Delete, sim.Expire, sim.Lose:
				voted = false
			}
		}
		if voted {
			votes++
		}
	}
	return votes
}

// resourceExclusionOracle returns the events at which a write was accepted though a newer lease had been granted.
func resourceExclusionOracle(h *sim.History) []int {
	var found []int
	for i, e := range h.Events {
		if e.Op != sim.Accept {
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
		if e.Kind != sim.State || (e.Op != sim.Over && e.Op != sim.Retime && e.Op != sim.Delete) {
			continue
		}
		owner := ""
		for _, before := range h.Events[:i] {
			if before.Process == e.Process && before.Key == e.Key && (before.Op == sim.Set || before.Op == sim.Over) {
				owner = before.Process + before.Lease
			}
		}
		if !strings.HasPrefix(owner, e.Process+e.By+"#") {
			found = append(found, i)
		}
	}
	return found
}

// deadlockOracle says whether the probe asked for the lock, and whether it did not get it in time.
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
		return true, true
	}
	return false, false
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

// The ends of a hold are exact: it is held a nanosecond before, and not any more at that instant.
func TestHoldOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := randomHistory(t)
		at := acquired(h)
		leases := Leases(h)
		if len(leases) != len(at) {
			t.Fatalf("%d leases of %d", len(leases), len(at))
		}
		for i, l := range leases {
			if l.GrantEvent != grantOracle(h, at[i]) {
				t.Fatalf("%s granted by event %d, oracle %d", l.Label, l.GrantEvent, grantOracle(h, at[i]))
			}
			if l.held() != holds(h, at[i], l.From) || holds(h, at[i], l.To) {
				t.Fatalf("%v: oracle says %v at its beginning, %v at its end", &l, holds(h, at[i], l.From), holds(h, at[i], l.To))
			}
			if l.held() && !holds(h, at[i], l.To-1) {
				t.Fatalf("%v: oracle says it was over before", &l)
			}
		}
	})
}
