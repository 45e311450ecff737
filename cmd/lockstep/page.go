package main

import (
	"errors"

	"lockstep/reports/explorer"
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

// pageRuns returns what an HTML page shows of some outcomes: the runs, their pictures, and the stories of their scenarios.
func pageRuns(outcomes []*play.Outcome) []explorer.Run {
	var runs []explorer.Run
	for _, o := range outcomes {
		r := o.ToExplore()
		r.Picture = pictures.NewTimeline(o.Facts, o.Result).Inline()
		runs = append(runs, r)
	}
	return runs
}
