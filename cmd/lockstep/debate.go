package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/reports/debate"
	"lockstep/reports/playground"
	"lockstep/reports/sites"
	"lockstep/scenarios/claims"
	"lockstep/scenarios/play"
)

func newDebate(k known) *cobra.Command {
	f := &runFlags{known: k, on: play.OnSim, tries: 1}
	var live bool
	c := &cobra.Command{
		Use:   "debate --out DIR",
		Short: "Write the debate about Redlock as a web site, with the runs that bear on it",
		Long: `Debate makes the runs that bear on the claims about locks on Redis, in simulation, and writes a site
of static pages. The pages show each claim with its source, the runs that show or refute it, the
verdict, and the assumption that decides. They need no network, and can be read without scripts.

The text of each claim says what its runs must show. If a run shows something else, nothing is
written, and the exit status is 1; if a run proves nothing, it is 2.

With --live, readers can change the runs and play them again in their browsers, without a server.
The program that does it, 5 MB, is compiled by the go command from the source of Lockstep.

DIR must be new or empty, or contain a site that debate has written, which is replaced.`,
		Example: `  lockstep debate --out debate
  lockstep debate --out debate --live                readers can play the runs themselves
  lockstep debate --out debate --seed 7              the same claims, with other random draws`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.debate(c, live) },
	}
	c.Flags().Var((*fileValue)(&f.out), "out", "write the site to `DIR`")
	c.Flags().BoolVar(&live, "live", false, "let readers change the runs and play them again in their browsers")
	c.Flags().Var((*seedValue)(&f.seed), "seed", "derive all random draws from `N` (default 1, or the seed of the scenario)")
	c.Flags().IntVar(&f.workers, "workers", 0, "number of processes (default one per core)")
	f.bounds(c, "")
	return c
}

func (f *runFlags) debate(c *cobra.Command, readersPlay bool) error {
	dir, err := f.siteDir("debate", debate.Mark)
	if err != nil {
		return err
	}
	defer dir.Close()

	d, files, err := f.debateFiles(c, readersPlay)
	if err != nil {
		return err
	}
	if err := dir.Write(c.Context(), files); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "%d claims, %d runs with %d different traces, none of which contradicts a claim: %s\n",
		len(d.Argument.Claims), len(d.Runs), d.Different(), dir.Index())
	return nil
}

// siteDir opens the directory to which a command writes a site. What is wrong with its flags is said first.
func (f *runFlags) siteDir(command, mark string) (*sites.Dir, error) {
	if f.out == "" {
		return nil, fmt.Errorf("%[1]s needs the directory to write, as in lockstep %[1]s --out %[1]s", command)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return sites.Open(f.out, "lockstep "+command, mark)
}

// debateFiles makes the runs of the debate, and returns its files. Without an error the runs show what the claims say.
func (f *runFlags) debateFiles(c *cobra.Command, readersPlay bool) (*debate.Debate, []sites.File, error) {
	var err error
	var program *playground.Program
	if readersPlay {
		if program, err = compileProgram(c.Context(), c.ErrOrStderr()); err != nil {
			return nil, nil, fmt.Errorf("--live: %w", err)
		}
	}
	argument, err := claims.Load()
	if err != nil {
		return nil, nil, err
	}
	chosen, err := choose(c.Context(), f.known, evidence(argument.Claims), nil)
	if err != nil {
		return nil, nil, err
	}
	outcomes, err := f.runAll(c, f.cases(chosen, f.seed))
	if err != nil {
		return nil, nil, err
	}
	byName := map[string]*play.Outcome{}
	for _, o := range outcomes {
		byName[o.Name()] = o
	}
	if err := f.contradictions(c, argument.Claims, byName); err != nil {
		return nil, nil, err
	}
	command := "lockstep debate --out debate"
	if readersPlay {
		command += " --live"
	}
	if f.seed != 0 {
		command += fmt.Sprintf(" --seed %d", f.seed)
	}
	var d debate.Debate
	files, err := unlessInterrupted(c.Context(), func() ([]sites.File, error) { // drawing takes seconds, and writes nothing
		d = f.newDebate(argument, outcomes)
		d.Live, d.Command = program, command
		return d.Files()
	})
	return &d, files, err
}

// unlessInterrupted returns what f returns. It does not wait for f any longer when ctx ends.
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

// contradictions prints where runs do not show what the text says, and returns the exit status for it.
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

// contradiction says how an outcome differs from what the text of a claim says of it, or returns nil.
func contradiction(e claims.Evidence, o *play.Outcome) error {
	switch {
	case o == nil:
		return errors.New("there is no such run")
	case o.Report != nil:
		return fmt.Errorf("the run did not end by itself: %s", o.Report)
	}
	return e.Contradiction(o.Result, o.Measurements)
}

// newDebate combines an argument with the outcomes of its runs.
func (f *runFlags) newDebate(argument *claims.Argument, outcomes []*play.Outcome) debate.Debate {
	d := debate.Debate{Argument: argument}
	for i, r := range pageRuns(outcomes) {
		d.Runs = append(d.Runs, debate.NamedRun{Run: r, Name: outcomes[i].Name(), Command: f.again(outcomes[i])})
	}
	for _, m := range (known{locks: f.known.locks}).versions() { // the debate runs no libraries
		d.Versions = append(d.Versions, strings.TrimSpace(m.Name+" "+m.Version))
	}
	return d
}
