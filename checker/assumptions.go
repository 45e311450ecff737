package checker

import (
	"fmt"

	"lockstep/sim"
)

// unmet returns why the run proves nothing: it ended before its time, a pause did not stop all of a client, a fault had no
// effect, or a dangerous state did not occur. A lock that survives a pause which hit it after it had finished has survived nothing.
func unmet(ix *index, musts []Must) []string {
	var reasons []string
	if ix.Meta.Cap != "" {
		reasons = append(reasons, "the run hit "+ix.Meta.Cap)
	}
	ranOn := map[string]bool{}
	for _, e := range ix.Events {
		if e.Kind == sim.Info && e.Op == sim.Unpaused && !ranOn[e.Process] {
			ranOn[e.Process] = true
			reasons = append(reasons, e.Process+" ran on while it was paused: it takes its time from package time, so this run proves nothing about a pause")
		}
	}
	settled := map[int]bool{0: true} // faults that bit, or were named already; number 0 is a mere consequence of one
	for _, e := range ix.Events {
		if e.Kind == sim.Bite {
			settled[e.ID] = true
		}
	}
	for _, e := range ix.Events {
		if e.Kind == sim.Injected && !settled[e.ID] {
			settled[e.ID] = true
			reasons = append(reasons, fmt.Sprintf("the fault `%s` never bit", e.Value))
		}
	}
	for _, m := range musts {
		if !m.met(ix) {
			reasons = append(reasons, fmt.Sprintf("must %v: did not occur", m))
		}
	}
	return reasons
}
