package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockstep/sim"
)

// leaseExclusion finds the holds that began while another client held the same lock. A hold that ends at the instant at
// which the next begins does not overlap it.
//
// It reports each later hold once, against the one that would have lasted longest: the number of pairs is quadratic, and
// the later holds are what went wrong. The sweep remembers two holds, because the one that ends last may be of the same
// client, which may hold two leases at a time.
func leaseExclusion(ix *index) []Violation {
	var holds []*Lease
	for i := range ix.leases {
		if l := &ix.leases[i]; l.held() {
			holds = append(holds, l)
		}
	}
	slices.SortFunc(holds, func(a, b *Lease) int {
		return cmp.Or(cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.From, b.From), cmp.Compare(a.ReturnEvent, b.ReturnEvent))
	})

	var found []Violation
	var longest, other *Lease // the two holds of different clients that end last
	for _, l := range holds {
		if longest != nil && longest.Lock != l.Lock {
			longest, other = nil, nil
		}
		rival := longest
		if rival != nil && rival.Client == l.Client {
			rival = other
		}
		if rival != nil && l.From < rival.To {
			found = append(found, overlap(ix, rival, l))
		}
		switch {
		case longest == nil:
			longest = l
		case l.Client == longest.Client:
			if l.To > longest.To {
				longest = l
			}
		case l.To > longest.To:
			longest, other = l, longest
		case other == nil || l.To > other.To:
			other = l
		}
	}
	return found
}

// overlap describes that b began while a was held.
func overlap(ix *index, a, b *Lease) Violation {
	broken, because := blame(ix, a, b)
	return Violation{
		Property:   LeaseExclusion,
		At:         b.From,
		What:       fmt.Sprintf("%v, while %v", b, a),
		Assumption: broken,
		Events:     proof(append(because, a.GrantEvent, a.ReturnEvent, a.EndEvent, b.GrantEvent, b.ReturnEvent)...),
	}
}

// blame says why a majority of nodes could grant a second lease before the hold of the first had ended: how did the keys
// of the first vanish where the second has its own? It also returns the events that show it.
func blame(ix *index, a, b *Lease) (Assumption, []int) {
	if b.GrantEvent < a.GrantEvent {
		a, b = b, a
	}
	if !a.GrantSeen {
		return None, nil
	}
	lost, early, taken := -1, -1, -1
	for _, n := range ix.livesOf[b.Label] {
		taker := ix.lives[n]
		for _, n := range ix.livesOf[a.Label] {
			key := ix.lives[n]
			if key.node != taker.node || key.key != taker.key || key.to > taker.from || ix.at(key.to) >= a.To {
				continue
			}
			switch op := ix.Events[key.to].Op; {
			case op == sim.Lose:
				lost = key.to
			case op == sim.Expire && ix.early(key):
				early = key.to
			case op == sim.Over && wallIsOff(ix.Events[b.ReturnEvent]):
				taken = key.to // a lock that compares the clocks of clients, as GETSET on a timestamp does
			}
		}
	}
	switch {
	case lost >= 0:
		return DurableNodes, []int{lost}
	case early >= 0:
		return BoundedClockError, []int{early}
	case taken >= 0:
		return BoundedClockError, []int{taken}
	}
	if fault := clockFault(ix, a); fault >= 0 {
		return BoundedClockError, []int{fault}
	}
	return None, nil
}

func wallIsOff(e sim.Event) bool { return e.Wall > slack || e.Wall < -slack }

// clockFault returns the fault that made the clocks of a client run wrong while it asked for a lease or held it, or -1. A
// drift lasts until the next; a jump or a slew matters only if it fell into that time, since only differences count.
func clockFault(ix *index, l *Lease) int {
	fault := -1
	for _, i := range ix.clockFaults[l.Client] {
		e := ix.Events[i]
		if e.At >= l.To {
			break
		}
		corrects := e.Op == "drift" && e.PPM == 0
		switch {
		case i < l.InvokeEvent && corrects:
			fault = -1
		case i < l.InvokeEvent && e.Op == "drift":
			fault = i
		case i > l.InvokeEvent && fault < 0 && !corrects:
			fault = i
		}
	}
	return fault
}
