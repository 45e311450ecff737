package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/nodes"
	"lockstep/scenarios"
	"lockstep/sim"
)

// runFlags are the options of lockstep run and show.
type runFlags struct {
	on      string
	speed   float64
	seed    uint64
	locks   []clients.Lock // known
	only    []string       // locks to run
	json    bool
	out     string
	verbose bool
	rewrite bool
	workers int
	files   map[*scenarios.Scenario]bool // those that are not in the catalogue
	limit   time.Duration
}

func (f *runFlags) common(c *cobra.Command) {
	c.Flags().StringVar(&f.on, "on", scenarios.OnSim, "sim, or redis: redis-server processes that lockstep starts")
	c.Flags().Float64Var(&f.speed, "speed", 1, "on redis: what durations are divided by; at most 20 for a TTL of 10s")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "what all random draws derive from")
	c.Flags().DurationVar(&f.limit, "limit", 20*time.Second, "real time after which a run is given up (on redis: beyond its length)")
}

func (f *runFlags) check() error {
	switch {
	case f.on != scenarios.OnSim && f.on != scenarios.OnReal:
		return fmt.Errorf("--on: %w", sim.Unknown("backend", f.on, []string{scenarios.OnSim, scenarios.OnReal}))
	case f.speed < 1 || f.speed > 1000:
		return fmt.Errorf("--speed %v: it must be between 1 and 1000", f.speed)
	case f.speed != 1 && f.on != scenarios.OnReal:
		return errors.New("--speed is for --on redis; in simulation time takes no time")
	case f.workers < 0:
		return fmt.Errorf("--workers %d: it must not be below zero", f.workers)
	case f.limit <= 0:
		return fmt.Errorf("--limit %v: it must be above zero", f.limit)
	case f.on == scenarios.OnReal:
		return nodes.FindServer()
	}
	return nil
}

func newRun(locks []clients.Lock) *cobra.Command {
	f := &runFlags{locks: locks}
	c := &cobra.Command{
		Use:   "run [SCENARIO[/RUN] | FILE]...",
		Short: "Run scenarios and print the verdicts",
		Long: `Run puts locks through scenarios and prints the verdicts. Without arguments it runs the whole
catalogue. A run is SAFE if every property held, UNSAFE if one was violated, and UNKNOWN if it
proves nothing: a fault had no effect, a state that had to occur did not, or the lock never came
to rest.`,
		Example: `  lockstep run
  lockstep run clock-jump crash-restart-5/redlock/durable -v
  lockstep run --lock redlock --seed 7
  lockstep run --json | jq 'select(.verdict != "SAFE")'
  lockstep run --out results                        timelines (text, SVG, PNG) and histories
  lockstep run pause-after-acquire redlock-calm --on redis --speed 20
  lockstep run --rewrite my-scenario.txtar          renew the timelines in the file`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.common(c)
	c.Flags().StringSliceVar(&f.only, "lock", nil, "run only these locks: "+strings.Join(names(locks), ", "))
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object per run and line")
	c.Flags().StringVar(&f.out, "out", "", "write timelines and histories to this directory")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print each timeline")
	c.Flags().BoolVar(&f.rewrite, "rewrite", false, "renew the timelines in the files named, never what they expect")
	c.Flags().IntVar(&f.workers, "workers", 0, "processes at once (default one per core)")
	return c
}

func (f *runFlags) run(c *cobra.Command, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	chosen, err := choose(f.locks, args, f.only)
	if err != nil {
		return err
	}
	f.files = map[*scenarios.Scenario]bool{}
	for _, s := range chosen {
		f.files[s.scenario] = s.file
	}
	if f.on == scenarios.OnReal {
		if chosen, err = f.possible(c.ErrOrStderr(), chosen); err != nil {
			return err
		}
	}
	if f.rewrite {
		if err := f.checkRewrite(args); err != nil {
			return err
		}
	}
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return err
		}
	}
	start := time.Now()
	outcomes, err := f.runAll(c, chosen)
	took := time.Since(start)
	if err != nil {
		if ended := slices.DeleteFunc(slices.Clone(outcomes), func(o *scenarios.Outcome) bool { return o == nil }); len(ended) > 0 {
			fmt.Fprintf(c.ErrOrStderr(), "%d of %d runs had ended:\n", len(ended), len(outcomes))
			printTable(c.ErrOrStderr(), ended, took)
		}
		return err
	}

	out := c.OutOrStdout()
	for _, o := range outcomes {
		if f.json {
			if err := json.NewEncoder(out).Encode(newLine(o)); err != nil {
				return err
			}
		}
		if f.verbose && !f.json {
			printTimeline(out, o)
		}
		if f.out != "" {
			if err := writeArtifacts(f.out, o); err != nil {
				return err
			}
		}
		if o.Report != nil {
			fmt.Fprintf(c.ErrOrStderr(), "\n%s, %s, seed %d: %s\n", o.Scenario.Name, o.Run.ID(), f.seed, o.Report)
		}
	}
	if !f.json {
		printTable(out, outcomes, took)
		f.printDifferences(c, outcomes)
	}
	if f.rewrite {
		if err := rewrite(c, chosen, outcomes); err != nil {
			return err
		}
	}
	return exitStatus(outcomes)
}

