package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/reports/pictures"
	"lockstep/scenarios/files"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
)

// cellRuns is how many runs a cell has by default.
const cellRuns = 100

// runGrid draws the map that --grid asks for, or continues it after an interruption.
func (f *exploreFlags) runGrid(c *cobra.Command, args []string) error {
	g, err := f.newGrid(c, args)
	if err != nil {
		return err
	}
	properties, err := parseProperties(f.property)
	if err != nil {
		return err
	}
	m := &gridMap{Grid: g, lock: f.shape.Lock, properties: counted(properties), dir: f.out, known: map[search.Place]search.Tally{}}
	if err := m.open(c.Context(), f.known.versions()); err != nil {
		return err
	}
	build, err := f.known.find(f.shape.Lock)
	if err != nil {
		return err
	}
	lib, _ := f.known.library(f.shape.Lock)
	s := &search.Search{Lock: f.shape.Lock, Restless: lib.Restless, Properties: m.properties, Workers: f.workers, New: build}
	stop, err := f.start(s)
	if err != nil {
		return err
	}
	defer stop()
	err = m.play(c, s)
	if e := m.draw(c.Context()); e != nil {
		return errors.Join(err, e)
	}
	if err != nil {
		all, done := len(g.Places()), len(m.known)
		fmt.Fprintf(c.ErrOrStderr(), "%s of %s cells are done, and drawn in %s; the same command continues with the other %s\n",
			search.Grouped(done), search.Grouped(all), m.file(".png"), search.Grouped(all-done))
		return err
	}
	return m.print(c.OutOrStdout(), f.json)
}

// counted lists properties in their order, each once. If all are named it returns none, as if none were named.
func counted(named []checker.Property) []checker.Property {
	all := checker.Properties()
	kept := slices.DeleteFunc(slices.Clone(all), func(p checker.Property) bool { return !slices.Contains(named, p) })
	if len(kept) == len(all) {
		return nil
	}
	return kept
}

// newGrid makes the map that the flags describe.
func (f *exploreFlags) newGrid(c *cobra.Command, args []string) (*search.Grid, error) {
	for _, name := range []string{"bound", "time", "strategy", "kinds", "without", "first", "verbose"} {
		if c.Flags().Changed(name) {
			return nil, fmt.Errorf("--%s is for a search; a map has --grid, --runs and --seed", name)
		}
	}
	switch {
	case len(args) > 0:
		return nil, fmt.Errorf("%s: a map makes its own runs, from --lock, --nodes and so on", args[0])
	case f.out == "":
		return nil, errors.New("--grid needs --out DIR: it writes a table and a picture there, and continues them after an interruption")
	}
	g := &search.Grid{Shape: f.shape, Runs: f.runs, Seed: f.seed}
	if g.Runs == 0 {
		g.Runs = cellRuns
	}
	if g.Shape.Nodes == 0 {
		g.Shape.Nodes = f.known.nodes(f.shape.Lock)
	}
	for _, text := range f.grid {
		a, err := search.ParseAxis(text)
		if err != nil {
			return nil, fmt.Errorf("--grid: %w", err)
		}
		if !a.Perturbs() && c.Flags().Changed(a.Name) {
			return nil, fmt.Errorf("--%s: --grid %s sets that already", a.Name, text)
		}
		g.Axes = append(g.Axes, a)
	}
	if err := g.Check(); err != nil {
		return nil, fmt.Errorf("--grid: %w", err)
	}
	return g, nil
}

// A gridMap is a map and its files: grid.json describes the question, grid.csv has a row for each finished cell, and grid.svg and grid.png
// show them. The columns low95 and high95 of grid.csv are the confidence interval for independent draws. But the runs of a cell are
// perturbed at evenly spread places, and its neighbours at the same ones: see [search.Tally.Interval].
type gridMap struct {
	*search.Grid
	lock       string
	properties []checker.Property // those whose violation makes a run unsafe; empty for all
	dir        string
	known      map[search.Place]search.Tally
	saved      time.Time
}

func (m *gridMap) file(ending string) string { return filepath.Join(m.dir, "grid"+ending) }

