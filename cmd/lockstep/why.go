package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
)

func newWhy(k known) *cobra.Command {
	f := &runFlags{known: k, on: play.OnSim, tries: 1}
	var lock, svg, png string
	var futures int
	c := &cobra.Command{
		Use:   "why SCENARIO[/RUN] | FILE[/RUN] | TOKEN",
		Short: "Find out what a violation needed: which faults, how much of each, and until when",
		Long: `Why takes a run that violates a property and plays it again with one thing changed: without each fault,
with only some of the faults, with less of each, with each late message on time, and with other
latencies. It says which faults were necessary, which were enough, how much of each it took, and
whether that agrees with the assumption that the checker blames.

Then it looks for the point of no return. After each line of the timeline, the run branches into
--futures runs in which every fault ends at that moment, no other comes, and latencies are drawn anew.
The point of no return is the moment from which on all of these futures violate the property.

The run is the first that violates a property, unless one is named. Runs are simulated, and the
same command prints the same text each time, unless the native runs of the lock cannot be repeated.

Exit status: 0 the run came out as its scenario expects; 1 it did not; 2 it proves nothing; 3 it could not
be run, or not be repeated.`,
		Example: `  lockstep why pause-after-acquire/redlock
  lockstep why clock-jump --svg futures.svg
  lockstep why failover-lag/single --lock redislock --futures 64
  lockstep why found-single-lease-exclusion-durable-nodes-aa41f0.txtar --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("why takes one SCENARIO, SCENARIO/RUN, FILE or TOKEN, as in lockstep why clock-jump, but got %d; see lockstep list", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if futures < 1 || futures > search.MostFutures {
				return fmt.Errorf("--futures %d: it must be between 1 and %d", futures, search.MostFutures)
			}
			if err := f.check(); err != nil {
				return err
			}
			if err := checkRoom(args, "", target{"svg", svg}, target{"png", png}); err != nil {
				return err
			}
			if lock != "" {
				f.locks = []string{lock}
			}
			return f.why(c, args[0], futures, svg, png)
		},
	}
	c.Flags().StringVar(&lock, "lock", "", "use the lock or library `NAME` in the run that is named, or take the runs of that lock")
	c.Flags().Var((*seedValue)(&f.seed), "seed", "derive all random draws from `N` (default 1, or the seed of the scenario)")
	c.Flags().IntVar(&futures, "futures", 16, "how many futures of each moment to play")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	c.Flags().Var((*fileValue)(&svg), "svg", "draw the futures over time to `FILE` as SVG")
	c.Flags().Var((*fileValue)(&png), "png", "draw the futures over time to `FILE` as PNG")
	c.Flags().IntVar(&f.workers, "workers", 0, "number of processes (default one per core)")
	f.bounds(c, "")
	return c
}

// why plays the run, finds the causes of its violations, and prints them.
func (f *runFlags) why(c *cobra.Command, arg string, futures int, svg, png string) error {
	o, err := f.toExplain(c, arg)
	if err != nil {
		return err
	}
	lib, _ := f.known.library(o.Run.Lock)
	y := &whyText{w: c.OutOrStdout(), outcome: o, restless: lib.Restless && !o.Run.Guests}
	if o.Report != nil {
		fmt.Fprintln(y.w, reports.VisibleLines(o.Report.String()))
		return status(exitUnknown)
	}
	build, _ := f.known.find(o.Run.Lock)
	s := &search.Search{Restless: lib.Restless, Workers: f.workers, New: build}
	stop, err := (&exploreFlags{workers: f.workers, memory: f.memory}).start(s)
	if err != nil {
		return err
	}
	defer stop()
	y.causes, err = withProgress(c, s, func() ([]*search.Cause, error) { return s.Why(c.Context(), o, futures) })
	if err != nil {
		return err
	}
	if f.json {
		err = y.json()
	} else {
		y.print()
	}
	if err == nil && svg+png != "" {
		if len(y.causes) == 0 {
			return errors.New("no property is violated, so there is nothing to draw")
		}
		w := y.w
		if f.json {
			w = io.Discard
		}
		fmt.Fprintln(w)
		plot := y.plot(y.causes[0])
		err = draw(c.Context(), w, drawing{svg, plot.WriteSVG}, drawing{png, plot.WritePNG})
	}
	return cmp.Or(err, exitStatus([]*play.Outcome{o}))
}

// toExplain plays the run that an argument names; of several the first that violates a property, or else the first.
func (f *runFlags) toExplain(c *cobra.Command, arg string) (*play.Outcome, error) {
	var chosen []selection
	if strings.HasSuffix(arg, ".jsonl") {
		return nil, fmt.Errorf("%s: that is a history, which cannot be played again; name the scenario", arg)
	}
	if script.IsToken(arg) {
		s, err := f.toReplay(c.Context(), arg, strings.Join(f.locks, ""))
		if err != nil {
			return nil, err
		}
		chosen = []selection{s}
	} else {
		var err error
		if chosen, err = choose(c.Context(), f.known, []string{arg}, f.locks); err != nil {
			return nil, err
		}
	}
	for i := range chosen[0].runs { // a run that is expected to violate something, if there is one, saves the others
		if slices.ContainsFunc(chosen[0].runs[i].Expect, func(e script.Expectation) bool { return e.Status == checker.Violated && e.Share == 0 }) {
			chosen[0].runs = append(slices.Clone(chosen[0].runs[i:]), chosen[0].runs[:i]...)
			break
		}
	}
	var first *play.Outcome
	for _, r := range chosen[0].runs {
		one := chosen[0]
		one.runs = []script.Section{r}
		outcomes, err := f.runAll(c, f.cases([]selection{one}, f.seed))
		if err != nil {
			return nil, err
		}
		o := outcomes[0]
		if len(o.Result.Violations) > 0 || o.Report != nil {
			return o, nil
		}
		first = cmp.Or(first, o)
	}
	return first, nil
}
