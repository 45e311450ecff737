package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/reports"
	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// kindOf is the group of a scenario.
func (f *runFlags) kindOf(s *script.Scenario) string {
	for _, a := range adversities {
		if !f.files[s] && slices.Contains(a.scenarios, s.Name) {
			return a.kind
		}
	}
	return elsewhere
}

// An entry has the outcomes of one run of a matrix with all seeds.
type entry []*play.Outcome

func (e entry) run() script.Section { return e[0].Run }

// variants are the ways to name the rows of a scenario, such that no lock has two cells in one row: by the label; by the number of nodes
// as well, for a lock that has runs on one node and on several; or by the lock whose run it is.
var variants = []func(script.Section) string{
	func(r script.Section) string { return strings.ReplaceAll(r.Label, "-", " ") },
	func(r script.Section) string {
		nodes := "on one node"
		if r.Nodes > 1 {
			nodes = fmt.Sprintf("on %d nodes", r.Nodes)
		}
		return joined(strings.ReplaceAll(r.Label, "-", " "), nodes)
	},
	func(r script.Section) string {
		return joined(strings.ReplaceAll(r.Label, "-", " "), "in place of "+r.Reference())
	},
}

func joined(label, more string) string {
	if label == "" {
		return more
	}
	return label + ", " + more
}

// rows sorts the runs of one scenario that have the same label into rows, and adds these to their group.
func (f *runFlags) rows(m *pictures.Matrix, entries []entry) {
	first := entries[0][0]
	name := variants[len(variants)-1]
	for _, variant := range variants {
		seen := map[[2]string]bool{}
		twice := slices.ContainsFunc(entries, func(e entry) bool {
			at := [2]string{variant(e.run()), e.run().Lock}
			defer func() { seen[at] = true }()
			return seen[at]
		})
		if !twice {
			name = variant
			break
		}
	}
	kind := f.kindOf(first.Scenario)
	g := slices.IndexFunc(m.Groups, func(g pictures.MatrixGroup) bool { return g.Kind == kind })
	if g < 0 {
		g = len(m.Groups)
		m.Groups = append(m.Groups, pictures.MatrixGroup{Kind: kind})
	}
	group := &m.Groups[g]
	start := len(group.Rows)
	for _, e := range entries {
		variant := name(e.run())
		r := slices.IndexFunc(group.Rows[start:], func(r pictures.MatrixRow) bool { return r.Variant == variant })
		if r < 0 {
			r = len(group.Rows) - start
			group.Rows = append(group.Rows, pictures.MatrixRow{Scenario: reports.Visible(first.Scenario.Name), Title: first.Scenario.Title, Variant: variant})
		}
		row := &group.Rows[start+r]
		row.Cells = append(row.Cells, f.cell(e))
	}
	for i := range group.Rows[start:] {
		row := &group.Rows[start+i]
		e := entries[slices.IndexFunc(entries, func(e entry) bool { return name(e.run()) == row.Variant })]
		for _, lock := range f.locks {
			if !slices.ContainsFunc(row.Cells, func(c pictures.MatrixCell) bool { return c.Lock == lock }) {
				row.Cells = append(row.Cells, pictures.MatrixCell{Lock: lock, Inapplicable: f.known.notFor(lock, e.run())})
			}
		}
	}
}

// notFor says why a run that names another lock does not apply to a lock.
func (k known) notFor(lock string, r script.Section) string {
	several := func(name string) bool { return k.nodes(name) > 1 }
	of := r.Reference()
	switch {
	case several(of) && !several(lock):
		return "the lock uses one node, and the run needs several"
	case !several(of) && several(lock) && !slices.ContainsFunc(k.like(lock), func(name string) bool { return !several(name) }):
		return "the lock needs several nodes, and the run has one"
	}
	i := slices.IndexFunc(k.locks, func(l clients.Lock) bool { return l.Name == of })
	if i < 0 {
		return "the run is only for " + of
	}
	return fmt.Sprintf("the run is only for locks like %s (%s)", of, k.locks[i].About)
}

