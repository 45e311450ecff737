package scenarios

import (
	"fmt"
	"strings"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/sim"
)

// An Outcome is what came of one run.
type Outcome struct {
	Scenario *Scenario
	Run      Run // resolved
	History  *sim.History
	Result   checker.Result
	Report   *sim.Report // why the run did not end by itself; nil if it did
}

// judge checks the history of a resolved run.
func judge(s *Scenario, r Run, h *sim.History) *Outcome {
	return &Outcome{Scenario: s, Run: r, History: h, Result: checker.Check(h, r.Musts)}
}

// Name is what the run is called: SCENARIO/LOCK, and /LABEL if there is one.
func (o *Outcome) Name() string { return o.Scenario.Name + "/" + o.Run.ID() }

// Unexpected lists the properties whose status is not the one that the scenario expects, in words.
func (o *Outcome) Unexpected() []string {
	var diffs []string
	for _, s := range o.Result.Statuses {
		if want := o.Run.Expected(s.Property); s.Status != want {
			diffs = append(diffs, fmt.Sprintf("%s: expected %s, got %s", s.Property, want, s.Status))
		}
	}
	return diffs
}

// ExpectedVerdict is the verdict that follows from what the scenario expects of each property.
func (o *Outcome) ExpectedVerdict() checker.Verdict {
	verdict := checker.Safe
	for _, p := range checker.Properties() {
		switch o.Run.Expected(p) {
		case checker.Violated:
			return checker.Unsafe
		case checker.Unknown:
			verdict = checker.Inconclusive
		}
	}
	return verdict
}

// Timeline is the run as text, as it stands in a scenario file.
func (o *Outcome) Timeline() string {
	var b strings.Builder
	reports.Text(&b, o.History, o.Result, reports.TextOptions{}) // a strings.Builder takes everything
	return b.String()
}
