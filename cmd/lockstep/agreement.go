package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/nodes/live"
	"lockstep/reports"
	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// onBoth is the value of --on with which matrix compares simulation with real servers.
const onBoth = "both"

// mostRepeats is how often a run may be repeated on real servers.
const mostRepeats = 100

// agreementFlags are the options of matrix --on both.
type agreementFlags struct {
	repeat         int
	json, markdown bool
}

// agreement makes each run once in simulation and several times on real servers, and prints how far they agree. After an interruption
// it prints the results so far.
func (f *runFlags) agreement(c *cobra.Command, args []string, o agreementFlags) error {
	if o.repeat < 1 || o.repeat > mostRepeats {
		return fmt.Errorf("--repeat %d: it must be between 1 and %d", o.repeat, mostRepeats)
	}
	if f.tries > 1 {
		return errors.New("--tries would hide what --on both measures: how often a run agrees")
	}
	sim, real := *f, *f
	sim.on, sim.speed, real.on = play.OnSim, 0, play.OnReal
	if err := real.check(); err != nil {
		return err
	}
	chosen, err := sim.choose(c, args)
	if err != nil {
		return err
	}
	real.files = sim.files
	chosen, left := both(chosen, f.speed)
	if len(chosen) == 0 {
		return fmt.Errorf("none of the runs can be made on real servers: %s", left[0].Why)
	}
	simulated, err := sim.runAll(c, sim.cases(chosen, f.seed))
	if err != nil {
		return err
	}
	var cases []play.Case
	for range o.repeat { // repetitions of a run are spread out, so that a disturbance of the machine affects all runs a little
		cases = append(cases, real.cases(chosen, f.seed)...)
	}
	outcomes, interrupted := real.runAll(c, cases)
	a := &pictures.Agreements{Command: f.agreementCommand(args, o), Repetitions: o.repeat, SimOnly: left}
	for i, s := range simulated {
		row := newAgreementRow(s, f.speed)
		row.Command = real.again(s)
		for n := range o.repeat {
			if r := outcomes[n*len(simulated)+i]; r != nil {
				compare(&row, s, r)
			}
		}
		a.Rows = append(a.Rows, row)
	}
	if err := printAgreements(c.OutOrStdout(), a, o); err != nil {
		return err
	}
	if interrupted != nil {
		return interrupted
	}
	return agreementStatus(a)
}

// both leaves out the runs that exist in simulation only.
func both(chosen []selection, speed float64) (kept []selection, left []pictures.SimOnly) {
	for _, s := range chosen {
		var runs []script.Section
		for _, r := range s.runs {
			err := play.CheckRedis(s.scenario, r, speed)
			if err == nil {
				runs = append(runs, r)
				continue
			}
			why := strings.TrimPrefix(err.Error(), s.scenario.Name+"/"+r.ID()+": ")
			left = append(left, pictures.SimOnly{
				Scenario: reports.Visible(s.scenario.Name), Run: r.ID(), Why: reports.Visible(strings.TrimPrefix(why, live.ErrSimOnly.Error()+": ")),
			})
		}
		if s.runs = runs; len(runs) > 0 {
			kept = append(kept, s)
		}
	}
	return kept, left
}

func newAgreementRow(o *play.Outcome, speed float64) pictures.AgreementRow {
	row := pictures.AgreementRow{
		Scenario: reports.Visible(o.Scenario.Name), Run: o.Run.ID(), Speed: o.Scenario.SpeedOf(o.Run, speed), Simulated: o.Result.Verdict,
		Broken: []checker.Assumption{},
	}
	for _, a := range checker.Assumptions() {
		if slices.ContainsFunc(o.Result.Violations, func(v checker.Violation) bool { return v.Assumption == a }) {
			row.Broken = append(row.Broken, a)
		}
	}
	return row
}

// compare counts one repetition on real servers.
func compare(row *pictures.AgreementRow, simulated, real *play.Outcome) {
	a := simulated.Agreement(real)
	row.Done++
	why := a.Verdict
	switch {
	case !a.Proved:
		row.Unproved++
		why = "nothing is proved: " + strings.Join(real.Unproved(), "; ")
		if real.Report != nil {
			why = real.Report.Reason
		}
	case a.Verdict == "":
		row.Agree++
	}
	if row.Why == "" {
		row.Why = why
	}
	if a.Operations == "" {
		row.Alike++
	} else if row.Operation == "" {
		row.Operation = a.Operations
	}
}

// agreementCommand is the command that prints the table again.
func (f *runFlags) agreementCommand(args []string, o agreementFlags) string {
	return fmt.Sprintf("%s --repeat %d", f.matrixCommand(args, 1), o.repeat)
}

func printAgreements(w io.Writer, a *pictures.Agreements, o agreementFlags) error {
	switch {
	case o.json:
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(a)
	case o.markdown:
		return a.WriteMarkdown(w)
	}
	return a.WriteText(w, pictures.MatrixOptions{Columns: columns(w), Paint: roles(w)})
}

// agreementStatus is 1 if a run was judged differently on real servers. If one proved nothing, it is 2, which outranks 1.
func agreementStatus(a *pictures.Agreements) error {
	var all []status
	for _, r := range a.Rows {
		switch {
		case r.Unproved > 0:
			all = append(all, exitUnknown)
		case r.Agree < r.Done:
			all = append(all, exitUnexpected)
		}
	}
	return worst(all)
}
