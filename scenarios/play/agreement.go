package play

import (
	"fmt"
	"strings"

	"lockstep/checker"
	"lockstep/sim/history"
)

// An Agreement compares a run on real servers with the same run in simulation.
type Agreement struct {
	// Proved says that the real run proves something. One that does not is no comparison: a busy machine can keep a run from the
	// states that it must reach.
	Proved bool
	// Verdict is the difference between the verdicts, in simulation and then on real servers: in the status of a property, or in
	// the assumption that was broken. It is empty if there is none.
	Verdict string
	// Operations is the first operation of a client with a different outcome, if there is one. Times are not compared.
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

// endsOf lists the outcomes of a client's operations: "acquire ok", "write A fail". Consecutive tries to acquire count as one,
// with the outcome of the last: how many there are depends on timing.
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
