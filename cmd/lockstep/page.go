package main

import (
	"errors"
	"strings"

	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
)

// onlyHTML returns an error if two runs should be drawn in anything but an HTML page.
func onlyHTML(others ...string) error {
	for _, file := range others {
		if file != "" {
			return errors.New("--svg and --png draw one run; only --html shows two")
		}
	}
	return nil
}

// pageRuns returns what an HTML page shows of some outcomes: the runs, and the stories of their scenarios.
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
