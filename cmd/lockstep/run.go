package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/nodes/live"
	"lockstep/nodes/redisserver"
	"lockstep/reports"
	"lockstep/scenarios"
	"lockstep/scenarios/files"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// runFlags are the options of lockstep run and show.
type runFlags struct {
	shardFlags
	on      string
	servers live.Remotes // that --on names
	speed   float64
	seed    uint64
	known   known
	locks   []string // the value of --lock
	json    bool
	out     string
	verbose bool
	rewrite bool
	workers int
	files   map[*script.Scenario]bool // those that are not in the catalogue
	limit   time.Duration
	memory  workers.Memory
	tries   int
	guests  play.Guests
	ci      ciFlags
	shows   map[*play.Outcome]string // the files of saved histories
	without []finding                // for files that have no history to judge
	asked   func(*earlier) bool      // which runs of a baseline must not be missing; nil: all
}

func (f *runFlags) common(c *cobra.Command) {
	f.onServers(c)
	c.Flags().Var((*seedValue)(&f.seed), "seed", "derive all random draws from `N` (default 1, or the seed of the scenario)")
}

// onServers adds the options that say where a run is made.
func (f *runFlags) onServers(c *cobra.Command) {
	c.Flags().StringVar(&f.on, "on", play.OnSim, "run on `WHERE`: sim; redis (servers for the run); or yours: redis://HOST")
	c.Flags().Var((*speedValue)(&f.speed), "speed", "on redis: divide durations by at most `N` (default what each scenario tolerates)")
	f.bounds(c, " (on redis: beyond its length)")
	guestsFlag(c, &f.guests)
	c.Flags().IntVar(&f.tries, "tries", 1, "on redis: how often to try a run whose result may be luck")
}

// bounds adds the options that limit what a run may use.
func (f *runFlags) bounds(c *cobra.Command, beyond string) {
	c.Flags().DurationVar(&f.limit, "limit", 20*time.Second, "real time that a run may take"+beyond)
	memoryFlag(c, &f.memory)
}

// memoryFlag adds the option that limits the memory of a run.
func memoryFlag(c *cobra.Command, m *workers.Memory) {
	c.Flags().Var((*memoryValue)(m), "memory", "memory that a run may use, such as `2GB` (default 2GB)")
}

func tooLittle(m workers.Memory) bool { return m != 0 && m < workers.LeastMemory }

func errTooLittle(m workers.Memory) error {
	return fmt.Errorf("--memory %v: must be at least %v", m, workers.LeastMemory)
}

// mostTries is how often a run may be tried.
const mostTries = 100

// leastLimit is the least value of --limit. A run takes some milliseconds, and more on a busy machine.
const leastLimit = 100 * time.Millisecond

func (f *runFlags) check() error {
	if err := f.ownServers(); err != nil {
		return err
	}
	switch {
	case f.on != play.OnSim && f.on != play.OnReal:
		return fmt.Errorf("--on: %w; your own servers are redis://HOST:PORT, and lockstep matrix also takes both", history.Unknown("backend", f.on, []string{play.OnSim, play.OnReal}))
	case f.speed != 0 && f.on != play.OnReal:
		return errors.New("--speed is for --on redis; simulated time is virtual")
	case f.locks != nil && len(f.locks) == 0: // for example, a shell variable that is not set
		return errors.New("--lock must name a lock; lockstep list has all of them")
	case tooLittle(f.memory):
		return errTooLittle(f.memory)
	case f.workers < 0:
		return fmt.Errorf("--workers %d: it must not be negative", f.workers)
	case f.tries < 1 || f.tries > mostTries:
		return fmt.Errorf("--tries %d: it must be between 1 and %d", f.tries, mostTries)
	case f.tries > 1 && f.on == play.OnSim:
		return errors.New("--tries is for --on redis; a simulated run has the same result each time")
	case f.limit < leastLimit:
		return fmt.Errorf("--limit %v: must be at least %v", f.limit, leastLimit)
	case f.divided() && f.on != play.OnSim:
		return fmt.Errorf("a command with --on %s cannot be divided: only simulated runs have the same result on each machine", f.on)
	case f.on == play.OnReal && len(f.servers) == 0:
		return redisserver.Find()
	}
	return nil
}