// gridQuestion is the content of grid.json. Only cells that answer the same question belong to one map.
type gridQuestion struct {
	Lock        string   `json:"lock"`
	Nodes       int      `json:"nodes"`
	Replicas    int      `json:"replicas"`
	MinReplicas int      `json:"min_replicas"`
	Persistence string   `json:"persistence"`
	Pool        string   `json:"pool,omitempty"`
	Clients     int      `json:"clients"`
	Resource    string   `json:"resource"`
	TTL         string   `json:"ttl"`
	Extend      bool     `json:"extend"`
	Axes        []string `json:"axes"` // a quantity that an axis varies has its first value above
	Runs        int      `json:"runs"`
	Seed        uint64   `json:"seed"`
	Versions    []module `json:"versions"`
	// Properties are those that count; empty for all.
	Properties []checker.Property `json:"properties,omitempty"`
}

// open reads the files of an earlier run, and refuses those of another question.
func (m *gridMap) open(ctx context.Context, versions []module) error {
	s := m.ShapeAt(search.Place{})
	q := gridQuestion{
		Lock: m.lock, Nodes: s.Nodes, Replicas: s.Replicas, MinReplicas: s.MinReplicas, Persistence: s.Persistence, Pool: s.Pool, Clients: s.Clients,
		Resource: s.Resource, TTL: history.FormatDuration(s.TTL), Extend: s.Extend, Runs: m.Runs, Seed: m.Seed, Versions: versions,
		Properties: m.properties,
	}
	for _, a := range m.Axes {
		q.Axes = append(q.Axes, a.String())
	}
	asked, err := json.MarshalIndent(q, "", "  ")
	if err != nil {
		return err
	}
	asked = append(asked, '\n')
	if err := makeOut(m.dir); err != nil {
		return err
	}
	before, err := files.Read(ctx, m.file(".json"), largestFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(m.file(".csv")); err == nil {
			return fmt.Errorf("%s exists without %s, which describes it; name another --out", m.file(".csv"), filepath.Base(m.file(".json")))
		}
		return writeFile(ctx, m.file(".json"), func(w io.Writer) error {
			_, err := w.Write(asked)
			return err
		})
	case err != nil:
		return err
	}
	if diff, err := questionDifference(before, asked); err != nil {
		return fmt.Errorf("%s does not describe a map (%w); choose another --out, or remove this file and grid.csv", m.file(".json"), err)
	} else if name, at, twice := history.Duplicate(before); twice {
		return fmt.Errorf("%s:%d: the field %q occurs twice; each field must occur once", m.file(".json"), 1+bytes.Count(before[:at], []byte("\n")), history.Shortened(name, 100))
	} else if diff != "" {
		return fmt.Errorf("%s holds another map (%s); name another --out, or remove its grid.json and grid.csv", m.dir, diff)
	}
	return m.read(ctx)
}

// questionDifference says how two questions differ.
func questionDifference(there, here []byte) (string, error) {
	var a, b map[string]json.RawMessage
	if err := json.Unmarshal(there, &a); err != nil {
		return "", err
	}
	if err := json.Unmarshal(here, &b); err != nil {
		return "", err
	}
	compact := func(v json.RawMessage) string {
		var text bytes.Buffer
		if v == nil || json.Compact(&text, v) != nil {
			return "nothing"
		}
		return text.String()
	}
	var diffs []string
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if x, y := compact(a[name]), compact(b[name]); x != y {
			diffs = append(diffs, fmt.Sprintf("%s: %s there, %s here", name, x, y))
		}
	}
	return strings.Join(diffs, "; "), nil
}

// columns returns the names of the columns of grid.csv.
func (m *gridMap) columns() []string {
	var all []string
	for _, a := range m.Axes {
		name := strings.ReplaceAll(a.Name, "-", "_")
		if a.Unit() != search.Number {
			name += "_" + string(a.Unit())
		}
		all = append(all, name)
	}
	all = append(all, "runs", "unsafe", "share", "low95", "high95", "unproved", "no_effect")
	for _, p := range checker.Properties() {
		all = append(all, strings.ReplaceAll(string(p), " ", "_"))
	}
	return all
}

// row is a cell in grid.csv.
func (m *gridMap) row(at search.Place, t search.Tally) []string {
	var all []string
	for i, a := range m.Axes {
		all = append(all, a.Text(at[i]))
	}
	low, high := t.Interval()
	share := func(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }
	all = append(all, strconv.Itoa(t.Runs), strconv.Itoa(t.Unsafe), share(t.Share()), share(low), share(high), strconv.Itoa(t.Unproved), strconv.Itoa(t.Idle))
	for _, p := range checker.Properties() {
		all = append(all, strconv.Itoa(t.Violated[p]))
	}
	return all
}

