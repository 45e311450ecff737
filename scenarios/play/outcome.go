package play

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/clients"
	"lockstep/nodes"
	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// An Outcome is the result of one run.
type Outcome struct {
	Scenario *script.Scenario
	Run      script.Section // resolved
	History  *history.History
	Facts    *facts.Facts // what the history shows
	Result   checker.Result
	// Measurements are the quantities that the page reports, in its order.
	Measurements []checker.Measurement
	Report       *workers.Report // why the run did not end; nil if it did

	// Repeat is how a repetition of the run with the same seed differed for its clients; empty if it did not, or if there was
	// none.
	Repeat string

	Differs string  // how the trace of a repetition differed, for a lock whose runs are reproducible; empty if it did not
	shares  bool    // whether the clients shared what processes do not share
	Sweep   *Sweep  // of a swept page, whose other fields are those of the run at the worst position; nil for other pages
	Promise Promise // what is claimed of the lock; see Broken
	NotRun  bool    // for the reason in Report
}

// Judge reads and checks the history of a resolved run. The scenario is nil if it is not known.
func Judge(s *script.Scenario, r script.Section, h *history.History) *Outcome {
	f := facts.Of(h)
	return &Outcome{
		Scenario: s, Run: r, History: h, Facts: f,
		Result:       checker.Check(f, r.Musts),
		Measurements: checker.Measure(f, r.Reports...),
	}
}

// Name is the name of the run: SCENARIO/LOCK, and /LABEL if there is one.
func (o *Outcome) Name() string { return o.Scenario.Name + "/" + o.Run.ID() }

// Inapplicable says why a run does not apply to the lock; empty if it does.
func (o *Outcome) Inapplicable() string {
	switch {
	case o.History == nil:
	case slices.ContainsFunc(o.History.Events, clients.CannotExtend):
		return "its leases cannot be extended"
	case slices.ContainsFunc(o.History.Events, clients.ExtendsByFixedTTL):
		return "its leases can be extended only by the TTL with which they were acquired"
	case o.elsewhere():
		return "its keys are not on the shard of the run, which has the slot of the name of the lock; to test it here, put the name in braces, as in app:{" + LockName + "}"
	}
	return ""
}

// elsewhere reports whether a lock set no key because all of its keys belong to other shards than the one that the run is about.
func (o *Outcome) elsewhere() bool {
	if o.History == nil {
		return false
	}
	sets := func(e history.Event) bool { return e.Kind == history.State && e.Op == history.Set }
	moved := func(e history.Event) bool { return e.Kind == history.Message && nodes.InOtherSlot(e.Value) }
	return slices.ContainsFunc(o.History.Events, moved) && !slices.ContainsFunc(o.History.Events, sets)
}

// Unexpected lists the properties whose status, or whose broken assumption, is not the one that the scenario expects, in
// words. For a swept page they are those of all positions together.
func (o *Outcome) Unexpected() []string {
	if o.Sweep != nil {
		return o.Sweep.unexpected(o.Run)
	}
	var diffs []string
	for _, s := range o.Result.Statuses {
		if want := o.expected(s.Property); s.Status != want {
			diffs = append(diffs, fmt.Sprintf("%s: expected %s, got %s", s.Property, want, s.Status))
		}
	}
	for _, e := range o.Run.Expect {
		if diff := o.otherAssumption(e); diff != "" {
			diffs = append(diffs, diff)
		}
	}
	return diffs
}

// expected returns the status that the page expects of a property with this seed; if the page says that it depends on chance, the
// actual one.
func (o *Outcome) expected(p checker.Property) checker.Status {
	if e := o.Run.Expectation(p); e.Share > 0 && o.Result.Status(p) == e.Status {
		return e.Status
	}
	return o.Run.Expected(p)
}

// otherAssumption describes the first violation that breaks another assumption than the expected one; empty if there is none. All
// violations of the property must break that assumption: a second cause is a second finding.
func (o *Outcome) otherAssumption(e script.Expectation) string {
	if e.Assumption == "" {
		return ""
	}
	number := 0
	for _, v := range o.Result.Violations {
		if v.Property != e.Property {
			continue
		}
		number++
		if v.Assumption == e.Assumption {
			continue
		}
		diff := fmt.Sprintf("%s: expected %s, got %s", e.Property, BrokenWords(e.Assumption), BrokenWords(v.Assumption))
		if number > 1 {
			diff += fmt.Sprintf(" in violation %d: %s", number, v.What)
		}
		return diff
	}
	return ""
}

