package main

import (
	"errors"
	"strings"

	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
)

// onlyHTML says so if something else than a page is to show two runs.
func onlyHTML(others ...string) error {
	for _, file := range others {
		if file != "" {
			return errors.New("--svg and --png draw one run; only --html shows two")
		}
	}
	return nil
}

// pageRuns returns what a page shows of some outcomes: the runs, and what their scenarios say of themselves.
func pageRuns(outcomes []*play.Outcome) []pictures.PageRun {
	var runs []pictures.PageRun
	for _, o := range outcomes {
		r := pictures.PageRun{History: o.History, Result: o.Result, Measurements: o.Measurements}
		if o.Scenario != nil {
			r.Title, r.Prose = o.Scenario.Title, o.Scenario.Prose
			var script strings.Builder
			for _, lane := range o.Run.Lanes {
				script.WriteString(lane.String())
			}
			r.Script = script.String()
		}
		runs = append(runs, r)
	}
	return runs
}
