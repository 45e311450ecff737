package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// mostSeeds is the most seeds that a matrix may have. Each cell has one run for each seed, and all outcomes are kept until the end.
const mostSeeds = 1000

// matrixFlags are the flags of matrix.
type matrixFlags struct {
	runFlags
	seeds, repeat int
	markdown      bool
}

func newMatrix(k known) *cobra.Command {
	f := &matrixFlags{runFlags: runFlags{known: k}}
	c := &cobra.Command{
		Use:   "matrix [SCENARIO[/RUN] | FILE]...",
		Short: "Print a table of which faults each lock survives",
		Long: `Matrix puts locks through the scenarios that are named, and prints the results as a table.
Without arguments these are all of the catalogue except its sweeps, which take longer. A library is run in place of the locks that it is like, and a mark shows where
it does worse than they are expected to. Without --lock, each library in its default configuration
is compared with the lock that it is most like.

With --on both, each run of the scenarios is made once in simulation and --repeat times on
redis-server, and matrix prints how far the two agree: in the verdict, in each property, in the
assumptions that were broken, and in the outcome of each operation of each client.

Exit status: 0 no lock does worse than its reference; 1 one does; 2 a cell is UNKNOWN; 3 something
could not be run, or was interrupted.`,
		Example: `  lockstep matrix
  lockstep matrix --lock redlock --lock redsync
  lockstep matrix --lock single,redislock clock-jump failover-lag retried-set
  lockstep matrix --seeds 20
  lockstep matrix --lock single,redlock,redsync --out results     as a picture
  lockstep matrix --on both --repeat 3 pause-after-acquire crash-restart-5
  lockstep matrix --json | jq '.groups[].rows[].cells[] | select(.against == "worse")'`,
		RunE: f.print,
	}
	f.common(c)
	c.Flags().StringSliceVar(&f.locks, "lock", nil, "the columns, each a lock or a library: `NAME,...`; see lockstep list")
	c.Flags().Lookup("on").Usage = "run on `WHERE`: sim; redis (servers for the run); or both, and compare"
	c.Flags().IntVar(&f.repeat, "repeat", 1, "--on both: how often each run is made on real servers")
	c.Flags().IntVar(&f.seeds, "seeds", 1, "number of seeds, from --seed on; a cell shows the worst result")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	f.shardFlags.option(c)
	c.Flags().BoolVar(&f.markdown, "markdown", false, "print Markdown")
	c.Flags().Var((*fileValue)(&f.out), "out", "write matrix.svg, .png, .md and .json to `DIR`")
	c.Flags().IntVar(&f.workers, "workers", 0, "number of processes (default one per core)")
	return c
}

func (f *matrixFlags) print(c *cobra.Command, args []string) error {
	if f.seeds < 1 || f.seeds > mostSeeds {
		return fmt.Errorf("--seeds %d: it must be between 1 and %d", f.seeds, mostSeeds)
	}
	if err := tooManySeeds(f.seed, f.seeds); err != nil {
		return err
	}
	if f.json && f.markdown {
		return errors.New("--json and --markdown are two formats; choose one")
	}
	switch {
	case f.on == onBoth && f.divided():
		return fmt.Errorf("a command with --on %s cannot be divided: only simulated runs have the same result on each machine", f.on)
	case f.on == onBoth && f.out != "":
		return errors.New("--out writes a matrix, but --on both prints how far simulation and real servers agree; leave out one of them")
	case f.on == onBoth && f.seeds != 1:
		return errors.New("--seeds cannot be combined with --on both; use --repeat, which repeats runs with one seed")
	case f.on == onBoth:
		return f.agreement(c, args, agreementFlags{f.repeat, f.json, f.markdown})
	case c.Flags().Changed("repeat"):
		return errors.New("--repeat is for --on both: it sets how often a run is made on real servers")
	}
	m, err := f.matrix(c, args, f.seeds)
	if err != nil || m == nil {
		return err
	}
	w := c.OutOrStdout()
	switch {
	case f.json:
		err = writeMatrixJSON(w, m)
	case f.markdown:
		err = m.WriteMarkdown(w)
	default:
		err = m.WriteText(w, pictures.MatrixOptions{Columns: columns(w), Paint: roles(w)})
	}
	if err != nil {
		return err
	}
	if f.out != "" {
		files, err := writeMatrix(c.Context(), f.out, m)
		if err != nil {
			return err
		}
		if !f.json && !f.markdown {
			fmt.Fprintf(w, "\nwritten: %s\n", reports.Visible(strings.Join(files, ", ")))
		}
	}
	return f.matrixStatus(m)
}

