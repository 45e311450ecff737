package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/reports/pictures"
	"lockstep/scenarios/claims"
	"lockstep/scenarios/play"
)

func newDebate(k known) *cobra.Command {
	f := &runFlags{known: k, on: play.OnSim, tries: 1}
	c := &cobra.Command{
		Use:   "debate --out DIR",
		Short: "Write the argument about Redlock as a site, with the runs that bear on it",
		Long: `Debate runs what bears on the claims of the argument about locks on Redis, in simulation, and writes
a site of static pages: each claim with its source, the run that shows or refutes it, the verdict, and
the assumption that decides. The pages need no network, and no script to be read.

The article says of each claim what its runs must show. Where one shows something else, nothing is
written, and the exit status is 1; where one proves nothing, it is 2.

DIR is made, or must be empty, or a site that debate has written before, whose files are replaced.`,
		Example: `  lockstep debate --out debate
  lockstep debate --out debate --seed 7              the same claims, with other random draws`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.debate(c) },
	}
	c.Flags().Var((*fileValue)(&f.out), "out", "write the site to `DIR`")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "what all random draws derive from (default 1, or what the page says)")
	c.Flags().IntVar(&f.workers, "workers", 0, "processes at once (default one per core)")
	f.bounds(c, "")
	return c
}

func (f *runFlags) debate(c *cobra.Command) error {
	if f.out == "" {
		return errors.New("debate needs the directory to write, as in lockstep debate --out debate")
	}
	if err := f.check(); err != nil {
		return err
	}
	dir, err := openSite(f.out)
	if err != nil {
		return err
	}
	defer dir.Close()

	argument, err := claims.Load()
	if err != nil {
		return err
	}
	chosen, err := choose(c.Context(), f.known, evidence(argument.Claims), nil)
	if err != nil {
		return err
	}
	outcomes, err := f.runAll(c, f.cases(chosen, f.seed))
	if err != nil {
		return err
	}
	byName := map[string]*play.Outcome{}
	for _, o := range outcomes {
		byName[o.Name()] = o
	}
	if err := f.contradictions(c, argument.Claims, byName); err != nil {
		return err
	}
	command := "lockstep debate --out debate"
	if f.seed != 0 {
		command += fmt.Sprintf(" --seed %d", f.seed)
	}
	d := f.newDebate(argument, outcomes)
	d.Command = command
	files, err := unlessInterrupted(c.Context(), d.Files) // drawing takes seconds, and nothing is written meanwhile
	if err != nil {
		return err
	}
	if err := dir.write(c.Context(), files); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "%d claims, %d runs with %d different traces, none of which contradicts a claim: %s\n",
		len(argument.Claims), len(d.Runs), d.Different(), dir.index())
	return nil
}

// unlessInterrupted returns what f returns, but when ctx ends, it does not wait for f.
func unlessInterrupted[T any](ctx context.Context, f func() (T, error)) (T, error) {
	var t T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		t, err = f()
	}()
	select {
	case <-done:
		return t, err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// evidence names the runs that bear on claims, each once, in the order of the argument.
func evidence(all []claims.Claim) []string {
	var names []string
	for _, c := range all {
		for _, e := range c.Evidence {
			if !slices.Contains(names, e.Run) {
				names = append(names, e.Run)
			}
		}
	}
	return names
}

// contradictions prints where runs do not say what the claims have them say, and returns the exit status for it.
func (f *runFlags) contradictions(c *cobra.Command, all []claims.Claim, outcomes map[string]*play.Outcome) error {
	var code status
	for _, claim := range all {
		for _, e := range claim.Evidence {
			o := outcomes[e.Run]
			err := contradiction(e, o)
			if err == nil {
				continue
			}
			fmt.Fprintf(c.ErrOrStderr(), "claim %s, %s\n  %s: %v\n", claim.ID, claim.Text, e.Run, err)
			if o != nil {
				fmt.Fprintf(c.ErrOrStderr(), "  see it again: %s\n", f.again(o))
			}
			if code != exitUnknown {
				code = exitUnexpected
			}
			if o == nil || o.Result.Verdict == checker.Inconclusive {
				code = exitUnknown
			}
		}
	}
	if code == 0 {
		return nil
	}
	fmt.Fprintln(c.ErrOrStderr(), "the debate is not written: its text contradicts the runs")
	return code
}

// contradiction says why an outcome is not what the text of a claim makes of it; nil if it is.
func contradiction(e claims.Evidence, o *play.Outcome) error {
	switch {
	case o == nil:
		return errors.New("there is no such run")
	case o.Report != nil:
		return fmt.Errorf("the run did not end by itself: %s", o.Report)
	}
	return e.Contradiction(o.Result, o.Measurements)
}

// newDebate makes the debate of an argument and the outcomes of its runs.
func (f *runFlags) newDebate(argument *claims.Argument, outcomes []*play.Outcome) pictures.Debate {
	d := pictures.Debate{Argument: argument}
	for i, r := range pageRuns(outcomes) {
		d.Runs = append(d.Runs, pictures.DebateRun{PageRun: r, Name: outcomes[i].Name(), Command: f.again(outcomes[i])})
	}
	for _, m := range (known{locks: f.known.locks}).versions() { // libraries have no part in it
		d.Versions = append(d.Versions, strings.TrimSpace(m.Name+" "+m.Version))
	}
	return d
}