// cell sums up one run with all seeds. Its command and its reason are those of the first seed that shows what the cell says: that the
// lock is worse, if it is, and the verdict.
func (f *runFlags) cell(e entry) pictures.MatrixCell {
	o := e[0]
	reference := f.reference(o)
	c := pictures.MatrixCell{
		Lock: o.Run.Lock, Run: reports.Visible(o.Name()), Reference: reference.Reference(), Verdict: checker.Safe, Broken: []checker.Assumption{}, Against: pictures.AsReference,
	}
	shown, rank := o, -1
	for _, o := range e {
		if o.Repeat != "" && c.Repeat == "" {
			c.Repeat = fmt.Sprintf("with the same seed %s", o.Repeat)
		}
		r := 0
		switch o.Result.Verdict {
		case checker.Unsafe:
			c.Verdict, r = checker.Unsafe, 2
			c.Unsafe++
		case checker.Inconclusive:
			r = 1
			if c.Verdict == checker.Safe {
				c.Verdict = checker.Inconclusive
			}
		}
		if len(worseThan(reference, o)) > 0 {
			c.Against = pictures.Worse
			r += 3
		}
		if r > rank {
			shown, rank = o, r
		}
	}
	for _, a := range checker.Assumptions() {
		if slices.ContainsFunc(e, func(o *play.Outcome) bool {
			return (o.Result.Verdict == c.Verdict || o == shown) && slices.ContainsFunc(o.Result.Violations, func(v checker.Violation) bool { return v.Assumption == a })
		}) {
			c.Broken = append(c.Broken, a)
		}
	}
	if expected := (&play.Outcome{Run: reference}).ExpectedVerdict(); c.Verdict == checker.Safe && expected == checker.Unsafe {
		c.Against = pictures.Better
	}
	if c.Inapplicable = o.Inapplicable(); c.Inapplicable != "" {
		return pictures.MatrixCell{Lock: c.Lock, Run: c.Run, Reference: c.Reference, Inapplicable: "the lock cannot do what the run asks for: " + c.Inapplicable}
	}
	switch worse := worseThan(reference, shown); {
	case len(worse) > 0:
		c.Why = inWords(worse)
	case shown.Result.Verdict == checker.Inconclusive:
		c.Why = strings.Join(shown.Result.Unmet, "; ")
	}
	c.Command, c.Guests = f.again(shown), shown.Run.Guests
	return c
}

// reference is the run that a lock is compared with: the run in which it replaces another lock. If a scenario itself has a run of a
// library, it is the same run of the first lock that the library is like.
func (f *runFlags) reference(o *play.Outcome) script.Section {
	l, ok := f.known.library(o.Run.Lock)
	if !ok || o.Run.Lock != o.Run.Reference() {
		return o.Run
	}
	own, err := o.Scenario.FindRun(o.Run.ID())
	if err != nil {
		return o.Run
	}
	for _, like := range l.Like {
		for _, r := range o.Scenario.Runs {
			if r.Lock == like && o.Scenario.Resolve(r).SameButForLock(o.Scenario.Resolve(own)) {
				return r
			}
		}
	}
	return o.Run
}

// worseThan lists the violations that refute the claim that a lock is as good as its reference, the first of each property: those of
// properties that the reference is expected to keep, and those that are the lock's own fault where the reference violates the property
// only if an assumption is broken.
func worseThan(reference script.Section, o *play.Outcome) []checker.Violation {
	var worse []checker.Violation
	claimed := play.Outcome{Scenario: o.Scenario, Run: reference, Result: o.Result}
	for _, b := range claimed.Broken() {
		if !slices.ContainsFunc(worse, func(v checker.Violation) bool { return v.Property == b.Property }) {
			worse = append(worse, b.Violation)
		}
	}
	return worse
}

// inWords names the violated properties, and describes the first violation.
func inWords(violations []checker.Violation) string {
	first := violations[0]
	why := string(first.Assumption) + " broken"
	if first.Assumption == checker.None {
		why = "its own fault"
	}
	s := fmt.Sprintf("%s violated, %s: %s", first.Property, why, first.What)
	for i, v := range violations[1:] {
		if i == 0 {
			s += "; so was "
		} else {
			s += ", "
		}
		s += string(v.Property)
	}
	return s
}

// sortMatrix sorts groups and rows in the order of the adversities. Rows of one scenario keep the order of its file, except that the one
// without a variant comes first.
func sortMatrix(m *pictures.Matrix) {
	place := func(kind string) int {
		i := slices.IndexFunc(adversities, func(a adversity) bool { return a.kind == kind })
		if i < 0 {
			return len(adversities)
		}
		return i
	}
	slices.SortStableFunc(m.Groups, func(a, b pictures.MatrixGroup) int { return cmp.Compare(place(a.Kind), place(b.Kind)) })
	for _, g := range m.Groups {
		var order []string
		if i := place(g.Kind); i < len(adversities) {
			order = adversities[i].scenarios
		} else {
			for _, r := range g.Rows {
				order = append(order, r.Scenario)
			}
		}
		slices.SortStableFunc(g.Rows, func(a, b pictures.MatrixRow) int {
			return cmp.Or(
				cmp.Compare(slices.Index(order, a.Scenario), slices.Index(order, b.Scenario)),
				cmp.Compare(min(len(a.Variant), 1), min(len(b.Variant), 1)),
			)
		})
	}
}
