package checker

import (
	"fmt"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// expiredOnReturn finds the leases that were over, by the clock of the client, when Acquire returned them. A lock that compares
// the elapsed time with the TTL before it returns never returns one: that is step 3 of Redlock, and antirez's answer to a pause
// in Acquire ("Is Redlock safe?", 2016).
func expiredOnReturn(ix *index) []Violation {
	var found []Violation
	for i := range ix.Leases {
		l := &ix.Leases[i]
		e := ix.Events[l.ReturnEvent]
		if e.Until > e.Clock {
			continue
		}
		broken, because := blameReturn(ix, l)
		found = append(found, Violation{
			Property: ExpiredOnReturn,
			At:       l.From,
			What: fmt.Sprintf("%s was handed %s at %s, when its clock read %s and the lease had ended at %s",
				l.Client, l.Label, history.Seconds(l.From), history.Seconds(e.Clock), history.Seconds(e.Until)),
			Assumption: broken,
			Events:     proof(append(because, l.InvokeEvent, l.ReturnEvent)...),
		})
	}
	return found
}

// blameReturn returns the assumption whose breach made an Acquire last longer than its lease: if it had held, Acquire would have
// returned before the end. Delays before the first request for a key have moved that end too.
func blameReturn(ix *index, l *facts.Lease) (Assumption, []int) {
	e := ix.Events[l.ReturnEvent]
	asked := facts.Stretch{From: l.From, To: l.From}
	for _, n := range ix.LivesOf[l.Label] {
		if k := ix.Lives[n]; k.Vote && k.From < l.ReturnEvent {
			asked.From = min(asked.From, max(ix.Events[k.From].Sent, l.Invoked))
		}
	}
	if start := facts.When(ix.Clocks[l.Client], e.Until-ix.TTL(e)); start < l.From { // from which the lock had already begun to count
		asked.From = max(l.Invoked, min(asked.From, start))
	}
	causes := []Assumption{BoundedPause, BoundedDelay}
	for n := 1; n <= len(causes); n++ {
		for _, kept := range subsets(causes, n) {
			if ix.excess(l.Client, history.Acquire, asked, kept, false) > e.Clock-e.Until {
				return kept[0], ix.signs(kept[0], l.Client, asked.From, l.From)
			}
		}
	}
	return None, nil
}