// BrokenWords says which assumption was broken, or that none was.
func BrokenWords(a checker.Assumption) string {
	if a == checker.None {
		return "no broken assumption"
	}
	return fmt.Sprintf("broken assumption %q", a)
}

// ExpectedVerdict is the verdict that follows from the expected status of each property.
func (o *Outcome) ExpectedVerdict() checker.Verdict {
	verdict := checker.Safe
	for _, p := range checker.Properties() {
		switch o.expected(p) {
		case checker.Violated:
			return checker.Unsafe
		case checker.Unknown:
			verdict = checker.Inconclusive
		}
	}
	return verdict
}

// WorstFirst returns the result with the violations that break the claim before the others, because only the first violation of each
// property is explained.
func (o *Outcome) WorstFirst() checker.Result {
	r := o.Result
	if broken := o.Broken(); len(broken) > 0 && len(broken) < len(r.Violations) {
		breaks := func(v checker.Violation) bool {
			return slices.ContainsFunc(broken, func(c BrokenClaim) bool { return reflect.DeepEqual(c.Violation, v) })
		}
		r.Violations = slices.Clone(r.Violations)
		slices.SortStableFunc(r.Violations, func(a, b checker.Violation) int {
			switch {
			case breaks(a) && !breaks(b):
				return -1
			case breaks(b) && !breaks(a):
				return 1
			}
			return 0
		})
	}
	return r
}

// Timeline prints the run as in a scenario file.
func (o *Outcome) Timeline() string {
	var b strings.Builder
	if o.Sweep != nil {
		b.WriteString(o.Sweep.String())
	}
	reports.Text(&b, o.Facts, o.WorstFirst(), reports.TextOptions{Measurements: o.Measurements}) // writing to a strings.Builder cannot fail
	if o.Repeat != "" {
		fmt.Fprintf(&b, "not reproducible: with the same seed %s\n", o.Repeat)
	}
	return b.String()
}

// ToExplore returns what a page to explore the run shows of it: the run, and the story of its scenario.
func (o *Outcome) ToExplore() explorer.Run {
	r := explorer.Run{Facts: o.Facts, Result: o.WorstFirst(), Measurements: o.Measurements}
	if o.Scenario != nil {
		r.Title, r.Prose = o.Scenario.Title, o.Scenario.Prose
		var script strings.Builder
		for _, lane := range o.Run.Lanes {
			script.WriteString(lane.String())
		}
		r.Script = script.String()
	}
	return r
}

// SharedState is what [Outcome.WhyUnproved] returns if the clients of a run shared what processes do not share.
const SharedState = "shared state"

// Spared reports whether a run that proves nothing does so only because of what the lock did: the danger did not occur, or a fault had no effect.
func (o *Outcome) Spared() bool {
	why := o.WhyUnproved()
	return len(o.Promise.As) > 0 && (why == noEffect || why == noDanger)
}

// What [Outcome.WhyUnproved] returns if [Outcome.Spared] is true.
const (
	noEffect = "a fault without effect"
	noDanger = "the danger did not occur"
)

// WhyUnproved is why a run proves nothing, in a few words that many runs share.
func (o *Outcome) WhyUnproved() string {
	switch {
	case o.shares: // runs may differ because of that
		return SharedState
	case o.Differs != "":
		return "not reproducible"
	case o.History != nil && o.History.Meta.Cap != "":
		return "the run hit a cap"
	case len(o.Result.Refused) > 0:
		if o.History.Meta.On == OnReal {
			return "simulated only: " + strings.Join(o.Result.Refused, ", ")
		}
		return "not simulated: " + strings.Join(o.Result.Refused, ", ")
	case o.Result.OwnTime:
		return "package time"
	case len(o.Result.Idle) > 0:
		return noEffect
	}
	return noDanger
}

// Unproved says why a run proves nothing, in particular which faults had no effect; empty if it proves something.
func (o *Outcome) Unproved() []string {
	var missed, idle []string
	for _, e := range o.History.Events {
		switch {
		case e.Kind != history.Injected || e.ID == 0 || o.Facts.Bitten[e.ID]:
		case e.Op == history.Missed:
			missed = append(missed, fmt.Sprintf("`%s` was never injected", e.Value))
		default:
			idle = append(idle, fmt.Sprintf("`%s` had no effect", e.Value))
		}
	}
	reasons := append(missed, idle...)
	if len(reasons) < len(o.Result.Unmet) { // there are reasons other than faults
		return o.Result.Unmet
	}
	return reasons
}
