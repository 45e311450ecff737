package pictures

import (
	"fmt"

	"lockstep/checker"
	"lockstep/reports"
)

// A Matrix says what locks survive. Its rows are adversities, its columns locks.
type Matrix struct {
	Command string        `json:"command"` // makes it again
	On      string        `json:"on"`
	Seed    uint64        `json:"seed"`
	Seeds   int           `json:"seeds"` // the number of seeds, from Seed on
	Locks   []MatrixLock  `json:"locks"`
	Groups  []MatrixGroup `json:"groups"`
}

// A MatrixLock is the head of a column.
type MatrixLock struct {
	Name    string   `json:"name"`
	Module  string   `json:"module,omitempty"`
	Version string   `json:"version,omitempty"`
	Like    []string `json:"like,omitempty"` // the locks that it is compared with; none for a lock of the literature
	// The native runs of restless locks may have a different result when they are made again, so their findings are kept apart
	// from those of others.
	Restless bool `json:"nondeterministic,omitempty"`
}

// A MatrixGroup has the rows with one kind of adversity.
type MatrixGroup struct {
	Kind string      `json:"kind"`
	Rows []MatrixRow `json:"rows"`
}

// A MatrixRow is one adversity: a scenario, or one variant of it.
type MatrixRow struct {
	Scenario string       `json:"scenario"`
	Title    string       `json:"title"`
	Variant  string       `json:"variant,omitempty"` // what distinguishes it, in words
	Cells    []MatrixCell `json:"cells"`             // one for each lock
}

// A MatrixCell is the result of one lock in one row.
type MatrixCell struct {
	Lock      string               `json:"lock"`
	Run       string               `json:"run"`       // SCENARIO/RUN
	Reference string               `json:"reference"` // the lock that the catalogue runs there
	Verdict   checker.Verdict      `json:"verdict"`   // UNSAFE if it is with any seed
	Broken    []checker.Assumption `json:"broken"`    // the assumptions broken in its violations, with the seeds that have the verdict
	Unsafe    int                  `json:"unsafe"`    // the number of seeds with which it is UNSAFE
	Against   Comparison           `json:"against"`   // the comparison with its reference
	Why       string               `json:"why,omitempty"`
	Command   string               `json:"command"`                    // shows it
	Repeat    string               `json:"not_reproducible,omitempty"` // how a repetition with the same seed differed
	Guests    bool                 `json:"guests,omitempty"`           // the clients ran as WebAssembly
	// Inapplicable says why the run does not apply to the lock. Such a cell has no verdict, because nothing was run.
	Inapplicable string `json:"does_not_apply,omitempty"`
}

// A Comparison says how a lock does in a run of its reference.
type Comparison string

const (
	AsReference Comparison = "as its reference"
	// Worse is a lock that violates a property that its reference keeps, or that is itself at fault for a violation where its
	// reference is not.
	Worse Comparison = "worse"
	// Better is a lock that violates nothing where its reference violates something.
	Better Comparison = "better"
)

// Roles of parts of a matrix.
const (
	Heading  reports.Role = reports.Aside + 1 + iota
	Breaking              // UNSAFE, as its reference is
	Winning               // better than its reference
)

// MatrixOptions says how a matrix is shown.
type MatrixOptions struct {
	// Columns is the greatest width of a text, by default [reports.Width]. Locks for which there is no room are in a table below.
	Columns int
	// Paint colours a piece of text; nil leaves it plain.
	Paint func(reports.Role, string) string
}

// Marks of cells.
const (
	worseMark    = "▼"
	betterMark   = "▲"
	restlessMark = "~"
	guestsMark   = "*"

	notApplicable = "n/a"
)

// cell returns the result of a lock in a row, or nil if the row does not apply to it.
func (r MatrixRow) cell(lock string) *MatrixCell {
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Lock == lock && c.Inapplicable == "" {
			return c
		}
	}
	return nil
}

// inapplicable says why a row does not apply to a lock.
func (r MatrixRow) inapplicable(lock string) string {
	for _, c := range r.Cells {
		if c.Lock == lock {
			return c.Inapplicable
		}
	}
	return ""
}

// text is the text of a cell, without its mark.
func (c *MatrixCell) text(seeds int) string {
	s := string(c.Verdict)
	if c.Guests {
		s += guestsMark
	}
	if c.Verdict == checker.Unsafe {
		s += " "
		for _, a := range c.Broken {
			s += letterOf(a).letter
		}
		if seeds > 1 {
			s += fmt.Sprintf(" %d/%d", c.Unsafe, seeds)
		}
	}
	if c.Repeat != "" {
		s += " " + restlessMark
	}
	return s
}

func (c *MatrixCell) mark() string {
	switch c.Against {
	case Worse:
		return worseMark
	case Better:
		return betterMark
	}
	return " "
}

func (c *MatrixCell) role() reports.Role {
	switch {
	case c.Against == Worse:
		return reports.Violating
	case c.Verdict == checker.Unsafe:
		return Breaking
	case c.Verdict == checker.Inconclusive:
		return reports.Doubtful
	case c.Against == Better:
		return Winning
	}
	return reports.Holding
}

// A tally counts the cells of one kind for each lock.
type tally struct {
	name  string
	count map[string]int // by lock
}

func (m *Matrix) tallies() []tally {
	var all []tally
	for _, t := range []struct {
		name string
		is   func(*MatrixCell) bool
	}{
		{string(checker.Safe), func(c *MatrixCell) bool { return c.Verdict == checker.Safe }},
		{string(checker.Unsafe), func(c *MatrixCell) bool { return c.Verdict == checker.Unsafe }},
		{string(checker.Inconclusive), func(c *MatrixCell) bool { return c.Verdict == checker.Inconclusive }},
		{worseMark + " worse than its reference", func(c *MatrixCell) bool { return c.Against == Worse }},
		{betterMark + " better", func(c *MatrixCell) bool { return c.Against == Better }},
		{"does not apply", func(c *MatrixCell) bool { return c.Inapplicable != "" }},
	} {
		counted := tally{t.name, map[string]int{}}
		sum := 0
		for _, g := range m.Groups {
			for _, r := range g.Rows {
				for i := range r.Cells {
					if t.is(&r.Cells[i]) {
						counted.count[r.Cells[i].Lock]++
						sum++
					}
				}
			}
		}
		if sum > 0 {
			all = append(all, counted)
		}
	}
	return all
}
