package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/reports"
	"lockstep/scenarios/files"
	"lockstep/scenarios/play"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
)

// explored has the results of an exploration, and prints them.
type explored struct {
	flags    *exploreFlags
	workload search.Workload // empty if the calm run is that of a scenario
	search   *search.Search
	w        io.Writer
	bounded  *search.Bounded
	random   *search.Random
	found    []counterexample
	shared   []sharedWay
}

// sharedWay is one way to fail that the reference has, too, as --json has it.
type sharedWay struct {
	counterexample     // the example with the fewest perturbations
	Plans          int `json:"plans"` // how many plans fail in this way
}

// counterexample is one way to fail, as --json has it.
type counterexample struct {
	play.Failing
	Broke string `json:"broke,omitempty"` // why the run did not end, if that is the failure
	// Perturbations and Plan are those with which it was found, before it was shrunk.
	Perturbations int                   `json:"perturbations"`
	Plan          []search.Perturbation `json:"plan"`
	Seed          uint64                `json:"seed"`
	Scenario      string                `json:"scenario,omitempty"` // the smallest one, as the text of a scenario file
	File          string                `json:"file,omitempty"`     // where it was saved
	Token         string                `json:"token,omitempty"`
	// Excused is how many smaller runs were rejected because the reference violates the same property in them.
	Excused int `json:"excused,omitempty"`
}

func (r *explored) head() {
	run := r.search.Calm.Resolve(r.search.Calm.Runs[0])
	fmt.Fprintf(r.w, "exploring %s on %s", r.flags.shape.Lock, many(run.Nodes, "node"))
	if run.Replicas > 0 {
		fmt.Fprintf(r.w, " with %s", many(run.Replicas, "replica"))
	}
	clients := len(r.search.Calm.Lanes)
	fmt.Fprintf(r.w, ", %s, TTL %s, seed %d", many(clients, "client"), history.FormatDuration(run.TTL), r.search.Seed)
	if r.workload != "" {
		fmt.Fprintf(r.w, ", workload %s", r.workload)
	}
	if r.reference() != "" {
		fmt.Fprintf(r.w, ", compared with %s", r.reference())
	}
	fmt.Fprintln(r.w)
}

// inapplicable says why the calm run does not apply to the lock; empty if it does.
func (r *explored) inapplicable() string {
	switch {
	case r.bounded != nil:
		return r.bounded.Inapplicable
	case r.random != nil:
		return r.random.Inapplicable
	}
	return ""
}