// read reads grid.csv if it exists.
func (m *gridMap) read(ctx context.Context) error {
	data, err := files.Read(ctx, m.file(".csv"), largestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	const anew = "choose another --out, or remove this file and grid.json"
	places := map[string]search.Place{}
	for _, at := range m.Places() {
		places[strings.Join(m.row(at, search.Tally{})[:len(m.Axes)], ",")] = at
	}
	r := csv.NewReader(bytes.NewReader(data))
	if head, err := r.Read(); err == nil && !slices.Equal(head, m.columns()) {
		return fmt.Errorf("%s:1: the columns are not %s; %s", m.file(".csv"), strings.Join(m.columns(), ","), anew)
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w; %s", m.file(".csv"), err, anew)
		}
		line, _ := r.FieldPos(0)
		at, ok := places[strings.Join(row[:len(m.Axes)], ",")]
		if !ok {
			return fmt.Errorf("%s:%d: this is not a cell of the map; %s", m.file(".csv"), line, anew)
		}
		t, e := m.tally(row)
		if e != nil || !slices.Equal(m.row(at, t), row) {
			return fmt.Errorf("%s:%d: this row was changed; remove it, and its cell is run again", m.file(".csv"), line)
		}
		m.known[at] = t
	}
}

// tally parses the counts of a row.
func (m *gridMap) tally(row []string) (search.Tally, error) {
	var t search.Tally
	counts := map[string]*int{"runs": &t.Runs, "unsafe": &t.Unsafe, "unproved": &t.Unproved, "no_effect": &t.Idle}
	violated := make([]int, len(checker.Properties()))
	for i, p := range checker.Properties() {
		counts[strings.ReplaceAll(string(p), " ", "_")] = &violated[i]
	}
	for i, name := range m.columns() {
		n, ok := counts[name]
		if !ok {
			continue
		}
		var err error
		if *n, err = strconv.Atoi(row[i]); err != nil {
			return t, err
		}
	}
	t.Violated = map[checker.Property]int{}
	for i, p := range checker.Properties() {
		if violated[i] > 0 {
			t.Violated[p] = violated[i]
		}
	}
	if t.Runs != m.Runs {
		return t, fmt.Errorf("%d runs", t.Runs)
	}
	return t, nil
}

// save writes grid.csv in the order of the cells, not in the order in which they were finished.
func (m *gridMap) save(ctx context.Context) error {
	m.saved = time.Now()
	return writeFile(ctx, m.file(".csv"), func(w io.Writer) error {
		table := csv.NewWriter(w)
		rows := [][]string{m.columns()}
		for _, at := range m.Places() {
			if t, ok := m.known[at]; ok {
				rows = append(rows, m.row(at, t))
			}
		}
		return table.WriteAll(rows)
	})
}

// saveEvery is how often finished cells are saved. Later ones are lost if the process is killed.
const saveEvery = time.Second

// play runs the missing cells. Finished cells are saved however it ends. It ends if they cannot be saved.
func (m *gridMap) play(c *cobra.Command, s *search.Search) error {
	missing := len(m.Places()) - len(m.known)
	bar := progress(c.ErrOrStderr(), missing*m.Runs)
	bar.describe("runs")
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(nil)
	err := m.Play(ctx, s, m.known, func(runs int) { bar.add(runs) }, func(at search.Place, t search.Tally) {
		m.known[at] = t
		if time.Since(m.saved) > saveEvery {
			if err := m.save(ctx); err != nil {
				cancel(err)
			}
		}
	})
	bar.finish()
	if e := m.save(ctx); err == nil {
		err = e
	}
	return err
}

// draw draws the finished cells.
func (m *gridMap) draw(ctx context.Context) error {
	picture := m.picture()
	if err := writeFile(ctx, m.file(".svg"), picture.WriteSVG); err != nil {
		return err
	}
	return writeFile(ctx, m.file(".png"), picture.WritePNG)
}

// doubtful is the share of runs that prove nothing above which a cell is marked.
const doubtful = 0.1

