package claims

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/sim/history"
)

// Evidence is one run, and what it must show about one property for the claim's kind to be right. A figure that is relevant to a
// judgement names a quantity instead.
type Evidence struct {
	Run        string // SCENARIO/LOCK, and /LABEL if there is one
	Property   checker.Property
	Status     checker.Status
	Assumption checker.Assumption // the assumption that each violation must break; empty if any is accepted
	Quantity   checker.Quantity
}

// parseEvidence parses a run and what it must show.
func parseEvidence(text string) (Evidence, error) {
	run, answer, _ := strings.Cut(text, " ")
	if n := strings.Count(run, "/"); n < 1 || n > 2 || answer == "" {
		return Evidence{}, fmt.Errorf("evidence must be SCENARIO/LOCK or SCENARIO/LOCK/LABEL, and what the run must show, such as clock-jump/redlock lease exclusion ok; cannot read %.60q", text)
	}
	e := Evidence{Run: run}
	if q := checker.Quantity(answer); slices.Contains(checker.Quantities(), q) {
		e.Quantity = q
		return e, nil
	}
	asked, assumption, named := strings.Cut(answer, ": ")
	at := strings.LastIndex(asked, " ")
	if at < 0 {
		return e, fmt.Errorf("a run must show PROPERTY ok, PROPERTY violated, PROPERTY violated: ASSUMPTION, or a QUANTITY; cannot read %.60q", answer)
	}
	e.Property, e.Status = checker.Property(asked[:at]), checker.Status(asked[at+1:])
	if e.Status != checker.OK && e.Status != checker.Violated {
		return e, fmt.Errorf("a run must show PROPERTY ok, PROPERTY violated, PROPERTY violated: ASSUMPTION, or a QUANTITY; cannot read %.60q", answer)
	}
	if !slices.Contains(checker.Properties(), e.Property) {
		return e, history.Unknown("property", string(e.Property), checker.Properties())
	}
	if !named {
		return e, nil
	}
	if e.Status != checker.Violated {
		return e, fmt.Errorf("only a violation has a broken assumption: it must be %s %s", e.Property, e.Status)
	}
	if e.Assumption = checker.Assumption(assumption); !slices.Contains(checker.Assumptions(), e.Assumption) {
		return e, history.Unknown("assumption", assumption, checker.Assumptions())
	}
	return e, nil
}

// Contradiction returns an error that says why a run does not show what the evidence says, or nil if it does.
func (e Evidence) Contradiction(r checker.Result, measured []checker.Measurement) error {
	switch {
	case r.Verdict == checker.Inconclusive:
		return fmt.Errorf("the run proves nothing: %s", strings.Join(r.Unmet, "; "))
	case e.Quantity != "":
		if !slices.ContainsFunc(measured, func(m checker.Measurement) bool { return m.Quantity == e.Quantity }) {
			return fmt.Errorf("the text shows %s, but the run does not report it", e.Quantity)
		}
		return nil
	}
	if got := r.Status(e.Property); got != e.Status {
		return fmt.Errorf("the text says %s is %s, but in the run it is %s", e.Property, e.Status, got)
	}
	for _, v := range r.Violations {
		if v.Property == e.Property && e.Assumption != "" && v.Assumption != e.Assumption {
			return fmt.Errorf("the text says %s depends on %q, but in the run the broken assumption is %q: %s", e.Property, e.Assumption, v.Assumption, v.What)
		}
	}
	return nil
}
