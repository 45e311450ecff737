package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports"
	"lockstep/scenarios/files"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

func newCheck(k known) *cobra.Command {
	f := &runFlags{known: k, on: play.OnSim, limit: 20 * time.Second, files: map[*script.Scenario]bool{}}
	c := &cobra.Command{
		Use:   "check [HISTORY.jsonl | DIR | SCENARIO.txtar]...",
		Short: "Judge saved histories again, or see whether verdicts have changed",
		Long: `Check judges histories that lockstep run --out has written, without running anything, and prints
the same table. A directory stands for all histories below it. The expected verdict is that of the
scenario in the catalogue, or in a scenario file that is named together with the histories.
Histories of other systems are judged as well: docs/histories.md describes the format.

With --against FILE, results are compared with those of an earlier run --json instead. Check fails
if a verdict, the status of a property or a broken assumption has changed. It also fails if a run in
FILE has no history in the directory that is named; if that is the directory of one scenario, only
the runs of that scenario count. Without histories, check repeats the runs in FILE and compares them.

Exit status: 0 all as expected, or unchanged; 1 not as expected, changed, or UNSAFE without a
scenario that expects it; 2 a run proves nothing; 3 a history or something else could not be
checked.`,
		Example: `  lockstep run --json > verdicts.json
  lockstep check --against verdicts.json            make the same runs again, and compare
  lockstep run --lock redsync --against verdicts.json
  lockstep run --out results
  lockstep check results                            judge them again
  lockstep check results/clock-jump/redlock.jsonl
  lockstep check results my-scenario.txtar          with a scenario that is not in the catalogue
  lockstep check results --against verdicts.json --junit report.xml`,
		RunE: func(c *cobra.Command, args []string) error { return f.recheck(c, args) },
	}
	f.ci.options(c)
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object for each run, on a line of its own")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print each timeline")
	return c
}

// recheck judges saved histories, or makes the runs of a baseline again.
func (f *runFlags) recheck(c *cobra.Command, args []string) error {
	if err := f.ci.check(c.Context(), args, ""); err != nil {
		return err
	}
	start := time.Now()
	if len(args) == 0 {
		if f.ci.baseline == nil {
			return errors.New("check takes histories that lockstep run --out has written, or --against with the output of lockstep run --json")
		}
		cases, err := f.casesAgain(c.Context())
		if err != nil {
			return err
		}
		outcomes, err := f.runAll(c, cases)
		return f.tell(c, cases, outcomes, start, err)
	}
	outcomes, err := f.saved(c.Context(), args)
	if err != nil {
		return err
	}
	for _, g := range f.without {
		fmt.Fprintln(c.ErrOrStderr(), "lockstep:", reports.Visible(reports.Shorten(g.reasons[0], longestError)))
	}
	return f.tell(c, nil, outcomes, start, nil)
}

// tell prints the results of runs or histories, and reports them to CI. If failed is set, it says how far the runs got.
func (f *runFlags) tell(c *cobra.Command, cases []play.Case, outcomes []*play.Outcome, start time.Time, failed error) error {
	took := time.Since(start)
	ended := slices.DeleteFunc(slices.Clone(outcomes), func(o *play.Outcome) bool { return o == nil })
	out := c.OutOrStdout()
	for _, o := range ended {
		if f.json {
			if err := f.printJSON(out, o); err != nil {
				return err
			}
		}
	}
	if failed != nil {
		if len(ended) > 0 {
			fmt.Fprintf(c.ErrOrStderr(), "%d of %d runs had ended:\n", len(ended), len(outcomes))
			printTable(c.ErrOrStderr(), ended, took)
		}
		if f.ci.junit != "" {
			failed = errors.Join(failed, writeJUnit(c.Context(), f.ci.junit, append(f.findings(ended), f.missing(cases, outcomes, failed)...), start, took))
		}
		return errors.Join(failed, f.keep(c, ended))
	}
	for _, o := range outcomes {
		if f.verbose && !f.json {
			printTimeline(out, o)
		}
	}
	kept := f.keep(c, outcomes) // even if this fails, the verdicts are printed: the runs took their time
	for _, o := range outcomes {
		if o.Report != nil {
			fmt.Fprintf(c.ErrOrStderr(), "\n%s, %s, seed %d: %s\n", reports.Visible(o.Scenario.Name), who(o), o.History.Meta.Seed, reports.VisibleLines(o.Report.String()))
		}
	}
	if !f.json && len(outcomes) > 0 {
		printTable(out, outcomes, took)
		if f.ci.baseline == nil {
			f.printDifferences(c, outcomes)
		}
	}
	return cmp.Or(kept, f.conclude(c, outcomes, start, took))
}

