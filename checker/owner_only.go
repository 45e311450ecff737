package checker

import (
	"fmt"

	"lockstep/sim"
)

// ownerOnly finds the commands of one client that deleted, overwrote or re-timed a living key that stood for the lease of
// another. No promise of the environment is ever to blame: a command that compares before it acts, in one step, comes to no
// harm in any pause, delay or clock error.
func ownerOnly(ix *index) []Violation {
	verbs := map[string]string{sim.Over: "overwrote", sim.Retime: "re-timed", sim.Delete: "deleted"}
	set := map[[2]string]int{} // by node and key, the event that made it what it is
	var found []Violation
	for i, e := range ix.Events {
		if e.Kind == sim.State && e.Op == sim.Set {
			set[[2]string{e.Process, e.Key}] = i
		}
		verb, touches := verbs[e.Op]
		if e.Kind != sim.State || !touches || e.By == "" {
			continue
		}
		if owner := clientOf(e.Owner); owner == "" || owner == e.By {
			continue
		}
		var because []int
		if j, ok := set[[2]string{e.Process, e.Key}]; ok {
			because = append(because, j)
		}
		found = append(found, Violation{
			Property:   OwnerOnly,
			At:         e.At,
			What:       fmt.Sprintf("%s %s the key of %s on %s at %s", e.By, verb, e.Owner, e.Process, seconds(e.At)),
			Assumption: None,
			Events:     proof(append(because, i)...),
		})
	}
	return found
}
