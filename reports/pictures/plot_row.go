package pictures

import (
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports"
	"lockstep/sim/history"
)

// A PlotRow has the measurements of the runs of one lock, all in the same scenario.
type PlotRow struct {
	Lock    string
	Place   string // on how many nodes, if rows of the lock differ in that
	Variant string // how else the rows of one lock differ
	Runs    []PlotRun
}

// A PlotRun has the measurements of one run.
type PlotRun struct {
	Meta     history.Meta
	Samples  []checker.Sample
	Measured checker.Measurement
}

// NewPlotRun measures a quantity in a run.
func NewPlotRun(f *facts.Facts, q checker.Quantity) PlotRun {
	return PlotRun{f.Meta, checker.Samples(f, q), checker.Measure(f, q)[0]}
}

// Sizes of plots that have rows, in points.
const (
	plotGutter = vg.Length(214) // left of the rows, for their names
	plotTop    = headHeight + 34
	plotFoot   = vg.Length(112) // below the rows: ticks, the name of the axis, the foot
)

// name is the name of a row in a sentence.
func (r *PlotRow) name() string {
	name := reports.Printable(r.Lock, 32)
	if r.Place != "" {
		name += " " + reports.Printable(r.Place, 32)
	}
	if r.Variant != "" {
		name += " (" + reports.Printable(r.Variant, 32) + ")"
	}
	return name
}

// together reports whether two rows are of the same lock in the same place.
func (r *PlotRow) together(o *PlotRow) bool { return r.Lock == o.Lock && r.Place == o.Place }

// writeName writes the name of a row left of it: the lock, and more in a line below.
func (r *PlotRow) writeName(p pen, y vg.Length, more ...string) {
	const width = plotGutter - outer - 8
	more = slices.DeleteFunc(more, func(s string) bool { return s == "" })
	lock, name := nameFace, reports.Printable(r.Lock, 32)
	for lock.size > smallFace.size && lock.width(name) > width {
		lock.size--
	}
	if len(more) > 0 {
		p.write(outer, y+11, smallFace.fit(reports.Printable(strings.Join(more, ", "), 60), width), smallFace, grey)
		y -= 10
	}
	p.write(outer, y, lock.fit(name, width), lock, black)
}

// figure is one of the numbers that were measured in a run, or 0 if it was not measured.
func (r *PlotRun) figure(name string) float64 {
	for _, f := range r.Measured.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	return 0
}

// sum adds up one of the numbers that were measured.
func (r *PlotRow) sum(name string) float64 {
	sum := 0.0
	for i := range r.Runs {
		sum += r.Runs[i].figure(name)
	}
	return sum
}

// cells are the first cells of a row of the table: they identify the run.
func (r *PlotRow) cells(run *PlotRun) []string {
	return []string{run.Meta.Lock, r.Place, r.Variant, run.Meta.Scenario, strconv.FormatUint(run.Meta.Seed, 10)}
}

var runColumns = []string{"lock", "place", "variant", "scenario", "seed"}

// measured reports whether there is anything to show.
func measured(rows []PlotRow) bool {
	for _, r := range rows {
		for _, run := range r.Runs {
			if len(run.Measured.Figures) > 0 {
				return true
			}
		}
	}
	return false
}
