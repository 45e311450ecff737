package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/reports"
	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// mostSeeds is the most seeds that a matrix may have. Each cell has one run for each seed, and all outcomes are kept until the end.
const mostSeeds = 1000

func newMatrix(k known) *cobra.Command {
	f := &runFlags{known: k}
	var seeds, repeat int
	var markdown bool
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
		RunE: func(c *cobra.Command, args []string) error {
			if seeds < 1 || seeds > mostSeeds {
				return fmt.Errorf("--seeds %d: it must be between 1 and %d", seeds, mostSeeds)
			}
			if f.json && markdown {
				return errors.New("--json and --markdown are two formats; choose one")
			}
			switch {
			case f.on == onBoth && f.out != "":
				return errors.New("--out writes a matrix, but --on both prints how far simulation and real servers agree; leave out one of them")
			case f.on == onBoth && seeds != 1:
				return errors.New("--seeds cannot be combined with --on both; use --repeat, which repeats runs with one seed")
			case f.on == onBoth:
				return f.agreement(c, args, agreementFlags{repeat, f.json, markdown})
			case c.Flags().Changed("repeat"):
				return errors.New("--repeat is for --on both: it sets how often a run is made on real servers")
			}
			m, err := f.matrix(c, args, seeds)
			if err != nil {
				return err
			}
			w := c.OutOrStdout()
			switch {
			case f.json:
				err = writeMatrixJSON(w, m)
			case markdown:
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
				if !f.json && !markdown {
					fmt.Fprintf(w, "\nwritten: %s\n", reports.Visible(strings.Join(files, ", ")))
				}
			}
			return f.matrixStatus(m)
		},
	}
	f.common(c)
	c.Flags().StringSliceVar(&f.locks, "lock", nil, "the columns, each a lock or a library: `NAME,...`; see lockstep list")
	c.Flags().Lookup("on").Usage = "run on `WHERE`: sim; redis (servers for the run); or both, and compare"
	c.Flags().IntVar(&repeat, "repeat", 1, "--on both: how often each run is made on real servers")
	c.Flags().IntVar(&seeds, "seeds", 1, "number of seeds, from --seed on; a cell shows the worst result")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	c.Flags().BoolVar(&markdown, "markdown", false, "print Markdown")
	c.Flags().Var((*fileValue)(&f.out), "out", "write matrix.svg, .png, .md and .json to `DIR`")
	c.Flags().IntVar(&f.workers, "workers", 0, "number of processes (default one per core)")
	return c
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

// matrix makes the runs, and collects them in a matrix.
func (f *runFlags) matrix(c *cobra.Command, args []string, seeds int) (*pictures.Matrix, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	command := f.matrixCommand(args, seeds)
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
	outcomes, err := f.runAll(c, cases)
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

// operand quotes an argument for a shell, and keeps a file whose name begins with a dash from being taken for options.
func operand(word string) string {
	if strings.HasPrefix(word, "-") {
		word = "." + string(filepath.Separator) + word
	}
	return quoted(word)
}

// quoted quotes a word for a shell if necessary.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("-_./,:=@%+", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	if reports.Visible(word) == word {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return "$'" + escaped(word) + "'"
}

