package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"lockstep/reports/pictures"
)

func newPlotClocks(k known) *cobra.Command {
	f := &plotFlags{runFlags: runFlags{known: k}, seeds: 1}
	var lock string
	c := &cobra.Command{
		Use:   "clocks SCENARIO[/RUN] | FILE | HISTORY.jsonl --out DIR",
		Short: "Draw how far the clocks of each process are off during a run",
		Long: `Clocks draws how far the steady and the wall clock of each process are ahead of true time during one
run: the first of the scenario, unless one is named. The axis is to scale, so jumps, drifts and
slews have their true shapes. Above the clocks the plot shows which client holds the lock. Lines mark
where a lease is granted, and where its holder believes that it has ended. Processes whose clocks
are right are named below.`,
		Example: `  lockstep plot clocks clock-jump --out plots
  lockstep plot clocks clock-step-vs-slew/redlock-wall/slew --out plots
  lockstep plot clocks clock-drift --lock redsync --out plots
  lockstep plot clocks results/clock-jump/redlock.jsonl --out plots`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("plot clocks takes one SCENARIO, SCENARIO/RUN or FILE, as in lockstep plot clocks clock-jump, but got %d; see lockstep list", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.checkPlot(); err != nil {
				return err
			}
			if lock != "" {
				f.locks = []string{lock}
			}
			o, err := f.show(c, args[0])
			if err != nil {
				return err
			}
			if o.Report != nil {
				return errors.New(o.Report.Reason)
			}
			p, err := pictures.NewClocksPlot(o.Facts, o.Result)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return f.save(c, "clocks", p)
		},
	}
	f.common(c)
	f.where(c)
	c.Flags().StringVar(&lock, "lock", "", "the first run of the lock or library `NAME`; SCENARIO/RUN is run with it")
	return c
}
