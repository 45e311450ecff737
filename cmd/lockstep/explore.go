package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/nodes/engine"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// exploreFlags are the options of lockstep explore.
type exploreFlags struct {
	shardFlags
	guests   play.Guests
	known    known
	shape    search.Shape
	workload string
	bound    int
	runs     int
	time     time.Duration
	strategy string
	kinds    []string
	without  []string
	property []string
	seed     uint64
	first    bool
	workers  int
	memory   workers.Memory
	out      string
	json     bool
	verbose  bool
	grid     []string
}

func newExplore(k known) *cobra.Command {
	f := &exploreFlags{known: k, seed: 1}
	c := &cobra.Command{
		Use:   "explore [SCENARIO/RUN | FILE/RUN]",
		Short: "Search for what breaks a lock, and reduce it to the smallest story",
		Long: `Explore takes a calm run, in which clients contend and nothing goes wrong, and perturbs it: a
message is late or lost, a process pauses, crashes or comes back empty, a clock jumps, a link is
cut, a replica is promoted. In plans with one perturbation, a delay or a pause ends just after a later
event; there is a plan for each event that could matter. All other magnitudes are slightly greater
than the times that matter: how long the lock waits for a node, its retry delay, its TTL.

With --bound K explore tries every set of up to K perturbations, and its conclusion holds for all of
them. With --runs or --time it draws perturbations at random, without a bound, and says what it has
covered. With --bound and one of these it does both in turn. It reduces each failure: to the fewest
perturbations, clients, nodes and steps, then to round numbers. With --out it saves each failure as a
scenario file, which lockstep replay repeats.

The calm run is made from --lock, --nodes, --workload and so on, or is a run of a scenario without its
faults. It can show a mistake only if clients use the part of the lock that has the mistake, so there
are several workloads. In "once" each client acquires the lock once, in "again" twice. In "short" it
does so twice, with a TTL of 1.5 s, which is shorter than the timeouts of the client library. In "late"
it extends its lease late. In "beyond" it works for longer than the TTL, which is for locks that renew.
In "resize" it extends its lease by another TTL. "all" explores those that suit the lock, one after the
other, and divides --runs or --time among them.

A library is compared with its reference, the lock from the literature that it is most like. A
violation is shared if the reference violates the same property under the same plan, or for the same
reason under a plan with one perturbation of the same kind, or, where keys were lost or a clock was
wrong, in a run of the catalogue with the same kind of fault. Shared violations are counted; with
--verbose an example of each kind is shown. All other violations make the library worse than its
reference, and are shown first. A lock from the literature has no reference: each of its violations
is shown.

` + kindsHelp() + `

Exit status: 0 no violation, except those that the reference has, too; 1 a violation; 2 a run was
different the second time, or all runs prove nothing; 3 something could not be run, or was
interrupted; 4 a shard cannot be played on this machine, but perhaps on another.`,
		Example: `  lockstep explore --lock redlock --nodes 3 --bound 2 --kinds delay,lose,crash
  lockstep explore --lock single --replicas 1 --bound 2 --out found
  lockstep explore --lock redsync --nodes 5 --time 60s
  lockstep explore --lock redlock --nodes 5 --runs 10000 --strategy lineage --without pause
  lockstep explore --lock redislock --workload all
  lockstep explore redlock-contended/redlock/staggered --bound 1
  lockstep explore --nodes 5 --grid pause=0s..60s/25 --grid ttl=1s..30s/25 --out map`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("explore takes at most one SCENARIO/RUN or FILE/RUN, but got %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	fl := c.Flags()
	fl.StringVar(&f.shape.Lock, "lock", "redlock", "explore the lock or library `NAME`; see lockstep list")
	fl.IntVar(&f.shape.Nodes, "nodes", 0, "lock nodes (default 3 for a lock that asks a majority, otherwise 1)")
	fl.IntVar(&f.shape.Replicas, "replicas", 0, "replicas of n1")
	fl.IntVar(&f.shape.MinReplicas, "min-replicas", 0, "replicas that must be connected for n1 to accept a write")
	fl.StringVar(&f.shape.Persistence, "persistence", "", "what a lock node keeps in a crash; `KIND` is one of: "+strings.Join(words(engine.Persistences), ", ")+" (default aof-always)")
	fl.StringVar(&f.shape.Pool, "pool", "", "\"warm\": clients are already connected when a run begins, which makes runs shorter")
	fl.Var((*guestsValue)(&f.guests), "guests", "run clients as WebAssembly, where package time obeys faults, if `WHEN` is always")
	fl.IntVar(&f.shape.Clients, "clients", 2, "clients that contend")
	fl.StringVar(&f.shape.Resource, "resource", script.Plain, "the `KIND` of resource: "+strings.Join(clients.Resources(), ", "))
	fl.DurationVar(&f.shape.TTL, "ttl", script.DefaultTTL, "how long a node keeps the key of a lock; with --workload, the default is that of the workload")
	fl.StringVar(&f.workload, "workload", string(search.Once), "what the clients do; `NAME` is one of: "+strings.Join(append(words(search.Workloads()), everyWorkload), ", "))
	fl.BoolVar(&f.shape.Extend, "extend", false, "have each client extend its lease once")
	fl.IntVar(&f.bound, "bound", 0, "try every set of up to this many perturbations (default 1, without --runs and --time)")
	fl.IntVar(&f.runs, "runs", 0, "make about this many runs with perturbations drawn at random; with --grid, per cell")
	fl.DurationVar(&f.time, "time", 0, "make runs with perturbations drawn at random for this long")
	fl.StringVar(&f.strategy, "strategy", string(search.Portfolio), "`HOW` to draw: "+strings.Join(words(search.Strategies()), ", "))
	fl.StringSliceVar(&f.kinds, "kinds", nil, "use only the perturbations `KIND,...`, or groups of them (default all)")
	fl.StringSliceVar(&f.without, "without", nil, "leave out `KIND,...`")
	fl.StringSliceVar(&f.property, "property", nil, "look for violations of `PROPERTY,...` only (default all)")
	fl.StringArrayVar(&f.grid, "grid", nil, "draw a map of how often a run is unsafe, over `AXIS`: NAME=FROM..TO/STEPS, such as pause=0s..60s/25; once or twice; the runs of a cell are perturbed at evenly spread places")
	fl.Var((*seedValue)(&f.seed), "seed", "derive all random draws from `N`")
	fl.BoolVar(&f.first, "first", false, "stop at the first violation that the reference does not have")
	fl.IntVar(&f.workers, "workers", 0, "number of processes (default one per core)")
	memoryFlag(c, &f.memory)
	fl.Var((*fileValue)(&f.out), "out", "save what is found to `DIR` as scenario files; with --grid, save the map")
	f.shardFlags.option(c)
	fl.BoolVar(&f.json, "json", false, "print one JSON object for each workload, on a line of its own")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print the timeline of each violation found, and show examples of those that the reference has, too")
	return c
}

// kindsHelp lists the kinds of perturbations, by group.
func kindsHelp() string {
	var b strings.Builder
	b.WriteString("The kinds, by group:\n")
	for _, g := range script.Groups() {
		fmt.Fprintf(&b, "  %-8s %s\n", g.Name, strings.Join(words(g.Kinds), ", "))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func words[S ~string](list []S) []string {
	var all []string
	for _, s := range list {
		all = append(all, string(s))
	}
	return all
}

func (f *exploreFlags) check(c *cobra.Command, args []string) error {
	switch {
	case c.Flags().Changed("bound") && (f.bound < 1 || f.bound > mostBound):
		return fmt.Errorf("--bound %d: it must be between 1 and %d; beyond that, draw at random with --runs or --time", f.bound, mostBound)
	case c.Flags().Changed("runs") && f.runs < 1:
		return fmt.Errorf("--runs %d: it must be at least 1", f.runs)
	case c.Flags().Changed("time") && f.time <= 0:
		return fmt.Errorf("--time %v: it must be longer than 0s, such as 60s", f.time)
	case f.runs > 0 && f.time > 0 && len(f.grid) == 0:
		return errors.New("--runs and --time both limit the search; choose one")
	case c.Flags().Changed("strategy") && f.runs == 0 && f.time == 0:
		return errors.New("--strategy is for a random search; add --runs or --time")
	}
	for _, name := range []string{"kinds", "without", "property"} {
		if words, _ := c.Flags().GetStringSlice(name); c.Flags().Changed(name) && len(words) == 0 { // for example, a shell variable that is not set
			return fmt.Errorf("--%s is empty; it must name at least one, or be left out", name)
		}
	}
	if err := f.checkShape(c); err != nil {
		return err
	}
	if err := f.known.check(f.shape.Lock); err != nil {
		return fmt.Errorf("--lock: %w", err)
	}
	if _, err := search.FindStrategy(f.strategy); err != nil {
		return fmt.Errorf("--strategy: %w", err)
	}
	if f.workload != everyWorkload {
		w, err := search.FindWorkload(f.workload)
		if err != nil {
			return fmt.Errorf("--workload: %w; or %s", err, everyWorkload)
		}
		f.shape.Workload = w
	} else if len(f.grid) > 0 {
		return fmt.Errorf("--workload %s: a map is drawn of one workload; name one of %s", everyWorkload, strings.Join(words(search.Workloads()), ", "))
	}
	if c.Flags().Changed("workload") && !c.Flags().Changed("ttl") {
		f.shape.TTL = 0
	}
	if len(args) == 0 {
		return nil
	}
	for _, name := range []string{"nodes", "replicas", "min-replicas", "persistence", "pool", "clients", "resource", "ttl", "workload", "extend"} {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--%s: %s sets that already; only --lock can be combined with a scenario", name, args[0])
		}
	}
	return nil
}

// mostProcesses is how many processes of a kind a run can have: n1 to n9.
const mostProcesses = 9

// mostTTL is the longest TTL that is explored. Clients wait for several of them, and a step takes at most [history.MaxDuration].
const mostTTL = history.MaxDuration / 10

// checkShape checks what explore and limits have in common.
func (f *exploreFlags) checkShape(c *cobra.Command) error {
	switch {
	case c.Flags().Changed("nodes") && f.shape.Nodes < 1:
		return fmt.Errorf("--nodes %d: it must be at least 1", f.shape.Nodes)
	case c.Flags().Changed("clients") && f.shape.Clients < 1:
		return fmt.Errorf("--clients %d: it must be between 2 and %d", f.shape.Clients, mostProcesses)
	case f.shape.Replicas < 0 || f.shape.Replicas > mostProcesses:
		return fmt.Errorf("--replicas %d: it must be between 0 and %d", f.shape.Replicas, mostProcesses)
	case f.shape.MinReplicas < 0 || f.shape.MinReplicas > mostProcesses:
		return fmt.Errorf("--min-replicas %d: it must be between 0 and %d", f.shape.MinReplicas, mostProcesses)
	case c.Flags().Changed("ttl") && f.shape.TTL <= 0:
		return fmt.Errorf("--ttl %v: it must be longer than 0s", f.shape.TTL)
	case f.shape.TTL > mostTTL:
		return fmt.Errorf("--ttl %v: it must be at most %v", f.shape.TTL, mostTTL)
	case tooLittle(f.memory):
		return errTooLittle(f.memory)
	case f.workers < 0:
		return fmt.Errorf("--workers %d: it must not be negative", f.workers)
	}
	return nil
}

// everyWorkload is the name of all workloads that suit the lock.
const everyWorkload = "all"

// mostBound is the greatest bound: beyond it there are too many plans to try them all.
const mostBound = 4

// A calmRun is a scenario that is explored.
type calmRun struct {
	page     *script.Scenario
	workload search.Workload // empty if it is a run of the catalogue or of a file
}

// calm returns the runs to perturb.
func (f *exploreFlags) calm(c *cobra.Command, args []string) (all []calmRun, err error) {
	if len(args) > 0 {
		page, err := f.page(c, args)
		return []calmRun{{page: page}}, err
	}
	if f.shape.Nodes == 0 && !c.Flags().Changed("nodes") {
		f.shape.Nodes = f.known.nodes(f.shape.Lock)
	}
	for _, shape := range f.shape.Each(f.known.kinds(f.shape.Lock)...) {
		page, err := shape.Calm()
		if err != nil {
			return nil, err
		}
		all = append(all, calmRun{page, shape.Workload})
	}
	return all, nil
}

// page is the run of a scenario without its faults.
func (f *exploreFlags) page(c *cobra.Command, args []string) (*script.Scenario, error) {
	s, err := f.known.open(c.Context(), args[0])
	if err != nil {
		return nil, err
	}
	if len(s.runs) > 1 {
		return nil, fmt.Errorf("%s has %d runs; name one, such as %s/%s", args[0], len(s.runs), args[0], s.runs[0].ID())
	}
	if !c.Flags().Changed("lock") {
		f.shape.Lock = s.runs[0].Lock
	}
	calm, err := search.CalmRun(s.scenario, s.runs[0])
	if err != nil {
		return nil, err
	}
	calm.Runs[0].Lock = f.shape.Lock // counterexamples are runs of this lock, whichever the scenario names
	return calm, nil
}

// nodes is how many nodes a lock is explored on by default.
func (k known) nodes(lock string) int {
	for _, n := range append([]string{lock}, k.like(lock)...) {
		if strings.Contains(n, "redlock") {
			return 3
		}
	}
	return 1
}

func (f *exploreFlags) run(c *cobra.Command, args []string) error {
	if err := f.check(c, args); err != nil {
		return err
	}
	if err := f.divisible(c); err != nil {
		return err
	}
	if len(f.grid) > 0 {
		return f.runGrid(c, args)
	}
	kinds, err := script.ParseKinds(f.kinds, f.without)
	if err != nil {
		return err
	}
	properties, err := parseProperties(f.property)
	if err != nil {
		return err
	}
	runs, err := f.calm(c, args)
	if err != nil {
		return err
	}
	if err := makeOut(f.out); err != nil {
		return err
	}
	build, err := f.known.find(f.shape.Lock)
	if err != nil {
		return err
	}
	lib, _ := f.known.library(f.shape.Lock)
	if lib.Restless && f.guests != play.GuestsAlways && f.divided() {
		return fmt.Errorf("a search of %s cannot be divided: it draws from a source that cannot be seeded, so shards would not agree; add --guests always", f.shape.Lock)
	}
	if err := f.open(c, args, f.out, f.shape.Lock); err != nil {
		return err
	}
	return f.end(c, f.out, f.exploreAll(c, runs, kinds, properties, lib, build))
}

// exploreAll explores each calm run.
func (f *exploreFlags) exploreAll(c *cobra.Command, runs []calmRun, kinds []script.Kind, properties []checker.Property, lib libraries.Lock, build clients.New) error {
	f.runs, f.time = (f.runs+len(runs)-1)/len(runs), f.time/time.Duration(len(runs))
	proved, found := false, false
	for i, calm := range runs {
		if f.guests == play.GuestsAlways {
			calm.page.Runs[0].Guests = true
		}
		if i > 0 && !f.json && !f.divided() {
			fmt.Fprintln(c.OutOrStdout())
		}
		search := &search.Search{
			Calm: calm.page, Lock: f.shape.Lock, Seed: f.seed, Kinds: kinds, Restless: lib.Restless && !calm.page.Runs[0].Guests, Properties: properties, Workers: f.workers, First: f.first, New: build, Shard: f.part(f.known),
		}
		switch err := f.search(c, search, calm.workload, lib.Like); err {
		case nil:
			proved = true
		case status(exitUnexpected):
			found = true
		case status(exitUnknown):
		default:
			return err
		}
		if found && f.first {
			break
		}
	}
	switch {
	case f.divided():
		return nil
	case found:
		return status(exitUnexpected)
	case !proved:
		return status(exitUnknown)
	}
	return nil
}

// parseProperties reads names of properties.
func parseProperties(names []string) ([]checker.Property, error) {
	var all []checker.Property
	for _, n := range names {
		if !slices.Contains(checker.Properties(), checker.Property(n)) {
			return nil, fmt.Errorf("--property: %w", history.Unknown("property", n, words(checker.Properties())))
		}
		all = append(all, checker.Property(n))
	}
	return all, nil
}

// start starts the worker processes of a search.
func (f *exploreFlags) start(s *search.Search) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil && runtime.GOOS != "js" {
		return nil, err
	}
	end, err := s.Start(&workers.Supervisor{Command: func() *exec.Cmd { return exec.Command(self) }, Workers: f.workers, Limit: taskLimit, Memory: f.memory, Memo: f.memo(f.known)})
	if err != nil {
		return nil, err
	}
	ordered := hold()
	return func() {
		end()
		ordered()
	}, nil
}

// taskLimit is how long a worker may take for a task, which is some hundred runs.
const taskLimit = 2 * time.Minute

// search makes the bounded search, then the random one, as asked, and prints their results. The nearest of the locks that this
// one is like, if there is one, is the reference.
func (f *exploreFlags) search(c *cobra.Command, s *search.Search, of search.Workload, like []string) error {
	stop, err := f.start(s)
	if err != nil {
		return err
	}
	defer stop()
	if len(like) > 0 {
		if s.Reference, err = s.Against(nearest(like, of)); err != nil {
			return err
		}
	}
	r := &explored{flags: f, workload: of, search: s, w: c.OutOrStdout()}
	if f.json || f.divided() {
		r.w = io.Discard
	}
	ctx := c.Context()
	r.head()
	if f.bound > 0 || f.runs == 0 && f.time == 0 {
		r.bounded, err = withProgress(c, s, func() (*search.Bounded, error) { return s.Bound(ctx, max(f.bound, 1)) })
		r.printBounded()
	}
	if err == nil && r.inapplicable() == "" && (f.runs > 0 || f.time > 0) && !(f.first && r.bounded != nil && len(r.bounded.Found) > 0) {
		r.random, err = withProgress(c, s, func() (*search.Random, error) {
			return s.Random(ctx, search.Strategy(f.strategy), f.runs, f.time)
		})
		r.printRandom()
	}
	if f.divided() {
		if errors.Is(err, search.ErrNotReproducible) {
			err = nil // the merged search ends with it, too
		}
		f.found = append(f.found, r.news(f.found)...)
		return err
	}
	if kept := r.keep(ctx); err == nil {
		err = kept
	}
	if f.json {
		if e := r.encode(c.OutOrStdout()); e != nil {
			return e
		}
	}
	if err != nil {
		return err
	}
	return r.status()
}

// nearest is the first lock that the workload suits, or else the first: beyond its TTL, a lock that renews cannot be compared
// with one that does not.
func nearest(like []string, of search.Workload) string {
	return like[max(slices.IndexFunc(like, of.Suits), 0)]
}

// withProgress shows how far a search has come.
func withProgress[T any](c *cobra.Command, s *search.Search, search func() (T, error)) (T, error) {
	bar := progress(c.ErrOrStderr(), -1)
	s.Progress = bar.set
	t, err := search()
	bar.finish()
	return t, err
}
