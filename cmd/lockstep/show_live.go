package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/reports/playground"
	"lockstep/scenarios/play"
	"lockstep/scenarios/reader"
)

// playgroundOf returns what writes a page on which readers change runs and play them again. The page contains the program.
func playgroundOf(c *cobra.Command, outcomes []*play.Outcome) (func(io.Writer) error, error) {
	var start []string
	for _, o := range outcomes {
		if o.Scenario == nil {
			return nil, errors.New("it needs a scenario, because a recorded history cannot be played again")
		}
		link, err := reader.Link(o.Scenario, o.Run, o.History.Meta.Seed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Name(), err)
		}
		start = append(start, link)
	}
	p, err := compileProgram(c.Context(), c.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	engine, err := p.Engine()
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error {
		return p.Write(w, playground.Page{Start: strings.Join(start, ","), Runs: pageRuns(outcomes), Engine: engine})
	}, nil
}