func newRun(k known) *cobra.Command {
	f := &runFlags{known: k}
	c := &cobra.Command{
		Use:   "run [SCENARIO[/RUN] | FILE]...",
		Short: "Run scenarios and print the verdicts",
		Long: `Run puts locks through scenarios and prints the verdicts. Without arguments it runs the whole
catalogue. A run is SAFE if every property held, UNSAFE if one was violated, and UNKNOWN if it
proves nothing: a fault had no effect, a state that had to occur did not, or the lock never came
to rest.

With --lock, run makes the runs of that lock. A library has none of its own: it is run in place of
the locks that it is like, and the last column says whether it does as well as they are expected
to. If SCENARIO/RUN names one run, --lock can replace its lock by any other.`,
		Example: `  lockstep run
  lockstep run clock-jump crash-restart-5/redlock/durable -v
  lockstep run --lock redlock --seed 7
  lockstep run --lock redsync
  lockstep run --lock wasm:./lock.wasm              a lock in another language, compiled for WASI
  lockstep run failover-lag/single --lock redislock -v
  lockstep run --json | jq 'select(.verdict != "SAFE")'
  lockstep run --out results                        timelines (text, SVG, PNG, HTML) and histories
  lockstep run --junit report.xml                   for CI servers; see docs/ci.md
  lockstep run --lock redsync --against verdicts.json
  lockstep run pause-after-acquire redlock-calm --on redis
  lockstep run pause-after-acquire --on redis://localhost:6379
  lockstep run --rewrite my-scenario.txtar          renew the timelines in the file`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.common(c)
	c.Flags().StringSliceVar(&f.locks, "lock", nil, "run only these locks and libraries: `NAME,...`; see lockstep list")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object for each run, on a line of its own")
	c.Flags().Var((*fileValue)(&f.out), "out", "write timelines and histories to `DIR`")
	f.shardFlags.option(c)
	f.ci.options(c)
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print each timeline")
	c.Flags().BoolVar(&f.rewrite, "rewrite", false, "renew the timelines in the files named, but not their expectations; the layout becomes that of the catalogue")
	c.Flags().IntVar(&f.workers, "workers", 0, "number of processes (default one per core)")
	return c
}

func (f *runFlags) run(c *cobra.Command, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.divisible(c); err != nil {
		return err
	}
	if f.rewrite {
		if err := f.checkRewrite(args); err != nil {
			return err
		}
	}
	if err := f.ci.check(c.Context(), args, f.out); err != nil {
		return err
	}
	chosen, err := f.choose(c, args)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := apart(chosen); err != nil {
			return err
		}
		for _, s := range chosen {
			if dir := filepath.Join(f.out, s.scenario.Name); f.ci.junit != "" && dir == filepath.Dir(f.ci.junit) {
				return fmt.Errorf("--junit %s: --out writes the files of runs into the directory %s; name a file elsewhere", f.ci.junit, dir)
			}
		}
	}
	if err := makeOut(f.out); err != nil {
		return err
	}
	if f.rewrite {
		for _, s := range chosen {
			if err := files.CheckWritable(s.scenario.File); err != nil {
				return fmt.Errorf("--rewrite: %w", err)
			}
			if info, err := os.Stat(s.scenario.File); err == nil && info.Mode().Perm()&0o222 == 0 {
				return fmt.Errorf("--rewrite: %s is read-only; make it writable first", s.scenario.File)
			}
		}
	}
	f.asked = func(e *earlier) bool { return f.standFor(args, e) && !f.ci.baseline.foundOtherwise(e) }
	start := time.Now()
	cases := f.cases(chosen, f.seed)
	if err := f.open(c, args, f.out, f.locks...); err != nil {
		return err
	}
	outcomes, err := f.runAll(c, cases)
	if f.divided() {
		return f.end(c, f.out, err)
	}
	told := f.tell(c, cases, outcomes, start, err)
	if f.rewrite && err == nil {
		if err := rewrite(c, chosen, outcomes); err != nil {
			return err
		}
	}
	return told
}

// standFor reports whether a run of a baseline is among those that the command asks for.
func (f *runFlags) standFor(args []string, e *earlier) bool {
	onSim := e.On == play.OnSim || e.On == ""
	switch {
	case onSim != (f.on == play.OnSim), f.seed != 0 && e.Seed != f.seed:
		return false
	case len(f.locks) == 0 && e.Lock != e.reference(), len(f.locks) > 0 && !slices.Contains(f.locks, e.Lock):
		return false
	case len(args) == 0:
		return e.ofCatalogue()
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		file, run, one := cutFile(arg)
		scenario := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if file == "" {
			scenario, run, one = strings.Cut(arg, "/")
		}
		return e.Scenario == scenario && (!one || e.Run == run)
	})
}

