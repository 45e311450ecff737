package main

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"lockstep/reports"
	"lockstep/scenarios/play"
)

// writeJUnit writes a report for CI servers. A run that is not as expected is a failure, one that proves nothing an error.
func writeJUnit(ctx context.Context, file string, findings []finding, start time.Time, took time.Duration) error {
	var cases []reports.Case
	for _, g := range findings {
		cases = append(cases, g.toCase())
	}
	return writeFile(ctx, file, func(w io.Writer) error { return reports.WriteJUnit(w, "lockstep", cases, start, took) })
}

// toCase converts a finding to a case of a report.
func (g finding) toCase() reports.Case {
	c := reports.Case{Suite: g.suite, Name: strings.TrimPrefix(g.run, g.suite+"/"), File: g.file, Line: g.line, Took: g.took(), Again: g.again}
	if g.o != nil {
		c.Seed = strconv.FormatUint(g.o.History.Meta.Seed, 10)
	}
	if g.status == exitExpected {
		return c
	}
	c.Status = reports.Failed
	if g.status >= exitUnknown {
		c.Status = reports.Errored
	}
	c.Kind, c.Message, c.Why = g.verdict(), g.head(), g.explanation()
	if len(g.reasons) > 0 {
		c.Message += ": " + oneLine(g.reasons[0])
	}
	if g.o != nil {
		c.Output = g.o.Timeline()
		if g.o.Report != nil {
			c.Output = g.o.Report.String()
		}
	}
	return c
}

// took is how long a run took on real servers, and 0 in simulation, where time is virtual.
func (g finding) took() time.Duration {
	if g.o == nil || g.o.History.Meta.On == play.OnSim || len(g.o.History.Events) == 0 {
		return 0
	}
	return g.o.History.Events[len(g.o.History.Events)-1].At
}
