package checker

import "fmt"

// expiredOnReturn finds the leases that were over, by the clock of the client, when Acquire returned them. A lock that
// compares the time that has passed with the TTL before it returns never hands out one: that is step 3 of Redlock, and
// antirez's answer to a pause in Acquire ("Is Redlock safe?", 2016).
func expiredOnReturn(ix *index) []Violation {
	var found []Violation
	for i := range ix.leases {
		l := &ix.leases[i]
		e := ix.Events[l.ReturnEvent]
		if e.Until > e.Clock {
			continue
		}
		broken, because := blameReturn(ix, l)
		found = append(found, Violation{
			Property: ExpiredOnReturn,
			At:       l.From,
			What: fmt.Sprintf("%s was handed %s at %s, when its clock read %s and the lease had ended at %s",
				l.Client, l.Label, seconds(l.From), seconds(e.Clock), seconds(e.Until)),
			Assumption: broken,
			Events:     proof(append(because, l.InvokeEvent, l.ReturnEvent)...),
		})
	}
	return found
}

// blameReturn says what made an Acquire last longer than its lease.
func blameReturn(ix *index, l *Lease) (Assumption, []int) {
	if _, pause := ix.paused(l.Client, l.Invoked, l.From); pause >= 0 {
		return BoundedPause, []int{pause}
	}
	slow := ix.slow[l.Client]
	for i := first(slow, l.InvokeEvent); i >= 0 && i < l.ReturnEvent; i = first(slow, i) {
		if ix.Events[i].Sent >= l.Invoked { // not a remnant of an earlier operation
			return BoundedDelay, []int{i}
		}
	}
	return None, nil
}