// choose finds the runs that the arguments name. On real servers it leaves out those that are not possible there.
func (f *runFlags) choose(c *cobra.Command, args []string) ([]selection, error) {
	chosen, err := choose(c.Context(), f.known, args, f.locks)
	if err != nil {
		return nil, err
	}
	f.files = map[*script.Scenario]bool{}
	for _, s := range chosen {
		f.files[s.scenario] = s.file
	}
	if f.on == play.OnReal {
		return f.possible(c.ErrOrStderr(), chosen)
	}
	return chosen, nil
}

// checkRewrite refuses to rewrite timelines that others would not get, or that cannot be written.
func (f *runFlags) checkRewrite(args []string) error {
	if len(args) == 0 {
		return errors.New("--rewrite needs the files to rewrite; those of the catalogue are in scenarios/catalogue")
	}
	for _, a := range args {
		if !isFile(a) {
			return fmt.Errorf("--rewrite %s: that is a scenario inside this program; name its file", a)
		}
	}
	if len(f.locks) > 0 {
		return errors.New("--rewrite renews the timelines of all locks that a scenario names; leave out --lock")
	}
	if f.on != play.OnSim {
		return fmt.Errorf("--rewrite is for simulated runs; leave out --on %s", f.on)
	}
	if f.seed != 0 {
		return errors.New("--rewrite is for runs with the seed of the scenario, or 1; leave out --seed")
	}
	return nil
}

// cases returns the chosen runs with a seed; 0 stands for the seed of each run.
func (f *runFlags) cases(chosen []selection, seed uint64) []play.Case {
	var cases []play.Case
	for _, s := range chosen {
		for _, r := range s.runs {
			build, _ := f.known.find(r.Lock) // choose has checked that it exists
			lib, _ := f.known.library(r.Lock)
			cases = append(cases, play.Case{
				Scenario: s.scenario, Run: r, Seed: seed, On: f.on, Servers: f.servers, Speed: f.speed, Limit: f.limit, Tries: f.tries, Restless: lib.Restless, Guests: f.guests, New: build,
			})
		}
	}
	return cases
}

// runAll runs all cases in worker processes, and shows their progress.
func (f *runFlags) runAll(c *cobra.Command, cases []play.Case) ([]*play.Outcome, error) {
	self, err := os.Executable()
	if err != nil && runtime.GOOS != "js" { // on js no processes can be started anyway
		return nil, err
	}
	if err := f.greet(c); err != nil {
		return nil, err
	}
	own, memo := 0, f.memo(f.known)
	for i := range cases {
		cases[i].Everywhere = memo != nil
		if cases[i].Elsewhere = !f.shard.Has(i); !cases[i].Elsewhere {
			own++
		}
	}
	s := &workers.Supervisor{
		Command: func() *exec.Cmd { return exec.Command(self) },
		Workers: f.atOnce(),
		Limit:   f.limit,
		Memory:  f.memory,
		Memo:    memo,
		Notice:  func(text string) { fmt.Fprintln(c.ErrOrStderr(), reports.Visible(text)) },
	}
	defer hold()()
	bar := progress(c.ErrOrStderr(), own)
	outcomes := make([]*play.Outcome, len(cases))
	err = search.RunAll(c.Context(), s, cases, func(i int, o *play.Outcome) {
		outcomes[i] = o
		bar.describe(reports.Visible(o.Scenario.Name))
		bar.add(1)
	})
	bar.finish()
	return outcomes, leftKeys(c.ErrOrStderr(), outcomes, err)
}

// atOnce is how many runs are made at the same time. On real servers they mostly wait.
func (f *runFlags) atOnce() int {
	if f.workers == 0 && f.on != play.OnSim {
		return max(scenarios.AtOnce, runtime.GOMAXPROCS(0))
	}
	return f.workers
}

// exitStatus sums up the outcomes: UNKNOWN outranks what is merely unexpected.
func exitStatus(outcomes []*play.Outcome) error {
	var all []status
	for _, o := range outcomes {
		switch {
		case unfit(o) != "":
		case o.Result.Verdict == checker.Inconclusive && o.ExpectedVerdict() != checker.Inconclusive:
			all = append(all, exitUnknown)
		case len(o.Unexpected()) > 0:
			all = append(all, exitUnexpected)
		}
	}
	return worst(all)
}

