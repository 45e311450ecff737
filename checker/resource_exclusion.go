package checker

import (
	"fmt"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// resourceExclusion finds the writes that the resource accepted under a lease after a newer lease on the same lock had been
// granted. Kleppmann's first figure shows such a write: "How to do distributed locking" (2016). To enter, which sets the mark of
// the resource, counts as a write: it shuts out clients that have entered before.
//
// If no assumption was broken, and the lock had told the client that the lease was lost before the client began to write, the lock is
// not at fault: the client should not have written.
//
// A newer lease counts only if its Acquire returned at some time: nobody relies on one that its client never learned of. Leases
// are in the order of their grants, so it is enough to look at the next one.
func resourceExclusion(ix *index) []Violation {
	var found []Violation
	for i, e := range ix.Events {
		if e.Kind != history.State || e.Op != history.Accept && e.Op != history.Mark {
			continue
		}
		newer := ix.Successor[e.Lease]
		if newer == nil || newer.GrantEvent > i {
			continue
		}
		l := ix.HoldAt(e.Lease, e.Departure())
		did := "wrote " + e.Value
		if e.Op == history.Mark {
			did = "entered"
		}
		broken, because := blameWrite(ix, i, l, newer)
		if broken == None && l.Ended == facts.LeaseLost && l.EndEvent < ix.writing(i) {
			continue
		}
		found = append(found, Violation{
			Property: ResourceExclusion,
			At:       e.At,
			What: fmt.Sprintf("%s %s under %s at %s, after %s was granted %s at %s",
				l.Client, did, l.Label, history.Seconds(e.At), newer.Client, newer.Label, history.Seconds(newer.Granted)),
			Assumption: broken,
			Events:     proof(append(because, i, l.GrantEvent, l.ReturnEvent, l.EndEvent, newer.GrantEvent, newer.ReturnEvent)...),
		})
	}
	return found
}

// blameWrite says why a write under l, event i, reached the resource after the grant of a newer lease.
func blameWrite(ix *index, i int, l, newer *facts.Lease) (Assumption, []int) {
	return blameLate(ix, ix.At(i), ix.Events[i].Departure(), l, newer, newer.Granted, nil)
}

// blameLate says why an act under l took effect, at the instant at, after the grant of a newer lease. Its request was sent at
// sent. It was a violation because it came after the instant after: an act under the newer lease, or its grant. If averted is not
// nil, it reports whether something else would have prevented the violation, had the environment kept some assumptions.
func blameLate(ix *index, at, sent time.Duration, l, newer *facts.Lease, after time.Duration, averted func(kept []Assumption) bool) (Assumption, []int) {
	still := func(kept []Assumption) bool {
		return ix.stillLate(at, sent, l, newer, after, kept) && (averted == nil || !averted(kept))
	}
	inTime := l.Held() && sent <= l.To
	if inTime && newer.Granted < l.To {
		broken, because := blame(ix, l, newer) // the leases overlapped already: the resource only shows that
		if broken == None && newer.From < l.To || broken != None && !still([]Assumption{broken}) {
			return broken, because
		}
	}
	if !l.GrantSeen {
		if set := ix.misdated(l); set >= 0 { // its keys were gone at once
			return BoundedClockError, []int{set}
		}
	}
	causes := []Assumption{BoundedPause, BoundedDelay, DurableNodes, BoundedClockError}
	if inTime {
		causes = []Assumption{BoundedDelay, BoundedPause, DurableNodes, BoundedClockError}
	}
	for n := 1; n <= len(causes); n++ {
		for _, kept := range subsets(causes, n) {
			if !still(kept) {
				return kept[0], ix.signsLate(kept[0], sent, l, newer)
			}
		}
	}
	return None, nil
}

// signsLate returns the events that show how the environment broke an assumption, so that an act under l, whose request was sent
// at sent, came after the grant of a newer lease.
func (ix *index) signsLate(broken Assumption, sent time.Duration, l, newer *facts.Lease) []int {
	then := ix.succession(l, newer)
	switch broken {
	case DurableNodes:
		return then.lost
	case BoundedClockError:
		return append(then.early, clockFault(ix, l))
	}
	if signs := ix.signs(broken, l.Client, l.From, sent); len(signs) > 0 && signs[0] >= 0 {
		return signs
	}
	return ix.signs(broken, l.Client, l.Invoked, sent)
}

// writing returns the invocation of the write, the update or the entry that the resource accepted by event i, or -1.
func (ix *index) writing(i int) int {
	e := ix.Events[i]
	invokes := ix.Invokes[history.Client(e.Lease)]
	for j := facts.Before(invokes, i); j >= 0; j = facts.Before(invokes, j) {
		in := ix.Events[j]
		if in.Writes(e) {
			return j
		}
	}
	return -1
}
