package play

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A Sweep counts the runs of a swept page by result: one run for each position, which is a moment at which a perturbation is
// possible, with a magnitude. The [Outcome] that has it is that of the worst position.
type Sweep struct {
	Kinds     []script.Kind `json:"kinds"`
	Positions int           `json:"positions"`
	Possible  int           `json:"possible"` // how many positions there are; if the runs are long, not all are played

	Kept     int `json:"kept"`     // no property was violated
	Violated int `json:"violated"` // a property was violated, or the run did not end
	Idle     int `json:"idle"`     // no property was violated, but the perturbation had no effect
	Unproved int `json:"unproved"` // the run proves nothing for another reason

	// ReadClocks says at how many positions a clock of a client was wrong and the lock read it.
	ReadClocks int `json:"-"`

	Found []Failing `json:"found,omitempty"` // what was violated at some position, and why; each once
	// Page is a scenario with only the run at the worst position.
	Page *script.Scenario `json:"-"`
	// Reduced are the lanes of the run that is shown, if that is a smaller one than the run at the worst position, and violates the
	// same. Runs that break what is claimed of a lock are reduced.
	Reduced string `json:"reduced,omitempty"`
	Worst   string `json:"worst,omitempty"` // the perturbation at the worst position; empty if the run that is shown is the calm one
	// Also says what else breaks a claim at other positions, and at which; each once.
	Also []string `json:"also,omitempty"`
}

// SweptInPart reports whether the outcome is that of a sweep with so many positions that not all were played.
func (o *Outcome) SweptInPart() bool { return o.Sweep != nil && o.Sweep.Possible > o.Sweep.Positions }

// String sums the sweep up in two lines, and has the lanes of the run that is shown if that is a reduced one.
func (s *Sweep) String() string {
	if s.Positions == 0 && s.Worst == "" {
		return "the run without a fault decides, so no position was played (" + history.List(script.WordsOf(s.Kinds)) + "):\n"
	}
	text := fmt.Sprintf("%d positions", s.Positions)
	if s.Positions == 1 {
		text = "1 position"
	}
	if s.Possible > s.Positions {
		text = fmt.Sprintf("%d of %d positions", s.Positions, s.Possible)
	}
	text += " (" + history.List(script.WordsOf(s.Kinds)) + ")"
	var counts []string
	for _, c := range []struct {
		n    int
		what string
	}{{s.Violated, "violate a property"}, {s.Kept, "violate none"}, {s.Idle, "without effect"}, {s.Unproved, "prove nothing"}} {
		if c.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(counts) > 0 {
		text += ": " + strings.Join(counts, ", ")
	}
	if s.Worst == "" {
		return text + "\nthe calm run:\n"
	}
	text += "\nthe worst: " + s.Worst + "\n"
	for _, also := range s.Also {
		text += "also: " + also + "\n"
	}
	if s.Reduced != "" {
		text += "reduced to\n"
		for line := range strings.Lines(s.Reduced + "\n") {
			if line != "\n" {
				text += "  " // otherwise a timeline in a scenario file would seem to contain lanes
			}
			text += line
		}
	}
	return text
}

// unexpected compares what the sweep found with what the page expects, in words.
func (s *Sweep) unexpected(r script.Section) []string {
	var diffs []string
	for _, f := range s.Found {
		switch e := r.Expectation(f.Property); {
		case e.Status != checker.Violated:
			diffs = append(diffs, fmt.Sprintf("%s: expected %s, got violated (%s)", f.Property, e.Status, BrokenWords(f.Assumption)))
		case e.Assumption != "" && e.Assumption != f.Assumption:
			diffs = append(diffs, fmt.Sprintf("%s: expected %s, got %s", f.Property, BrokenWords(e.Assumption), BrokenWords(f.Assumption)))
		}
	}
	for _, e := range r.Expect {
		if e.Status == checker.Violated && e.Share == 0 && !slices.ContainsFunc(s.Found, func(f Failing) bool { return f.Property == e.Property }) {
			diffs = append(diffs, fmt.Sprintf("%s: expected violated at some position, got ok at all of them", e.Property))
		}
	}
	return diffs
}
