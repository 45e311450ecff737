package play

import (
	"lockstep/clients"
	"lockstep/scenarios/script"
	"lockstep/sim"
)

// A Variant is how a replay of a run deviates from it, beyond what its page can say. The zero Variant is the run itself.
type Variant struct {
	Branch *sim.Branch  `json:"branch,omitempty"`
	OnTime *sim.Sending `json:"on_time,omitempty"`
	// TimersFirst is passed on to [sim.Config]. The zero Variant is played in both orders if the order matters; any other variant is played only
	// in the order that this field says.
	TimersFirst bool `json:"timers_first,omitempty"`
}

// SimulateVariant is [Simulate] for a variant of the run.
func SimulateVariant(v Variant, s *script.Scenario, run script.Section, build clients.New, seed uint64) (*Outcome, error) {
	return simulateWith(nil, v, s, run, build, seed)
}
