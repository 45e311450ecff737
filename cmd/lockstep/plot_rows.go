package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// Scenarios in which nothing goes wrong, which the catalogue does not have.
var (
	//go:embed plot_contended.txtar
	contendedPage string
	//go:embed plot_alone.txtar
	alonePage string
)

// A rowKind is a kind of plot that has a row for each lock.
type rowKind struct {
	name, short, long, example string
	quantity                   checker.Quantity
	pages                      []string // the texts of the default scenarios, if they are part of the program
	page                       string   // the default scenario, if it is in the catalogue
	what                       string   // describes the default scenarios
	seeds                      int      // the default number of seeds
	plot                       func(rows []pictures.PlotRow, what string) (*pictures.Plot, error)
}

var rowKinds = []rowKind{
	{
		name: "wait", quantity: checker.Wait, plot: pictures.NewWaitPlot, pages: []string{contendedPage}, seeds: 20,
		what:  "five clients want the lock four times each, hold it for 30 ms, and try again 20 ms after their lock has given up",
		short: "Draw how long clients wait for the lock",
		long: `Wait draws the distribution of how long clients ask until they have the lock, over many seeds, with a
row for each lock. Consecutive tries are one wait. Without arguments, five clients want the lock four
times each, hold it for 30 ms, do something else for 50 ms, and try every 20 ms.`,
		example: `  lockstep plot wait --out plots
  lockstep plot wait --seeds 50 --lock single,redislock,rueidislock,redlock,redsync --out plots
  lockstep plot wait redlock-contended --seeds 200 --out plots`,
	},
	{
		name: "validity", quantity: checker.Validity, plot: pictures.NewValidityPlot, pages: []string{contendedPage}, seeds: 20,
		what:  "five clients want the lock four times each, hold it for 30 ms, and try again 20 ms after their lock has given up",
		short: "Draw how much of a lease is left when it is granted",
		long: `Validity draws the distribution of how much of a lease is left when its acquire returns, by the clock
of its client, over many seeds, with a row for each lock. Without arguments, five clients want the lock
four times each, hold it for 30 ms, do something else for 50 ms, and try every 20 ms.`,
		example: `  lockstep plot validity --seeds 50 --out plots
  lockstep plot validity born-expired slow-link --out plots`,
	},
	{
		name: "roundtrips", quantity: checker.RoundTrips, plot: pictures.NewRoundTripsPlot, pages: []string{alonePage, contendedPage}, seeds: 10,
		what:  "a client that is alone, and five that want the lock at once",
		short: "Draw how many requests a lease costs",
		long: `Roundtrips draws how many requests to the lock nodes a lease costs, with a bar for each lock, and how
much that differs between seeds. A request to several nodes at once counts once for each node. Without
arguments the runs are of a client that wants the lock alone, and of five that want it at once.`,
		example: `  lockstep plot roundtrips --lock single,redislock,redlock,redsync --out plots
  lockstep plot roundtrips efficiency redlock-contended --out plots`,
	},
	{
		name: "increments", quantity: checker.Increments, plot: pictures.NewIncrementsPlot, page: "lost-update", seeds: 1,
		what:  "clients add one to a number",
		short: "Draw what became of increments: counted, skipped, lost",
		long: `Increments draws what became of the increments that clients asked for: how many the counter shows at
the end, how many were skipped, and how many were lost after they were acknowledged. The three add up
to the number asked for. Without arguments the runs are those of lost-update.`,
		example: `  lockstep plot increments lost-update/nolock/many lost-update/watch/many --out plots
  lockstep run docs/counter.txtar --on redis --limit 10m --out counter
  lockstep plot increments counter/counter/*.jsonl --out plots`,
	},
}

func newPlotRows(k known, kind rowKind) *cobra.Command {
	f := &plotFlags{runFlags: runFlags{known: k}}
	c := &cobra.Command{
		Use:     kind.name + " [SCENARIO[/RUN] | FILE | HISTORY.jsonl]... --out DIR",
		Short:   kind.short,
		Long:    kind.long,
		Example: kind.example,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.checkPlot(); err != nil {
				return err
			}
			return f.plotRows(c, args, kind)
		},
	}
	f.common(c)
	f.where(c)
	c.Flags().StringSliceVar(&f.locks, "lock", nil, "only these locks and libraries, in this order: `NAME,...`; see lockstep list")
	c.Flags().IntVar(&f.seeds, "seeds", kind.seeds, "number of seeds, from --seed on")
	c.Flags().IntVar(&f.workers, "workers", 0, "number of processes (default one per core)")
	return c
}

