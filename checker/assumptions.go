package checker

import (
	"fmt"

	"lockstep/sim/history"
)

// unmet returns why the run proves nothing: it ended before its time, a fault had no effect, or a dangerous state did not
// occur. A lock that survives a pause which hit it after it had finished has survived nothing.
func unmet(ix *index, musts []Must) []string {
	var reasons []string
	if ix.Meta.Cap != "" {
		reasons = append(reasons, "the run hit "+ix.Meta.Cap)
	}
	for _, e := range ix.neverBit() {
		reasons = append(reasons, fmt.Sprintf("the fault `%s` never bit", e.Value)+ix.whyIdle(e))
	}
	for _, m := range musts {
		if !m.met(ix) {
			reasons = append(reasons, fmt.Sprintf("must %v: did not occur", m))
		}
	}
	return reasons
}

// neverBit returns the injections of faults that had no effect.
func (ix *index) neverBit() []history.Event {
	settled := map[int]bool{0: true} // faults that bit, or were returned already; number 0 is a mere consequence of one
	for _, e := range ix.Events {
		if e.Kind == history.Bite {
			settled[e.ID] = true
		}
	}
	var idle []history.Event
	for _, e := range ix.Events {
		if e.Kind == history.Injected && !settled[e.ID] {
			settled[e.ID] = true
			idle = append(idle, e)
		}
	}
	return idle
}

func (ix *index) idle() []string {
	var faults []string
	for _, e := range ix.neverBit() {
		faults = append(faults, e.Value)
	}
	return faults
}

// whyIdle says why a fault of a client's clocks can have been idle although its client was not.
func (ix *index) whyIdle(e history.Event) string {
	if !ix.setsUnreadClock(e) {
		return ""
	}
	return ": from then on the lock of " + e.Process + " read no clock of its process, and the clock of package time cannot be set"
}

// setsUnreadClock reports whether a fault that had no effect set a clock of a client.
func (ix *index) setsUnreadClock(e history.Event) bool {
	return !ix.servers[e.Process] && e.Process != history.ResourceName && (e.Op == "jump" || e.Op == "drift" || e.Op == "slew")
}
