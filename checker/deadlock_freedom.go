package checker

import (
	"fmt"

	"lockstep/sim"
)

// deadlockFreedom says whether the probe, a fresh client that comes after everything has healed and one TTL has passed,
// acquired within its bound. Whoever still stands in its way then is a key that nothing will remove.
//
// The probe may be refused and try again: only its first invocation counts. A bound of zero is none.
func deadlockFreedom(ix *index) (found []Violation, unknown string) {
	asked := -1
	for _, i := range ix.invokes[ix.Meta.Probe] {
		if ix.Events[i].Op == sim.Acquire {
			asked = i
			break
		}
	}
	if ix.Meta.Probe == "" || asked < 0 {
		return nil, "no probe asked for the lock"
	}
	v := Violation{
		Property:   DeadlockFreedom,
		At:         later(ix.at(asked), ix.Meta.Bound),
		What:       fmt.Sprintf("%s asked for the lock at %s and never got it", ix.Meta.Probe, seconds(ix.at(asked))),
		Assumption: None,
		Events:     []int{asked},
	}
	for _, l := range ix.leases {
		if l.Client != ix.Meta.Probe {
			continue
		}
		if ix.Meta.Bound == 0 || l.From <= v.At {
			return nil, ""
		}
		v.What = fmt.Sprintf("%s asked for the lock at %s and got it only at %s, where %s were allowed",
			ix.Meta.Probe, seconds(ix.at(asked)), seconds(l.From), seconds(ix.Meta.Bound))
		v.Events = proof(asked, l.ReturnEvent)
		break
	}
	return []Violation{v}, ""
}