func (f *plotFlags) plotRows(c *cobra.Command, args []string, kind rowKind) error {
	var names, histories []string
	for _, arg := range args {
		if filepath.Ext(arg) == ".jsonl" {
			histories = append(histories, arg)
		} else {
			names = append(names, arg)
		}
	}
	switch {
	case len(histories) > 0 && len(f.locks) > 0:
		return fmt.Errorf("%s: a history already has a lock; --lock is for scenarios", histories[0])
	case len(histories) > 0 && (c.Flags().Changed("seeds") || f.seed != 0 || f.on != play.OnSim):
		return fmt.Errorf("%s: a history is of a finished run; --seed, --seeds and --on are for scenarios", histories[0])
	case len(histories) > 0 && len(names) > 0:
		return fmt.Errorf("%s is a history, but %s is not: name either histories or scenarios", histories[0], names[0])
	}
	t := &rowTable{quantity: kind.quantity}
	var gone unended
	what, of := "", 0
	if len(histories) > 0 {
		bar := progress(c.ErrOrStderr(), len(histories))
		bar.describe("histories")
		defer bar.finish()
		for _, name := range histories {
			if err := c.Context().Err(); err != nil {
				return err
			}
			h, err := readHistory(c.Context(), name)
			if err != nil {
				return err
			}
			t.add(facts.Of(h))
			bar.add(1)
		}
		bar.finish()
	} else {
		cases, err := f.rowCases(c, names, kind)
		if err != nil {
			return err
		}
		of = len(cases)
		if len(names) == 0 {
			what = kind.what
		}
		err = f.play(c, cases, func(_ int, o *play.Outcome) {
			if o.Report != nil {
				gone.count(o)
				return
			}
			t.add(o.Facts)
		})
		if err != nil {
			return err
		}
	}
	rows := t.sorted(f.locks)
	if len(rows) == 0 {
		return gone.tell(c.ErrOrStderr(), of)
	}
	p, err := kind.plot(rows, t.story(what))
	if err != nil {
		return errors.Join(err, gone.tell(c.ErrOrStderr(), of))
	}
	if err := f.save(c, kind.name, p); err != nil {
		return err
	}
	if restless := f.restless(rows); len(histories) == 0 && len(restless) > 0 && !f.json {
		printWrapped(c.OutOrStdout(), strings.Join(restless, " and ")+": runs are not reproducible to the byte, so the figures may be slightly different the next time")
	}
	return gone.tell(c.ErrOrStderr(), of)
}

// restless lists the restless locks of some rows.
func (f *plotFlags) restless(rows []pictures.PlotRow) []string {
	var names []string
	for _, r := range rows {
		if l, ok := f.known.library(r.Lock); ok && l.Restless {
			names = append(names, r.Lock)
		}
	}
	return once(names)
}

// rowCases returns the runs of a plot, with all seeds.
func (f *plotFlags) rowCases(c *cobra.Command, names []string, kind rowKind) ([]play.Case, error) {
	f.locks = once(f.locks)
	var chosen []selection
	if len(names) == 0 && len(kind.pages) > 0 {
		for _, l := range f.locks {
			if err := f.known.check(l); err != nil {
				return nil, err
			}
		}
		for i, page := range kind.pages {
			title, _, _ := strings.Cut(strings.TrimPrefix(page, "# "), "\n")
			s, err := script.Parse(pageName(page), []byte(page))
			if err != nil {
				panic(fmt.Sprintf("lockstep: page %d, %s: %v", i, title, err))
			}
			sel := selection{scenario: s, runs: s.Runs}
			if err := sel.keep(f.known, f.locks); err != nil {
				return nil, err
			}
			if len(sel.runs) == 0 {
				return nil, f.known.noRun([]selection{{scenario: s}}, f.locks)
			}
			chosen = append(chosen, sel)
		}
	} else {
		if len(names) == 0 {
			names = []string{kind.page}
		}
		var err error
		if chosen, err = f.choose(c, names); err != nil {
			return nil, err
		}
	}
	var cases []play.Case
	for i := range f.seeds {
		seed := f.seed
		if f.seeds > 1 {
			seed = cmp.Or(f.seed, 1) + uint64(i)
		}
		cases = append(cases, f.cases(chosen, seed)...)
	}
	return cases, nil
}

