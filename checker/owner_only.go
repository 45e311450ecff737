package checker

import (
	"fmt"

	"lockstep/sim"
)

// ownerOnly finds the commands of one client that deleted, overwrote or re-timed a living key that stood for the lease of
// another.
func ownerOnly(ix *index) []Violation {
	verbs := map[string]string{sim.Over: "overwrote", sim.Retime: "re-timed", sim.Delete: "deleted"}
	latest := map[string]*Lease{} // what each client acquired last
	var found []Violation
	for i, e := range ix.Events {
		if e.Kind == sim.OK && e.Op == sim.Acquire {
			latest[e.Process] = ix.lease(e.Lease)
		}
		verb, touches := verbs[e.Op]
		if e.Kind != sim.State || !touches || e.By == "" {
			continue
		}
		if owner := clientOf(e.Owner); owner == "" || owner == e.By {
			continue
		}
		broken, because := blameCommand(ix, i, latest[e.By])
		found = append(found, Violation{
			Property:   OwnerOnly,
			At:         e.At,
			What:       fmt.Sprintf("%s %s the key of %s on %s at %s", e.By, verb, e.Owner, e.Process, seconds(e.At)),
			Assumption: broken,
			Events:     proof(append(because, i)...),
		})
	}
	return found
}

// blameCommand says why the command of event i came upon the key of another client. The client acted on the lease that it
// acquired last and thinks it still has or, where it is asking for one, on what it has read since it began to ask.
func blameCommand(ix *index, i int, latest *Lease) (Assumption, []int) {
	e := ix.Events[i]
	invoke := last(ix.invokes[e.By], i)
	if invoke < 0 {
		return None, nil
	}
	since := ix.at(invoke)
	if ix.Events[invoke].Op != sim.Acquire && latest != nil {
		since = latest.From
	}
	sent := departure(e)
	if _, pause := ix.paused(e.By, since, sent); pause >= 0 {
		return BoundedPause, []int{pause}
	}
	for _, n := range ix.livesOf[e.Owner] {
		l := ix.lives[n]
		if l.node == e.Process && l.key == e.Key && l.from < i && sent < ix.at(l.from) && ix.tookLong(e.At-sent) {
			return BoundedDelay, []int{l.from} // the command left before there was anything to come upon
		}
	}
	return None, nil
}
