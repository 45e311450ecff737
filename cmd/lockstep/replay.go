package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

func newReplay(k known) *cobra.Command {
	f := &runFlags{known: k}
	var lock, save string
	c := &cobra.Command{
		Use:   "replay FILE[/RUN] | TOKEN",
		Short: "Repeat a run, and say whether it is the same run",
		Long: `Replay repeats what lockstep explore has found, from the file or from the token that it printed, and
says whether it is the same run, to the byte. If it is not, the lock or Lockstep has changed since.
Then replay says whether the violation still occurs, or which fault is no longer injected or no
longer has an effect. (lockstep run FILE compares only the verdict.)

A token is a whole run in one word: the lock, the servers, the seed, and all steps.

Exit status: 0 the same run, or, with another lock or on real Redis, the same violation; 1 a
different run, or no violation; 2 it no longer applies: a fault had no effect, or the run did not
end; 3 it could not be run.`,
		Example: `  lockstep replay found/found-redlock-lease-exclusion-durable-nodes-1f0a3c.txtar
  lockstep replay lk1.dI9BCsIwEEX3PcVnLhBtl... -v
  lockstep replay found-single-lease-exclusion-durable-nodes-aa41f0.txtar --lock fenced
  lockstep replay found-redlock-resource-exclusion-bounded-pause-ff4c61.txtar --on redis --speed 20
  lockstep replay lk1.dI9BCsIwEEX3PcVnLhBtl... --save pause.txtar`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("replay takes one FILE, FILE/RUN or TOKEN, but got %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := checkRoom(args, f.out, target{"save", save}); err != nil {
				return err
			}
			chosen, err := f.toReplay(c.Context(), args[0], lock)
			if err != nil {
				return err
			}
			if err := makeOut(f.out); err != nil {
				return err
			}
			outcomes, err := f.runAll(c, f.cases([]selection{chosen}, 0))
			if err != nil {
				return err
			}
			return f.replay(c, outcomes[0], save)
		},
	}
	f.onServers(c)
	c.Flags().StringVar(&lock, "lock", "", "use the lock or library `NAME` instead of the one that the scenario names")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "also print the story, the lines that are otherwise folded into one, waits, and when faults first had an effect")
	c.Flags().Var((*fileValue)(&f.out), "out", "write the timeline (text, SVG, PNG, HTML) and the history to `DIR`")
	c.Flags().Var((*fileValue)(&save), "save", "write the run as a scenario to `FILE`, which must not exist")
	return c
}

// toReplay finds the one run that an argument names.
func (f *runFlags) toReplay(ctx context.Context, arg, lock string) (selection, error) {
	var s selection
	if script.IsToken(arg) {
		page, err := script.FromToken(arg)
		if err != nil {
			return s, err
		}
		s = selection{scenario: page, runs: page.Runs, one: true}
	} else {
		var err error
		s, err = f.known.open(ctx, arg)
		if _, unknown := errors.AsType[*script.NotFound](err); unknown {
			return s, fmt.Errorf("%w; replay also takes FILE, FILE/RUN or a token (lk1.…)", err)
		} else if err != nil {
			return s, err
		}
	}
	if len(s.runs) != 1 {
		return s, fmt.Errorf("%s has %d runs; name one, as in %s/%s", arg, len(s.runs), arg, s.runs[0].ID())
	}
	s.one = true
	if lock != "" {
		if err := f.known.check(lock); err != nil {
			return s, err
		}
		r, err := f.known.put(lock, s.scenario, s.runs[0])
		if err != nil {
			return s, err
		}
		s.runs = []script.Section{r}
	}
	if err := f.known.check(s.runs[0].Lock); err != nil {
		return s, err
	}
	if f.on == play.OnReal {
		return s, f.refuse(s.scenario, s.runs[0])
	}
	return s, nil
}