// pageName is the file name of a scenario that is part of the program.
func pageName(page string) string {
	if page == alonePage {
		return "alone.txtar"
	}
	return "contended.txtar"
}

// A rowTable sorts runs into rows. The runs of a row differ only in the seed.
type rowTable struct {
	quantity checker.Quantity
	keys     []rowKey
	runs     map[rowKey][]pictures.PlotRun
}

type rowKey struct {
	scenario, lock, in, label string // in is the lock that it replaced
	nodes                     int
	on                        string
}

func (t *rowTable) add(f *facts.Facts) {
	m := f.Meta
	k := rowKey{m.Scenario, m.Lock, m.For, m.Label, len(m.Nodes), m.On}
	if t.runs == nil {
		t.runs = map[rowKey][]pictures.PlotRun{}
	}
	if t.runs[k] == nil {
		t.keys = append(t.keys, k)
	}
	t.runs[k] = append(t.runs[k], pictures.NewPlotRun(f, t.quantity))
}

// story describes the runs: in the given words or by their scenarios, then the seeds, and where the runs were made.
func (t *rowTable) story(words string) string {
	var all []string
	if words != "" {
		all = append(all, words)
	} else {
		var names []string
		for _, k := range t.keys {
			if !slices.Contains(names, k.scenario) {
				names = append(names, k.scenario)
			}
		}
		if len(names) > 4 {
			names = append(names[:3], fmt.Sprintf("%d others", len(names)-3))
		}
		all = append(all, strings.Join(names, ", "))
	}
	var least, most uint64
	for _, runs := range t.runs {
		for _, r := range runs {
			if least == 0 || r.Meta.Seed < least {
				least = r.Meta.Seed
			}
			most = max(most, r.Meta.Seed)
		}
	}
	if least == most {
		all = append(all, fmt.Sprintf("seed %d", least))
	} else {
		all = append(all, fmt.Sprintf("seeds %d to %d", least, most))
	}
	worlds := map[string]string{play.OnSim: "in simulation", play.OnReal: "on real Redis servers"}
	one := !slices.ContainsFunc(t.keys, func(k rowKey) bool { return k.on != t.keys[0].on })
	if where := worlds[t.keys[0].on]; one && where != "" {
		all = append(all, where)
	}
	return strings.Join(all, "; ")
}

// sorted returns the rows, those of a lock together. Each row says how it differs from the others of its lock, and nothing more.
func (t *rowTable) sorted(locks []string) []pictures.PlotRow {
	var order []string
	for _, k := range t.keys {
		order = append(order, k.lock)
	}
	order = append(slices.Clone(locks), order...)
	keys := slices.Clone(t.keys)
	slices.SortStableFunc(keys, func(a, b rowKey) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.lock), slices.Index(order, b.lock)), cmp.Compare(a.nodes, b.nodes))
	})
	parts := []func(rowKey) string{
		func(k rowKey) string { return k.scenario },
		func(k rowKey) string { return k.label },
		func(k rowKey) string { return k.on },
	}
	nodes := func(k rowKey) string { return "on " + many(k.nodes, "node") }
	for _, k := range keys { // name the lock that was replaced if the number of nodes does not distinguish the rows
		if slices.ContainsFunc(keys, func(o rowKey) bool { return o.in != k.in && o.lock == k.lock && o.nodes == k.nodes }) {
			parts = append(parts, func(k rowKey) string {
				if k.in == "" {
					return ""
				}
				return "for " + k.in
			})
			break
		}
	}
	var kept []func(rowKey) string
	for _, part := range parts {
		if slices.ContainsFunc(keys, func(k rowKey) bool { return differs(keys, k, part) }) {
			kept = append(kept, part)
		}
	}
	var rows []pictures.PlotRow
	for _, k := range keys {
		row := pictures.PlotRow{Lock: k.lock, Runs: t.runs[k]}
		if differs(keys, k, nodes) {
			row.Place = nodes(k)
		}
		var words []string
		for _, part := range kept {
			if w := part(k); w != "" {
				words = append(words, w)
			}
		}
		row.Variant = strings.Join(words, ", ")
		rows = append(rows, row)
	}
	return rows
}

// differs reports whether another row of the same lock has a different value.
func differs(keys []rowKey, k rowKey, of func(rowKey) string) bool {
	return slices.ContainsFunc(keys, func(o rowKey) bool { return o.lock == k.lock && of(o) != of(k) })
}