func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (r *explored) printBounded() {
	b := r.bounded
	if b == nil || len(b.Levels) == 0 {
		return
	}
	t := newTable()
	head := table.Row{"perturbations", "plans", "survived", "no effect", "violating", "unproved", "like another"}
	t.AppendHeader(head)
	var columns []table.ColumnConfig
	for i := range head {
		columns = append(columns, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for n, l := range b.Levels {
		row := table.Row{n}
		for _, count := range []int{l.Plans, l.Survived, l.Idle, l.Violating, l.Unproved, l.Alike} {
			row = append(row, search.Grouped(count))
		}
		t.AppendRow(row)
	}
	fmt.Fprintf(r.w, "magnitudes from: %s\n\n%s\n\n", b.Constants, t.Render())
	printWrapped(r.w, b.Sentence())
	r.printTwice(b.Twice, b.Differs)
}

func (r *explored) printRandom() {
	if r.random == nil || r.inapplicable() != "" {
		return
	}
	if r.random.Constants.TTL > 0 { // otherwise the search ended before it knew them
		fmt.Fprintf(r.w, "magnitudes from: %s\n", r.random.Constants)
	}
	fmt.Fprintln(r.w)
	for _, line := range r.random.Lines() {
		fmt.Fprintln(r.w, strings.TrimRight("  "+line, " "))
	}
	fmt.Fprintln(r.w)
	r.printTwice(r.random.Twice, r.random.Differs)
}

// printTwice prints the results of the runs that were made twice.
func (r *explored) printTwice(twice int, differs string) {
	switch {
	case differs != "":
		printWrapped(r.w, "not reproducible: "+differs)
	case twice > 0 && !r.search.Restless:
		printWrapped(r.w, "runs that were made twice, with the same result: "+search.Grouped(twice))
	}
}

// all lists the failures that were found, each way to fail once.
func (r *explored) all() []search.Found {
	var all []search.Found
	if r.bounded != nil {
		all = append(all, r.bounded.Found...)
	}
	if r.random != nil {
		all = append(all, r.random.Found...)
	}
	return search.Firsts(all)
}

// news says in a line for each way to fail what is violated, without the lines that are known.
func (r *explored) news(known []string) (lines []string) {
	for _, f := range r.all() {
		line := fmt.Sprintf("%s violated (assumption broken: %s)", f.Failing.Property, f.Failing.Assumption) // as a ledger writes it
		if f.Broke != "" {
			line = "a run did not end"
		}
		if !slices.Contains(known, line) && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// allShared lists the violations that the reference has, too.
func (r *explored) allShared() []search.Shared {
	var all []search.Shared
	if r.bounded != nil {
		all = append(all, r.bounded.Shared...)
	}
	if r.random != nil {
		all = append(all, r.random.Shared...)
	}
	return search.Merged(all)
}

// keep shrinks and prints the failures, and saves them if --out is given. Those that the reference has, too, are
// only counted, unless --verbose is given.
func (r *explored) keep(ctx context.Context) error {
	var first error
	for _, f := range r.all() {
		c, err := r.tell(ctx, f, true)
		first = cmp.Or(first, err)
		r.found = append(r.found, c)
	}
	shared := r.allShared()
	if len(r.found) == 0 && len(shared) > 0 {
		fmt.Fprintf(r.w, "\n%s is not worse than %s under these plans\n", r.flags.shape.Lock, r.reference())
	}
	for i, s := range shared {
		if i == 0 {
			more := " (--verbose shows an example of each)"
			if r.flags.verbose {
				more = ""
			}
			fmt.Fprintf(r.w, "\n%s has these violations, too%s:\n", r.reference(), more)
		}
		fmt.Fprintf(r.w, "  %s (%s)\n", s.Failing, many(s.Plans, "plan"))
	}
	for _, s := range shared {
		c := example(s.Found)
		if r.flags.verbose {
			var err error
			c, err = r.tell(ctx, s.Found, false)
			first = cmp.Or(first, err)
		}
		r.shared = append(r.shared, sharedWay{c, s.Plans})
	}
	return first
}

func example(f search.Found) counterexample {
	return counterexample{Failing: f.Failing, Broke: f.Broke, Perturbations: len(f.Plan), Plan: f.Plan, Seed: f.Seed}
}

// tell shrinks and prints a failure, and saves it if --out is given. After an interruption there is no time for shrinking. The
// smallest run of a failure that the reference does not share is one in which the reference does not fail.
func (r *explored) tell(ctx context.Context, f search.Found, worse bool) (c counterexample, err error) {
	c = example(f)
	switch {
	case f.Broke != "":
		r.tellBroken(f)
		return c, nil
	case ctx.Err() != nil:
		err = r.tellPlan(ctx, &c, f)
		return c, err
	}
	var references []*search.Reference
	if worse && r.search.Reference != nil {
		references = append(references, r.search.Reference)
	}
	small, fails := r.search.Shrink(ctx, f, references...)
	if fails == nil {
		c.Excused = small.Excused
		c.Token, fails = small.Scenario.Token()
	}
	if fails == nil {
		err = r.tellSmall(ctx, &c, small)
		return c, err
	}
	printWrapped(r.w, fails.Error())
	err = cmp.Or(r.tellPlan(ctx, &c, f), fails)
	return c, err
}

// tellSmall prints the smallest run that fails in the same way, and saves it. It is printed even if it cannot be saved.
func (r *explored) tellSmall(ctx context.Context, c *counterexample, small *search.Counterexample) error {
	c.Scenario = small.Scenario.String()
	var kept error
	if r.flags.out != "" {
		if c.File, kept = small.Save(ctx, r.flags.out); kept != nil {
			c.File = ""
		}
	}
	fmt.Fprintf(r.w, "\n%s\n", c.Failing)
	for line := range strings.SplitSeq(strings.TrimSpace(small.Story()), "\n") {
		fmt.Fprintln(r.w, strings.TrimRight("  "+reports.Visible(line), " "))
	}
	if r.flags.verbose {
		fmt.Fprintf(r.w, "\n%s", small.Scenario.Runs[0].Golden)
	}
	if c.Excused > 0 {
		printWrapped(r.w, small.Chance())
	}
	fmt.Fprintf(r.w, "  see it: lockstep replay %s\n", operand(cmp.Or(c.File, c.Token)))
	return kept
}

// tellPlan prints a failure as it was found, and saves it.
func (r *explored) tellPlan(ctx context.Context, c *counterexample, f search.Found) (err error) {
	fmt.Fprintf(r.w, "\n%s\n", f.Failing)
	r.tellSteps(f.Plan)
	page := r.search.Page(f)
	if c.Token, err = page.Token(); err == nil {
		fmt.Fprintf(r.w, "  see it: lockstep replay %s\n", c.Token)
	}
	if r.flags.out != "" && err == nil {
		file := filepath.Join(r.flags.out, fmt.Sprintf("unreduced-%s-%d.txtar", clients.FileWord(r.flags.shape.Lock), len(r.found)+1))
		if err = files.Write(ctx, file, []byte(page.String())); err == nil {
			c.File = file
			fmt.Fprintf(r.w, "  kept as %s\n", reports.Visible(file))
		}
	}
	return err
}

// mostStack is how many lines are printed about why a run did not end.
const mostStack = 24

func (r *explored) tellBroken(f search.Found) {
	fmt.Fprintln(r.w, "\nwith these perturbations the run does not end:")
	r.tellSteps(f.Plan)
	lines := strings.Split(strings.TrimSpace(f.Broke), "\n")
	for _, line := range lines[:min(len(lines), mostStack)] {
		fmt.Fprintln(r.w, "  "+reports.VisibleLines(line))
	}
	if more := len(lines) - mostStack; more > 0 {
		fmt.Fprintf(r.w, "  ... and %s more, with --json\n", many(more, "line"))
	}
}

func (r *explored) tellSteps(plan []search.Perturbation) {
	if len(plan) == 0 {
		printWrapped(r.w, "no perturbation")
	}
	for _, p := range plan {
		printWrapped(r.w, p.String())
	}
}

// status is the exit status of an exploration that was not interrupted.
func (r *explored) status() error {
	switch why := r.inapplicable(); {
	case len(r.found) > 0:
		return status(exitUnexpected)
	case why != "":
		printWrapped(r.w, "this workload does not apply to the lock: "+why)
		return status(exitUnknown)
	}
	proved := 0
	if r.bounded != nil {
		for _, l := range r.bounded.Levels[1:] { // the calm run proves nothing about faults
			proved += l.Survived
		}
	}
	if r.random != nil {
		for _, tried := range r.random.Coverage.Kinds { // a walk that cannot be perturbed is calm, and proves nothing
			proved += min(tried.Bit, r.random.Coverage.Classes[search.Survived])
		}
	}
	if proved == 0 && len(r.shared) == 0 {
		printWrapped(r.w, "nothing is proved: no perturbation of these kinds had an effect in this setting")
		return status(exitUnknown)
	}
	return nil
}

func (r *explored) encode(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		Lock     string          `json:"lock"`
		Workload search.Workload `json:"workload,omitempty"`
		Seed     uint64          `json:"seed"`
		Calm     string          `json:"calm"` // the scenario that was perturbed
		// Properties are those whose violations were looked for; none stand for all.
		Properties []checker.Property `json:"properties,omitempty"`
		Bounded    *search.Bounded    `json:"bounded,omitempty"`
		Random     *search.Random     `json:"random,omitempty"`
		Found      []counterexample   `json:"found"`
		// If the lock is compared: with which one, and the violations that both have.
		Reference string      `json:"reference,omitempty"`
		Shared    []sharedWay `json:"shared,omitempty"`
	}{r.flags.shape.Lock, r.workload, r.search.Seed, r.search.Calm.String(), r.search.Properties, r.bounded, r.random, append([]counterexample{}, r.found...), r.reference(), r.shared})
}

// reference is the name of the lock that this one is compared with; empty if it is not compared.
func (r *explored) reference() string {
	if r.search.Reference == nil {
		return ""
	}
	return r.search.Reference.Lock
}
