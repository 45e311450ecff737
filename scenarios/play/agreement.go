package play

import (
	"fmt"
	"strings"

	"lockstep/checker"
	"lockstep/sim/history"
)

// An Agreement says how far a run on real servers came out like the same run in simulation.
type Agreement struct {
	// Proved says that the real run proves something at all. One that does not is neither here nor there: a busy machine can keep
	// a run from the states that it must reach.
	Proved bool
	// Verdict is how the two were judged otherwise, in simulation and then on real servers: by the status of a property, or by
	// the assumption that was broken. It is empty if they were not.
	Verdict string
	// Operations is the first operation of a client that came to another end, if one did. Times are not compared.
	Operations string
}

// Agreement compares an outcome in simulation with one of the same run on real servers.
func (o *Outcome) Agreement(real *Outcome) Agreement {
	a := Agreement{Proved: real.Result.Verdict != checker.Inconclusive || o.Result.Verdict == checker.Inconclusive}
	if a.Proved {
		a.Verdict = judgedOtherwise(o, real)
	}
	for _, client := range clientsOf(o.History, real.History) {
		here, there := endsOf(client, o.History), endsOf(client, real.History)
		for i := range max(len(here), len(there)) {
			if h, t := endAt(here, i), endAt(there, i); h != t {
				a.Operations = fmt.Sprintf("%s, operation %d: %s, then %s", client, i+1, h, t)
				return a
			}
		}
	}
	return a
}

// endsOf lists what the operations of a client came to: "acquire ok", "write A fail". Tries one after the other to acquire count
// as one, which comes to what the last of them does: how many there are is a matter of time.
func endsOf(client string, h *history.History) (ends []string) {
	for _, e := range seenBy(client, h) {
		if e.Kind == history.Invoke || e.ID == 0 {
			continue
		}
		end := e.Op
		if e.Op == history.Write {
			end += " " + e.Value
		}
		if n := len(ends) - 1; n >= 0 && e.Op == history.Acquire && strings.HasPrefix(ends[n], history.Acquire+" ") {
			ends = ends[:n]
		}
		ends = append(ends, end+" "+string(e.Kind))
	}
	return ends
}

func endAt(ends []string, i int) string {
	if i < len(ends) {
		return ends[i]
	}
	return "nothing more"
}