// keep writes the files of runs into the directory that --out names. After an interruption it writes only what takes no time, the
// timeline as text and the history. lockstep show draws the rest from these.
func (f *runFlags) keep(c *cobra.Command, outcomes []*play.Outcome) error {
	if f.out == "" {
		return nil
	}
	defer hold()()
	var bar *progressLine
	if !f.json && !f.verbose {
		bar = progress(c.ErrOrStderr(), len(outcomes)) // pictures take longer than runs
	}
	defer bar.finish()
	undrawn := 0
	for _, o := range outcomes {
		bar.describe("writing " + reports.Visible(o.Scenario.Name))
		drawn := c.Context().Err() == nil
		if err := writeArtifacts(c.Context(), f.out, o, drawn); err != nil {
			return err
		}
		if !drawn {
			undrawn++
		}
		bar.add(1)
	}
	if undrawn == 0 {
		return nil
	}
	fmt.Fprintf(c.ErrOrStderr(), "saved in %s without pictures: %d of %s; lockstep show draws them\n", reports.Visible(f.out), undrawn, many(len(outcomes), "run"))
	return c.Context().Err()
}

// conclude compares the outcomes with an earlier run if there is one, reports them, and returns the exit status.
func (f *runFlags) conclude(c *cobra.Command, outcomes []*play.Outcome, start time.Time, took time.Duration) error {
	findings := append(f.findings(outcomes), f.without...)
	if f.ci.baseline != nil {
		out := c.OutOrStdout()
		if f.json {
			out = c.ErrOrStderr()
		}
		missing, err := f.ci.baseline.tell(out, findings, f.asked)
		if err != nil {
			return err
		}
		findings = append(findings, missing...)
	}
	if err := f.report(c, findings, start, took); err != nil {
		return err
	}
	return exitOf(findings)
}

// printJSON prints a run as one line of JSON.
func (f *runFlags) printJSON(w io.Writer, o *play.Outcome) error {
	l := newLine(o)
	l.File, l.Line = f.pageOf(o.Scenario, o.Run)
	if pageless(o) {
		l.Expected = ""
	}
	return json.NewEncoder(w).Encode(l)
}

// saved judges the histories that the arguments name. Those that cannot be judged are noted in f.without, and the others are judged all
// the same.
func (f *runFlags) saved(ctx context.Context, args []string) ([]*play.Outcome, error) {
	p := pages{}
	var files, unended []string
	var whole bool              // a directory of several scenarios is named
	single := map[string]bool{} // the directories that are named
	for _, arg := range args {
		info, err := os.Stat(arg)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: there is no such file or directory; check requires a file or directory that lockstep run --out has written", arg)
		}
		if err != nil {
			return nil, err
		}
		switch ext := filepath.Ext(arg); {
		case info.IsDir():
			found, reports, err := histories(os.DirFS(arg))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", arg, err)
			}
			if len(found)+len(reports) == 0 {
				return nil, fmt.Errorf("%s: there is no history in it; lockstep run --out %s writes some", arg, quoted(arg))
			}
			for _, name := range found {
				files = append(files, filepath.Join(arg, filepath.FromSlash(name)))
			}
			for _, name := range reports {
				unended = append(unended, filepath.Join(arg, filepath.FromSlash(name)))
			}
			single[filepath.Clean(arg)] = true
			whole = whole || slices.ContainsFunc(slices.Concat(found, reports), func(name string) bool { return strings.Contains(name, "/") })
		case ext == ".txtar":
			page, err := load(ctx, arg)
			if err != nil {
				return nil, err
			}
			if other, ok := p[page.Name]; ok {
				return nil, fmt.Errorf("%s: %s also has the scenario %s", arg, other.File, page.Name)
			}
			p[page.Name] = page
			f.files[page] = true
		default:
			files = append(files, arg)
		}
	}
	if len(files)+len(unended) == 0 {
		return nil, errors.New("a scenario file only says what histories should show; name histories as well, as lockstep run --out writes them")
	}
	for _, report := range unended {
		f.without = append(f.without, unjudged(report, ".report.txt", exitUnknown, report+": this run did not end, and has no history"))
	}
	f.shows = map[*play.Outcome]string{}
	named := map[string]bool{} // the scenarios of which no run may be missing
	var outcomes []*play.Outcome
	for _, file := range once(files) {
		h, err := readHistory(ctx, file)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			f.without = append(f.without, unjudged(file, ".jsonl", exitInput, err.Error()))
			continue
		}
		o := p.judge(h)
		if page := p[h.Meta.Scenario]; pageless(o) && f.files[page] {
			f.without = append(f.without, unjudged(file, ".jsonl", exitInput, fmt.Sprintf("%s: %s has no run %s, and does not say what to expect", file, page.File, o.Run.ID())))
			continue
		}
		f.shows[o] = file
		outcomes = append(outcomes, o)
		switch dir := filepath.Dir(file); {
		case !single[dir]:
		case filepath.Base(dir) == h.Meta.Scenario: // as run --out names it
			named[h.Meta.Scenario] = true
		default:
			whole = true
		}
	}
	f.asked = func(e *earlier) bool { return whole || named[e.Scenario] }
	return outcomes, nil
}