// checkRewrite refuses to rewrite what would come out differently for others, or cannot be written.
func (f *runFlags) checkRewrite(args []string) error {
	if len(args) == 0 {
		return errors.New("--rewrite needs the files to rewrite; those of the catalogue are in scenarios/catalogue")
	}
	for _, a := range args {
		if !isFile(a) {
			return fmt.Errorf("--rewrite %s: that is a scenario inside this program; name its file", a)
		}
	}
	if f.on != scenarios.OnSim || f.seed != 1 || len(f.only) > 0 {
		return errors.New("--rewrite goes with all runs of a file, in simulation, with seed 1")
	}
	return nil
}

// runAll does all runs in worker processes, with a line of progress on terminals.
func (f *runFlags) runAll(c *cobra.Command, chosen []selection) ([]*scenarios.Outcome, error) {
	var cases []scenarios.Case
	for _, s := range chosen {
		for _, r := range s.runs {
			cases = append(cases, scenarios.Case{Scenario: s.scenario, Run: r, Seed: f.seed, On: f.on, Speed: f.speed})
		}
	}
	self, err := os.Executable()
	if err != nil && runtime.GOOS != "js" { // where there are no processes to be started anyway
		return nil, err
	}
	s := &sim.Supervisor{
		Command: func() *exec.Cmd { return exec.Command(self) },
		Workers: f.workers,
		Limit:   f.limit,
	}
	if f.on == scenarios.OnReal {
		s.Limit += time.Duration(float64(10*time.Minute) / f.speed)
		// A worker that is killed takes its servers along, but not their directories.
		tmp, err := os.MkdirTemp("", "lockstep-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(tmp)
		s.Command = func() *exec.Cmd {
			worker := exec.Command(self)
			worker.Env = append(worker.Environ(), "TMPDIR="+tmp)
			return worker
		}
	}
	bar := progress(c.ErrOrStderr(), len(cases))
	outcomes := make([]*scenarios.Outcome, len(cases))
	err = scenarios.RunAll(c.Context(), s, cases, func(i int, o *scenarios.Outcome) {
		outcomes[i] = o
		bar.Describe(o.Scenario.Name)
		bar.Add(1)
	})
	bar.Finish()
	return outcomes, err
}

// progress is a line on a terminal that goes away, and nothing elsewhere.
func progress(w io.Writer, n int) *progressbar.ProgressBar {
	return progressbar.NewOptions(n,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetVisibility(isTerminal(w)),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetWidth(30),
	)
}

// exitStatus sums up the outcomes: UNKNOWN outranks what is merely unexpected.
func exitStatus(outcomes []*scenarios.Outcome) error {
	var code status
	for _, o := range outcomes {
		switch {
		case o.Result.Verdict == checker.Inconclusive && o.ExpectedVerdict() != checker.Inconclusive:
			return status(exitUnknown)
		case len(o.Unexpected()) > 0:
			code = exitUnexpected
		}
	}
	if code != 0 {
		return code
	}
	return nil
}

// printDifferences says what came out otherwise than expected, and how to see it again.
func (f *runFlags) printDifferences(c *cobra.Command, outcomes []*scenarios.Outcome) {
	w := c.OutOrStdout()
	for _, o := range outcomes {
		diffs := o.Unexpected()
		stale := f.on == scenarios.OnSim && f.seed == 1 && o.Run.Golden != "" && o.Run.Golden != o.Timeline() && !f.rewrite
		if len(diffs)+len(o.Result.Unmet) == 0 && !stale {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", o.Name())
		for _, u := range o.Result.Unmet {
			fmt.Fprintf(w, "  nothing is proved: %s\n", u)
		}
		if len(o.Result.Unmet) > 0 && f.on == scenarios.OnReal && o.Report == nil {
			fmt.Fprintf(w, "  on real servers a scenario may be too fast for its own margins: try a --speed below %v\n", f.speed)
		}
		for _, d := range diffs {
			fmt.Fprintf(w, "  %s\n", d)
		}
		for _, v := range o.Result.Violations {
			if o.Run.Expected(v.Property) != checker.Violated {
				fmt.Fprintf(w, "  %s (broken: %s)\n", v.What, v.Assumption)
			}
		}
		if len(diffs)+len(o.Result.Unmet) > 0 {
			fmt.Fprintf(w, "  see it again: %s\n", f.again(o))
		}
		if stale {
			fmt.Fprintf(w, "  the timeline is not the one in %s; lockstep run --rewrite FILE renews it\n", o.Scenario.File)
		}
	}
}

// again is the command that repeats a run.
func (f *runFlags) again(o *scenarios.Outcome) string {
	what := o.Name()
	if f.files[o.Scenario] {
		what = o.Scenario.File + "/" + o.Run.ID()
	}
	cmd := fmt.Sprintf("lockstep run %s --seed %d -v", what, f.seed)
	if f.on == scenarios.OnReal {
		cmd += fmt.Sprintf(" --on redis --speed %v", f.speed)
	}
	return cmd
}