// columns is how wide a list, a table or a matrix may be: as wide as the terminal or, without one, as COLUMNS says, by default 80 columns.
func columns(w io.Writer) int {
	if out, ok := w.(*output); ok && isTerminal(w) {
		if n, _, err := term.GetSize(int(out.Fd())); err == nil && n > 0 {
			return n
		}
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return 80
}

// compared lists the libraries in their default configuration, each after the lock that it is most like.
func (k known) compared() []string {
	var names []string
	for _, l := range k.base() {
		if len(l.Like) > 0 && !slices.Contains(names, l.Like[0]) {
			names = append(names, l.Like[0])
		}
		names = append(names, l.Name)
	}
	return names
}

// matrix makes the runs, and collects them in a matrix; nil for a shard.
func (f *runFlags) matrix(c *cobra.Command, args []string, seeds int) (*pictures.Matrix, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if err := f.divisible(c); err != nil {
		return nil, err
	}
	command := f.matrixCommand(args, seeds)
	named, locks := args, f.locks
	f.known.everywhere = true
	if f.locks = once(f.locks); len(f.locks) == 0 {
		f.locks = f.known.compared()
	}
	args, err := withoutSweeps(args)
	if err != nil {
		return nil, err
	}
	chosen, err := f.choose(c, args)
	if err != nil {
		return nil, err
	}
	chosen = merged(chosen)
	if err := makeOut(f.out); err != nil {
		return nil, err
	}
	var cases []play.Case
	for i := range seeds {
		seed := f.seed
		if i > 0 {
			seed = cmp.Or(f.seed, 1) + uint64(i)
		}
		cases = append(cases, f.cases(chosen, seed)...)
	}
	if err := f.open(c, named, f.out, locks...); err != nil {
		return nil, err
	}
	outcomes, err := f.runAll(c, cases)
	if f.divided() {
		return nil, f.end(c, f.out, err)
	}
	if err != nil {
		return nil, err
	}
	m := &pictures.Matrix{Command: command, On: f.on, Seed: cmp.Or(f.seed, 1), Seeds: seeds}
	versions := built()
	for _, name := range f.locks {
		column := pictures.MatrixLock{Name: name, Like: f.known.like(name)}
		if l, ok := f.known.library(name); ok {
			column.Module, column.Version, column.Restless = l.Module, versions[l.Module], l.Restless
		}
		m.Locks = append(m.Locks, column)
	}
	each := len(cases) / seeds
	type page struct {
		scenario *script.Scenario
		label    string
	}
	var pages []page
	entries := map[page][]entry{}
	for i := range each {
		var e entry
		for n := range seeds {
			e = append(e, outcomes[n*each+i])
		}
		p := page{e[0].Scenario, e.run().Label}
		if entries[p] == nil {
			pages = append(pages, p)
		}
		entries[p] = append(entries[p], e)
	}
	for _, p := range pages {
		f.rows(m, entries[p])
	}
	sortMatrix(m)
	return m, nil
}

// withoutSweeps returns the names of all scenarios of the catalogue that are not swept, if no argument names any: a sweep takes
// hundreds of runs for each lock.
func withoutSweeps(args []string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	stories, err := script.Stories()
	var names []string
	for _, s := range stories {
		names = append(names, s.Name)
	}
	return names, err
}

// merged combines arguments that name the same scenario, so that no cell occurs twice.
func merged(chosen []selection) []selection {
	var all []selection
	for _, s := range chosen {
		i := slices.IndexFunc(all, func(a selection) bool { return a.scenario.File == s.scenario.File && a.file == s.file })
		if i < 0 {
			all = append(all, s)
			continue
		}
		for _, r := range s.runs {
			if !slices.ContainsFunc(all[i].runs, func(q script.Section) bool { return q.ID() == r.ID() && q.Lock == r.Lock }) {
				all[i].runs = append(all[i].runs, r)
			}
		}
	}
	return all
}

// matrixCommand is the command that prints the matrix again.
func (f *runFlags) matrixCommand(args []string, seeds int) string {
	words := []string{"lockstep matrix"}
	for _, a := range args {
		words = append(words, operand(a))
	}
	if len(f.locks) > 0 {
		words = append(words, "--lock "+quoted(strings.Join(once(f.locks), ",")))
	}
	if f.seed > 1 {
		words = append(words, fmt.Sprintf("--seed %d", f.seed))
	}
	if seeds != 1 {
		words = append(words, fmt.Sprintf("--seeds %d", seeds))
	}
	if f.on != play.OnSim {
		words = append(words, strings.TrimSpace(f.place()))
	}
	return strings.Join(words, " ")
}

// matrixStatus is the exit status of a matrix. UNKNOWN outranks a lock that is worse than its reference.
func (f *runFlags) matrixStatus(m *pictures.Matrix) error {
	var all []status
	for _, g := range m.Groups {
		for _, r := range g.Rows {
			for _, c := range r.Cells {
				switch {
				case c.Verdict == checker.Inconclusive:
					all = append(all, exitUnknown)
				case c.Against == pictures.Worse:
					all = append(all, exitUnexpected)
				}
			}
		}
	}
	return worst(all)
}