// printDifferences says which results were not expected, and how to see them again.
func (f *runFlags) printDifferences(c *cobra.Command, outcomes []*play.Outcome) {
	w := c.OutOrStdout()
	for _, o := range outcomes {
		if why := unfit(o); why != "" {
			fmt.Fprintf(w, "\n%s\n", called(o))
			printWrapped(w, "does not apply: "+why)
			continue
		}
		diffs := o.Unexpected()
		same := f.isSaved(o) && !f.rewrite
		stale := same && o.Run.Golden != "" && o.Run.Golden != o.Timeline()
		changed := same && o.Run.Checksum != "" && o.Run.Checksum != o.History.Meta.Checksum
		if len(diffs)+len(o.Result.Unmet) == 0 && !stale && !changed {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", called(o))
		for _, u := range some(o.Result.Unmet) {
			printWrapped(w, "nothing is proved: "+u)
		}
		if len(o.Result.Unmet) > 0 && f.on == play.OnReal && o.Report == nil {
			printWrapped(w, fmt.Sprintf("on real servers a scenario may be too fast for its own margins: try a --speed below %v", o.Scenario.SpeedOf(o.Run, f.speed)))
		}
		for _, d := range diffs {
			printWrapped(w, d)
		}
		for _, v := range o.Result.Violations {
			if o.Run.Expected(v.Property) != checker.Violated {
				printWrapped(w, fmt.Sprintf("%s (broken: %s)", v.What, v.Assumption))
			}
		}
		if len(diffs)+len(o.Result.Unmet) > 0 {
			fmt.Fprintf(w, "  see it again: %s\n", f.again(o))
		}
		if changed {
			printWrapped(w, fmt.Sprintf("the trace is not the one in the scenario file: its checksum is %s, and was %s", o.History.Meta.Checksum, o.Run.Checksum))
		}
		if stale {
			file := "FILE"
			if f.files[o.Scenario] {
				file = operand(o.Scenario.File)
			}
			fmt.Fprintf(w, "  the timeline is not the one in %s; lockstep run --rewrite %s renews it\n", reports.Visible(o.Scenario.File), file)
		}
	}
}

// isSaved reports whether a run is the one whose timeline its scenario file has: with the same lock and seed, in simulation. The history of
// a sweep is that of one position; the file also says how many there are.
func (f *runFlags) isSaved(o *play.Outcome) bool {
	if len(o.Scenario.Sweep) > 0 && o.Sweep == nil {
		return false
	}
	return f.on == play.OnSim && o.History.Meta.On == play.OnSim && o.Run.Lock == o.Run.Reference() && o.Report == nil && o.History.Meta.Seed == cmp.Or(o.Run.Seed, 1)
}

// called is the name of a run, with the lock that replaced the one in its name. It is safe to print, although the name of a scenario is
// that of its file, which can be anything.
func called(o *play.Outcome) string {
	name := reports.Visible(o.Name())
	if o.Run.Lock != o.Run.Reference() {
		return name + " with " + o.Run.Lock
	}
	return name
}

// who names a run within its scenario, and the lock that is put through it.
func who(o *play.Outcome) string {
	if o.Run.Lock != o.Run.Reference() {
		return o.Run.Lock + " in place of " + o.Run.ID()
	}
	return o.Run.ID()
}

// again is the command that repeats a run.
func (f *runFlags) again(o *play.Outcome) string {
	if file, ok := f.shows[o]; ok {
		return "lockstep show " + operand(file)
	}
	what := o.Name()
	if f.files[o.Scenario] {
		what = o.Scenario.File + "/" + o.Run.ID()
	}
	what = operand(what)
	if o.Run.Lock != o.Run.Reference() {
		what += " --lock " + quoted(o.Run.Lock)
	}
	cmd := fmt.Sprintf("lockstep run %s --seed %d -v", what, o.History.Meta.Seed)
	if f.on == play.OnReal {
		cmd += f.place()
	}
	return cmd
}

// place has the options of a command that say on which real servers to run.
func (f *runFlags) place() string {
	if f.speed == 0 {
		return " --on " + f.where()
	}
	return fmt.Sprintf(" --on %s --speed %v", f.where(), f.speed)
}