func (m *gridMap) picture() *pictures.HeatMap {
	s := m.ShapeAt(search.Place{})
	h := &pictures.HeatMap{Title: "Share of unsafe runs: " + m.lock}
	if len(m.properties) > 0 {
		h.Title = fmt.Sprintf("Share of runs that violate %s: %s", strings.Join(words(m.properties), " or "), m.lock)
	}
	axis := func(name string) bool {
		return slices.ContainsFunc(m.Axes, func(a search.Axis) bool { return a.Name == name })
	}
	if !axis("nodes") {
		h.Title += " on " + many(s.Nodes, "node")
	}
	if s.Replicas > 0 {
		h.Title += " with " + many(s.Replicas, "replica")
	}
	var what, span []string
	for i, a := range m.Axes {
		label := a.About()
		if unit := a.Unit(); unit != search.Number {
			label += " (" + string(unit) + ")"
		}
		side := pictures.HeatAxis{Label: label}
		for n := range a.Values {
			side.Values = append(side.Values, a.Value(n))
		}
		if i == 0 {
			h.X = side
		} else {
			h.Y = side
		}
		if a.Perturbs() {
			what = append(what, a.About())
		}
		if a.Unit() == search.Seconds {
			span = append(span, a.Name)
		}
	}
	h.Subtitle = fmt.Sprintf("%s, once in each run, at evenly spread places", strings.Join(what, ", and "))
	if !axis("clients") {
		h.Subtitle += "; " + many(s.Clients, "client")
	}
	if !axis("ttl") {
		h.Subtitle += "; TTL " + history.FormatDuration(s.TTL)
	}
	h.Subtitle += fmt.Sprintf("; %s per cell", many(m.Runs, "run"))
	switch {
	case len(span) == 2 && axis("ttl"):
		h.Bound = strings.ReplaceAll(span[0]+" = "+span[1], "ttl", "TTL")
	case len(m.Axes) == 1 && len(span) == 1 && !axis("ttl"):
		h.Bound, h.BoundAt = "TTL", s.TTL.Seconds()
	}
	for _, at := range m.Places() {
		t, ok := m.known[at]
		if !ok {
			continue
		}
		low, high := t.Interval()
		h.Cells = append(h.Cells, pictures.HeatCell{
			X: at[0], Y: at[1], Runs: t.Runs, Unsafe: t.Unsafe, Share: t.Share(), Low: low, High: high,
			Doubtful: float64(t.Unproved) > doubtful*float64(t.Runs),
		})
	}
	h.Foot = m.summary()
	return h
}

// total adds up all cells.
func (m *gridMap) total() search.Tally {
	var sum search.Tally
	for _, t := range m.known {
		sum.Runs, sum.Unsafe, sum.Unproved, sum.Idle = sum.Runs+t.Runs, sum.Unsafe+t.Unsafe, sum.Unproved+t.Unproved, sum.Idle+t.Idle
	}
	return sum
}

// perturbed counts the runs with a perturbation. Those of a column with the magnitude 0 have none.
func (m *gridMap) perturbed() int {
	runs := 0
	for at, t := range m.known {
		if m.Perturbed(at) {
			runs += t.Runs
		}
	}
	return runs
}

// summary sums up all runs.
func (m *gridMap) summary() string {
	t := m.total()
	text := fmt.Sprintf("%s runs: %s unsafe (%.1f %%), %s prove nothing; the perturbation had no effect in %s of the %s that have one",
		search.Grouped(t.Runs), search.Grouped(t.Unsafe), 100*t.Share(), search.Grouped(t.Unproved), search.Grouped(t.Idle), search.Grouped(m.perturbed()))
	if missing := len(m.Places()) - len(m.known); missing > 0 {
		text += fmt.Sprintf("; %s of %s cells have not been run", search.Grouped(missing), search.Grouped(len(m.Places())))
	}
	return text
}

// print says what was drawn, and names the files.
func (m *gridMap) print(w io.Writer, asJSON bool) error {
	t := m.total()
	files := []string{m.file(".png"), m.file(".svg"), m.file(".csv"), m.file(".json")}
	if asJSON {
		err := json.NewEncoder(w).Encode(struct {
			Lock     string   `json:"lock"`
			Cells    int      `json:"cells"`
			Runs     int      `json:"runs"`
			Unsafe   int      `json:"unsafe"`
			Unproved int      `json:"unproved"`
			NoEffect int      `json:"no_effect"`
			Files    []string `json:"files"`
		}{m.lock, len(m.known), t.Runs, t.Unsafe, t.Unproved, t.Idle, files})
		if err != nil {
			return err
		}
	} else {
		fmt.Fprintln(w, m.picture().Title)
		printWrapped(w, m.summary())
		for _, name := range files {
			fmt.Fprintf(w, "  %s\n", reports.Visible(name))
		}
	}
	if t.Unproved == t.Runs {
		return status(exitUnknown)
	}
	return nil
}
