package explorer

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports"
	"lockstep/sim/history"
)

// A Heading says in two lines which run a picture shows, what the verdict is, and why.
type Heading struct {
	Run     string // scenario and lock
	Verdict checker.Verdict
	Outcome string // the verdict in words
	Reason  string
}

func NewHeading(f *facts.Facts, r checker.Result) Heading {
	run := reports.Printable(f.Meta.Scenario, 48) + " · " + reports.Printable(f.Meta.Lock, 32)
	if f.Meta.For != "" {
		run += " for " + reports.Printable(f.Meta.For, 32)
	}
	if f.Meta.Label != "" {
		run += " " + reports.Printable(f.Meta.Label, 24)
	}
	head := Heading{Run: run, Verdict: r.Verdict, Outcome: string(r.Verdict)}
	switch {
	case r.Verdict == checker.Unsafe && len(r.Violations) > 0:
		head.Outcome += ": " + violated(r)
		head.Reason = r.Violations[0].What
		if r.Violations[0].Property == checker.NoLostUpdate {
			head.Reason, _, _ = strings.Cut(head.Reason, ";") // only how much was lost; the picture shows the example
		}
	case r.Verdict == checker.Safe:
		head.Reason = whySafe(f)
	case len(r.Unmet) > 0:
		head.Reason = "the run proves nothing: " + strings.Join(r.Unmet, "; ")
	}
	head.Reason = reports.Printable(head.Reason, 160)
	return head
}

// Headline says in a line which run a history is of, and what the verdict is.
func Headline(f *facts.Facts, r checker.Result) string {
	head := NewHeading(f, r)
	return head.Run + " — " + head.Outcome
}

// violated says which properties were violated, and names the assumptions that the run broke.
func violated(r checker.Result) string {
	var properties, assumptions []string
	for _, v := range r.Violations {
		if !slices.Contains(properties, string(v.Property)) {
			properties = append(properties, string(v.Property))
		}
		if b := reports.Broken(v.Assumption); !slices.Contains(assumptions, b) {
			assumptions = append(assumptions, b)
		}
	}
	return fmt.Sprintf("%s violated (%s)", strings.Join(properties, ", "), strings.Join(assumptions, ", "))
}

// whySafe names what is most worth seeing in a run in which nothing went wrong. It judges nothing.
func whySafe(f *facts.Facts) string {
	for i := range f.Events {
		e := &f.Events[i]
		if e.Kind != history.State || e.Op != history.Reject {
			continue
		}
		s := fmt.Sprintf("write %s of %s rejected", e.Value, e.By)
		if e.Fence == 0 && e.Error != "" {
			s += ": " + reports.FirstLine(e.Error)
		}
		if seen := reports.FenceSeen(f.History, i); e.Fence != 0 && seen > 0 {
			s += fmt.Sprintf(": token %d is lower than %d", e.Fence, seen)
		}
		return s
	}
	leases, increments := 0, 0
	for i := range f.Events {
		switch e := &f.Events[i]; {
		case e.Kind != history.OK || e.Process == f.Meta.Probe:
		case e.Op == history.Acquire:
			leases++
		case e.Op == history.Increment:
			increments++
		}
	}
	refusals, refusal := 0, ""
	for _, d := range reports.Deeds(f) {
		switch {
		case d.Op != history.Acquire || d.Process == f.Meta.Probe:
		case d.Refused():
			refusals += d.Times
			refusal = fmt.Sprintf("%s refused: %s", d.Process, reports.FirstLine(d.Err))
		}
	}
	granted := reports.Count(leases, "lease") + " granted"
	switch {
	case refusals == 1:
		return granted + "; " + refusal
	case refusals > 1:
		return fmt.Sprintf("%s, %s refused", granted, reports.Count(refusals, "request"))
	case leases == 0 && increments > 0:
		return reports.Count(increments, "increment") + ", none lost" // without a lock
	case leases > 1:
		return granted + ", one after the other"
	}
	return granted
}