// unjudged is the finding for a file that has no history to judge. The file is named after its run, as writeArtifacts does it.
func unjudged(file, ending string, status status, reason string) finding {
	suite := filepath.Base(filepath.Dir(file))
	g := finding{run: suite + "/" + strings.TrimSuffix(filepath.Base(file), ending), suite: suite, status: status, reasons: []string{reason}}
	if status == exitInput {
		g.none = "not read"
	}
	return g
}

// readHistory reads the history in a file. Errors name the line.
func readHistory(ctx context.Context, name string) (*history.History, error) {
	data, err := files.Read(ctx, name, largestFile)
	if err != nil {
		return nil, err
	}
	h, err := parseHistory(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return h, nil
}

// parseHistory parses a history that does not contradict itself. Errors begin with the number of the line.
func parseHistory(data []byte) (*history.History, error) {
	h, err := history.ReadHistory(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if wrong, ok := errors.AsType[*facts.Contradiction](facts.WellFormed(h)); ok {
		return nil, fmt.Errorf("%d: %s", wrong.Line, wrong.What)
	}
	return h, nil
}

// pages has the scenarios that say what histories should show, by name: those that were named, and those of the catalogue that were
// needed. It has nil for a name that is not in the catalogue.
type pages map[string]*script.Scenario

// judge judges a history by its scenario. Without a scenario, nothing was expected, and no state had to occur.
func (p pages) judge(h *history.History) *play.Outcome {
	m := h.Meta
	page, known := p[m.Scenario]
	if !known {
		page, _ = script.Find(m.Scenario) // nil if there is none
		p[m.Scenario] = page
	}
	lock := oneLine(m.Lock) // this is printed, and the file may contain anything
	own := script.Section{Lock: cmp.Or(oneLine(m.For), lock), Label: oneLine(m.Label)}
	if page != nil {
		if r, err := page.FindRun(own.ID()); err == nil {
			r = page.Resolve(r.With(lock))
			// On real servers everything took less time, by the same factor as the TTL.
			if m.On != play.OnSim && m.TTL > 0 && m.TTL != r.TTL {
				speed := float64(r.TTL) / float64(m.TTL)
				r.Musts = slices.Clone(r.Musts)
				for i, must := range r.Musts {
					r.Musts[i] = must.Scaled(func(d time.Duration) time.Duration { return time.Duration(float64(d) / speed) })
				}
			}
			o := play.Judge(page, r, h)
			if len(page.Sweep) > 0 { // the history is that of one position, and other positions may violate more
				o.Run.Expect = slices.DeleteFunc(slices.Clone(r.Expect), func(e script.Expectation) bool { return o.Result.Status(e.Property) == checker.OK })
			}
			return o
		}
	}
	o := play.Judge(&script.Scenario{Name: oneLine(m.Scenario)}, own.With(lock), h)
	for _, s := range o.Result.Statuses {
		if s.Status != checker.OK {
			o.Run.Expect = append(o.Run.Expect, script.Expectation{Property: s.Property, Status: s.Status})
		}
	}
	return o
}

// pageless reports whether no scenario says what an outcome should be.
func pageless(o *play.Outcome) bool { return o.Scenario.File == "" }

// casesAgain returns the runs of a baseline.
func (f *runFlags) casesAgain(ctx context.Context) ([]play.Case, error) {
	b := f.ci.baseline
	loaded := map[string]*script.Scenario{}
	var cases []play.Case
	for _, e := range b.lines {
		if e.On != play.OnSim && e.On != "" {
			return nil, fmt.Errorf("%s:%d: that run was on real servers; lockstep run --on ... --against %s compares it", b.file, e.at, quoted(b.file))
		}
		arg := e.Scenario
		if !e.ofCatalogue() {
			arg = filepath.FromSlash(e.File)
		}
		s := selection{scenario: loaded[arg], file: arg != e.Scenario}
		if s.scenario == nil {
			found, err := f.known.open(ctx, arg)
			if err != nil && !s.file {
				continue // the comparison reports that the run is missing
			}
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", b.file, e.at, err)
			}
			s.scenario = found.scenario
			loaded[arg] = s.scenario
			f.files[s.scenario] = s.file
		}
		r, err := s.scenario.FindRun(e.Run)
		if err != nil || f.known.check(e.Lock) != nil {
			continue
		}
		s.runs = []script.Section{r.With(e.Lock)}
		cases = append(cases, f.cases([]selection{s}, e.Seed)...)
	}
	switch {
	case len(cases) == 0 && len(b.lines) == 1:
		return nil, fmt.Errorf("%s: its run is no longer in the catalogue", b.file)
	case len(cases) == 0:
		return nil, fmt.Errorf("%s: none of its %d runs is in the catalogue any longer", b.file, len(b.lines))
	}
	return cases, nil
}