// escaped writes a word between $' and ', where shells accept a byte as its number. All of it is visible, and a shell still reads the
// same word.
func escaped(word string) string {
	var b strings.Builder
	for len(word) > 0 {
		_, n := utf8.DecodeRuneInString(word)
		part := word[:n]
		word = word[n:]
		switch {
		case part == "'" || part == `\`:
			b.WriteString(`\` + part)
		case reports.Visible(part) == part:
			b.WriteString(part)
		default:
			for _, c := range []byte(part) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
	}
	return b.String()
}

// kindOf is the group of a scenario.
func (f *runFlags) kindOf(s *script.Scenario) string {
	for _, a := range adversities {
		if !f.files[s] && slices.Contains(a.scenarios, s.Name) {
			return a.kind
		}
	}
	return elsewhere
}

// An entry has the outcomes of one run of a matrix with all seeds.
type entry []*play.Outcome

func (e entry) run() script.Section { return e[0].Run }

// variants are the ways to name the rows of a scenario, such that no lock has two cells in one row: by the label; by the number of nodes
// as well, for a lock that has runs on one node and on several; or by the lock whose run it is.
var variants = []func(script.Section) string{
	func(r script.Section) string { return strings.ReplaceAll(r.Label, "-", " ") },
	func(r script.Section) string {
		nodes := "on one node"
		if r.Nodes > 1 {
			nodes = fmt.Sprintf("on %d nodes", r.Nodes)
		}
		return joined(strings.ReplaceAll(r.Label, "-", " "), nodes)
	},
	func(r script.Section) string {
		return joined(strings.ReplaceAll(r.Label, "-", " "), "in place of "+r.Reference())
	},
}

func joined(label, more string) string {
	if label == "" {
		return more
	}
	return label + ", " + more
}

// rows sorts the runs of one scenario that have the same label into rows, and adds these to their group.
func (f *runFlags) rows(m *pictures.Matrix, entries []entry) {
	first := entries[0][0]
	name := variants[len(variants)-1]
	for _, variant := range variants {
		seen := map[[2]string]bool{}
		twice := slices.ContainsFunc(entries, func(e entry) bool {
			at := [2]string{variant(e.run()), e.run().Lock}
			defer func() { seen[at] = true }()
			return seen[at]
		})
		if !twice {
			name = variant
			break
		}
	}
	kind := f.kindOf(first.Scenario)
	g := slices.IndexFunc(m.Groups, func(g pictures.MatrixGroup) bool { return g.Kind == kind })
	if g < 0 {
		g = len(m.Groups)
		m.Groups = append(m.Groups, pictures.MatrixGroup{Kind: kind})
	}
	group := &m.Groups[g]
	start := len(group.Rows)
	for _, e := range entries {
		variant := name(e.run())
		r := slices.IndexFunc(group.Rows[start:], func(r pictures.MatrixRow) bool { return r.Variant == variant })
		if r < 0 {
			r = len(group.Rows) - start
			group.Rows = append(group.Rows, pictures.MatrixRow{Scenario: reports.Visible(first.Scenario.Name), Title: first.Scenario.Title, Variant: variant})
		}
		row := &group.Rows[start+r]
		row.Cells = append(row.Cells, f.cell(e))
	}
	for i := range group.Rows[start:] {
		row := &group.Rows[start+i]
		e := entries[slices.IndexFunc(entries, func(e entry) bool { return name(e.run()) == row.Variant })]
		for _, lock := range f.locks {
			if !slices.ContainsFunc(row.Cells, func(c pictures.MatrixCell) bool { return c.Lock == lock }) {
				row.Cells = append(row.Cells, pictures.MatrixCell{Lock: lock, Inapplicable: f.known.notFor(lock, e.run())})
			}
		}
	}
}

// notFor says why a run that names another lock does not apply to a lock.
func (k known) notFor(lock string, r script.Section) string {
	several := func(name string) bool { return k.nodes(name) > 1 }
	of := r.Reference()
	switch {
	case several(of) && !several(lock):
		return "the lock uses one node, and the run needs several"
	case !several(of) && several(lock) && !slices.ContainsFunc(k.like(lock), func(name string) bool { return !several(name) }):
		return "the lock needs several nodes, and the run has one"
	}
	i := slices.IndexFunc(k.locks, func(l clients.Lock) bool { return l.Name == of })
	if i < 0 {
		return "the run is only for " + of
	}
	return fmt.Sprintf("the run is only for locks like %s (%s)", of, k.locks[i].About)
}

// cell sums up one run with all seeds. Its command and its reason are those of the first seed that shows what the cell says: that the
// lock is worse, if it is, and the verdict.
func (f *runFlags) cell(e entry) pictures.MatrixCell {
	o := e[0]
	reference := f.reference(o)
	c := pictures.MatrixCell{
		Lock: o.Run.Lock, Run: reports.Visible(o.Name()), Reference: reference.Reference(), Verdict: checker.Safe, Broken: []checker.Assumption{}, Against: pictures.AsReference,
	}
	shown, rank := o, -1
	for _, o := range e {
		if o.Repeat != "" && c.Repeat == "" {
			c.Repeat = fmt.Sprintf("with the same seed %s", o.Repeat)
		}
		r := 0
		switch o.Result.Verdict {
		case checker.Unsafe:
			c.Verdict, r = checker.Unsafe, 2
			c.Unsafe++
		case checker.Inconclusive:
			r = 1
			if c.Verdict == checker.Safe {
				c.Verdict = checker.Inconclusive
			}
		}
		if len(worseThan(reference, o)) > 0 {
			c.Against = pictures.Worse
			r += 3
		}
		if r > rank {
			shown, rank = o, r
		}
	}
	for _, a := range checker.Assumptions() {
		if slices.ContainsFunc(e, func(o *play.Outcome) bool {
			return (o.Result.Verdict == c.Verdict || o == shown) && slices.ContainsFunc(o.Result.Violations, func(v checker.Violation) bool { return v.Assumption == a })
		}) {
			c.Broken = append(c.Broken, a)
		}
	}
	if expected := (&play.Outcome{Run: reference}).ExpectedVerdict(); c.Verdict == checker.Safe && expected == checker.Unsafe {
		c.Against = pictures.Better
	}
	if c.Inapplicable = o.Inapplicable(); c.Inapplicable != "" {
		return pictures.MatrixCell{Lock: c.Lock, Run: c.Run, Reference: c.Reference, Inapplicable: "the lock cannot do what the run asks for: " + c.Inapplicable}
	}
	switch worse := worseThan(reference, shown); {
	case len(worse) > 0:
		c.Why = inWords(worse)
	case shown.Result.Verdict == checker.Inconclusive:
		c.Why = strings.Join(shown.Result.Unmet, "; ")
	}
	c.Command = f.again(shown)
	return c
}

// reference is the run that a lock is compared with: the run in which it replaces another lock. If a scenario itself has a run of a
// library, it is the same run of the first lock that the library is like.
func (f *runFlags) reference(o *play.Outcome) script.Section {
	l, ok := f.known.library(o.Run.Lock)
	if !ok || o.Run.Lock != o.Run.Reference() {
		return o.Run
	}
	own, err := o.Scenario.FindRun(o.Run.ID())
	if err != nil {
		return o.Run
	}
	for _, like := range l.Like {
		for _, r := range o.Scenario.Runs {
			if r.Lock == like && o.Scenario.Resolve(r).SameButForLock(o.Scenario.Resolve(own)) {
				return r
			}
		}
	}
	return o.Run
}

// worseThan lists the violations that refute the claim that a lock is as good as its reference, the first of each property: those of
// properties that the reference is expected to keep, and those that are the lock's own fault where the reference violates the property
// only if an assumption is broken.
func worseThan(reference script.Section, o *play.Outcome) []checker.Violation {
	var worse []checker.Violation
	claimed := play.Outcome{Scenario: o.Scenario, Run: reference, Result: o.Result}
	for _, b := range claimed.Broken() {
		if !slices.ContainsFunc(worse, func(v checker.Violation) bool { return v.Property == b.Property }) {
			worse = append(worse, b.Violation)
		}
	}
	return worse
}

// inWords names the violated properties, and describes the first violation.
func inWords(violations []checker.Violation) string {
	first := violations[0]
	why := string(first.Assumption) + " broken"
	if first.Assumption == checker.None {
		why = "its own fault"
	}
	s := fmt.Sprintf("%s violated, %s: %s", first.Property, why, first.What)
	for i, v := range violations[1:] {
		if i == 0 {
			s += "; so was "
		} else {
			s += ", "
		}
		s += string(v.Property)
	}
	return s
}

// sortMatrix sorts groups and rows in the order of the adversities. Rows of one scenario keep the order of its file, except that the one
// without a variant comes first.
func sortMatrix(m *pictures.Matrix) {
	place := func(kind string) int {
		i := slices.IndexFunc(adversities, func(a adversity) bool { return a.kind == kind })
		if i < 0 {
			return len(adversities)
		}
		return i
	}
	slices.SortStableFunc(m.Groups, func(a, b pictures.MatrixGroup) int { return cmp.Compare(place(a.Kind), place(b.Kind)) })
	for _, g := range m.Groups {
		var order []string
		if i := place(g.Kind); i < len(adversities) {
			order = adversities[i].scenarios
		} else {
			for _, r := range g.Rows {
				order = append(order, r.Scenario)
			}
		}
		slices.SortStableFunc(g.Rows, func(a, b pictures.MatrixRow) int {
			return cmp.Or(
				cmp.Compare(slices.Index(order, a.Scenario), slices.Index(order, b.Scenario)),
				cmp.Compare(min(len(a.Variant), 1), min(len(b.Variant), 1)),
			)
		})
	}
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