// replay prints a repeated run, and writes the files that are asked for.
func (f *runFlags) replay(c *cobra.Command, o *play.Outcome, save string) error {
	w := c.OutOrStdout()
	var kept error // why a file could not be written; the run is printed all the same
	if f.out != "" {
		kept = writeArtifacts(c.Context(), f.out, o, true)
	}
	if o.Report != nil {
		fmt.Fprintln(w, reports.VisibleLines(o.Report.String()))
		return cmp.Or[error](kept, status(exitUnknown))
	}
	if f.verbose {
		printStory(w, o)
		err := reports.Text(w, o.Facts, o.WorstFirst(), reports.TextOptions{Verbose: true, Paint: roles(w), Measurements: o.Measurements})
		if err != nil {
			return err
		}
		fmt.Fprintln(w)
	} else {
		printTimeline(w, o)
	}
	if save != "" {
		kept = cmp.Or(savePage(c.Context(), save, o), kept)
	}
	text, code := f.compare(o)
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(w, wrap(reports.Visible(line), reports.Width))
	}
	if kept == nil && code != exitExpected {
		return status(code)
	}
	return kept
}

// savePage writes the scenario of a run, with its new timeline.
func savePage(ctx context.Context, file string, o *play.Outcome) error {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--save %s: this file already exists", file)
	}
	page := *o.Scenario
	for _, r := range o.Scenario.Runs {
		if r.ID() == o.Run.ID() {
			if o.History.Meta.On == play.OnSim && o.Run.Lock == r.Lock {
				r.Renew(o.Timeline(), o.History.Meta.Checksum)
			}
			page.Runs = []script.Section{r}
		}
	}
	return writeFile(ctx, file, func(w io.Writer) error {
		_, err := io.WriteString(w, page.String())
		return err
	})
}

// compare says how a run differs from the saved one, and returns the exit status.
func (f *runFlags) compare(o *play.Outcome) (text string, code status) {
	if len(o.Result.Unmet) > 0 && o.ExpectedVerdict() != checker.Inconclusive {
		return "it no longer applies:\n" + strings.Join(o.Unproved(), "\n"), exitUnknown
	}
	sum := o.History.Meta.Checksum
	saved := f.isSaved(o) && o.Run.Checksum != ""
	expected := len(o.Unexpected()) == 0
	switch {
	case saved && sum == o.Run.Checksum && expected:
		return "the same run, to the byte: checksum " + sum, exitExpected
	case saved && sum == o.Run.Checksum:
		return "the same run, to the byte, but it is judged differently: " + strings.Join(o.Unexpected(), "; "), exitUnexpected
	case saved && expected:
		return fmt.Sprintf("a different run: %s\nits result is the same: %s", traceChanged(o), cameTo(o)), exitUnexpected
	case expected:
		return fmt.Sprintf("as expected: %s", cameTo(o)), exitExpected
	}
	text = strings.Join(o.Unexpected(), "\n")
	if gone := gone(o); len(gone) > 0 {
		text = "the violation is gone: " + strings.Join(gone, ", ")
	}
	if saved {
		text += "\n" + traceChanged(o)
	}
	return text, exitUnexpected
}

// traceChanged says that the trace differs from the saved one.
func traceChanged(o *play.Outcome) string {
	return fmt.Sprintf("the lock or Lockstep has changed since it was saved; the checksum is %s, and was %s", o.History.Meta.Checksum, o.Run.Checksum)
}

// cameTo names the violated properties, and the broken assumptions.
func cameTo(o *play.Outcome) string {
	var all []string
	for _, v := range o.Result.Violations {
		if text := fmt.Sprintf("%s violated (broken: %s)", v.Property, v.Assumption); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return string(o.Result.Verdict)
	}
	return strings.Join(all, ", ")
}

// gone lists the properties that should be violated but are not.
func gone(o *play.Outcome) []string {
	var all []string
	for _, s := range o.Result.Statuses {
		if o.Run.Expected(s.Property) == checker.Violated && s.Status != checker.Violated {
			all = append(all, fmt.Sprintf("%s is %s", s.Property, s.Status))
		}
	}
	return all
}
