package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockstep/sim"
)

// resourceExclusion finds the writes that the resource accepted under a lease after a newer lease on the same lock had
// been granted. Kleppmann's first figure is one of them: "How to do distributed locking" (2016). To enter, which sets the mark
// of the resource, is a write: it shuts out whoever has entered before.
//
// A newer lease counts only if its Acquire returned, at any time: nobody relies on one that its client never learned of.
// Leases in the order of their grants make this a look at the next one only.
func resourceExclusion(ix *index) []Violation {
	var found []Violation
	for i, e := range ix.Events {
		if e.Kind != sim.State || e.Op != sim.Accept && e.Op != sim.Mark {
			continue
		}
		newer := ix.successor[e.Lease]
		if newer == nil || newer.GrantEvent > i {
			continue
		}
		l := ix.holdAt(e.Lease, departure(e))
		did := "wrote " + e.Value
		if e.Op == sim.Mark {
			did = "entered"
		}
		broken, because := blameWrite(ix, i, l, newer)
		found = append(found, Violation{
			Property: ResourceExclusion,
			At:       e.At,
			What: fmt.Sprintf("%s %s under %s at %s, after %s was granted %s at %s",
				l.Client, did, l.Label, seconds(e.At), newer.Client, newer.Label, seconds(newer.Granted)),
			Assumption: broken,
			Events:     proof(append(because, i, l.GrantEvent, l.ReturnEvent, l.EndEvent, newer.GrantEvent, newer.ReturnEvent)...),
		})
	}
	return found
}

// byGrant returns the leases of each lock in the order of their grants.
func byGrant(ix *index) map[string][]*Lease {
	locks := map[string][]*Lease{}
	for i := range ix.leases {
		l := &ix.leases[i]
		locks[l.Lock] = append(locks[l.Lock], l)
	}
	for _, leases := range locks {
		slices.SortFunc(leases, func(a, b *Lease) int { return cmp.Compare(a.GrantEvent, b.GrantEvent) })
	}
	return locks
}

// blameWrite says why a write under l, event i, reached the resource after the grant of a newer lease.
func blameWrite(ix *index, i int, l, newer *Lease) (Assumption, []int) {
	return blameLate(ix, departure(ix.Events[i]), ix.writing(i), l, newer)
}

// blameLate says why something that was done under l took effect after the grant of a newer lease. Its request left at the
// instant sent; the operation was invoked by event invoked, or -1.
func blameLate(ix *index, sent time.Duration, invoked int, l, newer *Lease) (Assumption, []int) {
	if l.held() && newer.Granted < l.To {
		return blame(ix, l, newer) // the leases overlapped already: the resource only shows it
	}
	if l.held() && sent <= l.To {
		return BoundedDelay, nil // it left in time and was late on its way
	}
	// A pause counts only if the request would have left in time without it. Otherwise the work was too long for the lease. Where
	// the lease was over when it was handed out, what came before counts, too.
	from := l.From
	if !l.held() {
		from = l.Invoked
	}
	if total, pause := ix.paused(l.Client, from, sent); total > 0 && sent-total <= l.To {
		return BoundedPause, []int{pause}
	}
	// Nor would it have been, had the client not waited for messages of its earlier work that were late. How long its lock takes
	// is for the lock to know.
	if total, late := ix.waited(l.Client, l.From, sent); l.held() && total > 0 && sent-total <= l.To {
		return BoundedDelay, []int{late}
	}
	// A request waits for its connection, whose handshake a slow link delays just as well.
	if invoked > l.ReturnEvent && l.held() && ix.at(invoked) < l.To && (l.EndEvent < 0 || invoked < l.EndEvent) {
		return BoundedDelay, []int{invoked}
	}
	if l.renewed {
		return ix.unrenewed(l)
	}
	return None, nil
}

// waited returns how much time there was between two instants in which messages between a client and the resource were under way
// that were late, and the last of them.
func (ix *index) waited(client string, from, to time.Duration) (total time.Duration, last int) {
	var late []stretch
	for i, e := range ix.Events {
		left := departure(e)
		work := e.By == client && e.Process == "resource" || e.By == "resource" && e.Process == client
		if e.Kind != sim.Message || !work || !ix.outOfReach(e.At-left) || left >= to || e.At <= from {
			continue
		}
		late, last = append(late, stretch{max(left, from), min(e.At, to)}), i
	}
	for _, s := range merge(late) {
		total += s.to - s.from
	}
	return total, last
}

// writing returns the invocation of the write, of the update or of the entry that the resource accepted by event i, or -1.
func (ix *index) writing(i int) int {
	e := ix.Events[i]
	invokes := ix.invokes[sim.Client(e.Lease)]
	for j := last(invokes, i); j >= 0; j = last(invokes, j) {
		in := ix.Events[j]
		if writes(in, e) {
			return j
		}
	}
	return -1
}

// writes says whether an invocation may be that of what the resource accepted.
func writes(in, accepted sim.Event) bool {
	if in.Kind != sim.Invoke || in.Lease != accepted.Lease || in.At > departure(accepted) {
		return false
	}
	switch in.Op {
	case sim.Write:
		return accepted.Op != sim.Mark && in.Value == accepted.Value
	case sim.Update:
		return accepted.Op != sim.Mark && in.Value == accepted.Word
	case sim.Enter:
		return accepted.Op == sim.Mark
	}
	return false
}
