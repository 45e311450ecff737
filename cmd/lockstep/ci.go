package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/checker/explain"
	"lockstep/reports"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// ciFlags are the options for CI: for programs that run Lockstep and read its results.
type ciFlags struct {
	junit   string
	against string

	baseline *baseline // read from against
}

func (ci *ciFlags) options(c *cobra.Command) {
	c.Flags().Var((*fileValue)(&ci.junit), "junit", "write a report in the JUnit XML format to `FILE`")
	c.Flags().Var((*fileValue)(&ci.against), "against", "fail if a verdict differs from that of an earlier run --json in `FILE`, or if one of its runs is missing")
}

// check makes sure before any run that the results can be reported; out is the directory that --out names.
func (ci *ciFlags) check(ctx context.Context, args []string, out string) error {
	if err := checkRoom(append(args, ci.against), out, target{"junit", ci.junit}); err != nil {
		return err
	}
	if ci.against == "" {
		return nil
	}
	var err error
	ci.baseline, err = readBaseline(ctx, ci.against)
	return err
}

// A finding is the result of one run, as it is reported to CI.
type finding struct {
	o       *play.Outcome // nil if there is none
	none    string        // why there is none; "not run" if empty
	run     string        // the name of the run, with the lock that was put through it
	suite   string        // its scenario
	file    string        // the scenario file, with slashes
	line    int           // the line of the run in it; 0 if it has none
	again   string        // the command that shows it
	status  status        // what it means for the exit status of the program
	reasons []string      // why status is not exitExpected, a sentence each
}

// catalogue is the directory of the catalogue, from the root of the repository.
const catalogue = "scenarios/catalogue/"

// pageOf returns the scenario file of a run, and its line there. A file of the catalogue is given from the root of the repository, any
// other as it was named.
func (f *runFlags) pageOf(s *script.Scenario, r script.Section) (file string, line int) {
	file = filepath.ToSlash(s.File)
	if !f.files[s] && file != "" {
		file = catalogue + file
	}
	return file, r.Line()
}

// findings returns the outcomes as they are reported. Their statuses depend on the differences from the earlier run if there is one to
// compare with, and otherwise on those from what the scenario expects.
func (f *runFlags) findings(outcomes []*play.Outcome) []finding {
	var all []finding
	for _, o := range outcomes {
		g := finding{o: o, run: called(o), suite: reports.Visible(o.Scenario.Name), again: f.again(o)}
		g.file, g.line = f.pageOf(o.Scenario, o.Run)
		unknown := o.Result.Verdict == checker.Inconclusive && (pageless(o) || o.ExpectedVerdict() != checker.Inconclusive)
		g.reasons = o.Unexpected()
		if f.ci.baseline != nil {
			if was := f.ci.baseline.find(newLine(o)); was != nil {
				unknown = o.Result.Verdict == checker.Inconclusive && was.Verdict != checker.Inconclusive
				g.reasons = o.Result.Changes(was.result())
			}
		}
		switch {
		case unfit(o) != "":
			g.reasons = nil
		case unknown:
			g.status = exitUnknown
			g.reasons = slices.Concat(o.Result.Unmet, g.reasons)
		case len(g.reasons) > 0:
			g.status = exitUnexpected
		case pageless(o) && o.Result.Verdict == checker.Unsafe && (f.ci.baseline == nil || f.ci.baseline.find(newLine(o)) == nil):
			g.status = exitUnexpected
			g.reasons = []string{"UNSAFE, but no scenario expects that; name its file with the histories"}
		}
		all = append(all, g)
	}
	return all
}

// missing returns the findings for cases that should have been run, and were not.
func (f *runFlags) missing(cases []play.Case, outcomes []*play.Outcome, why error) []finding {
	reason := why.Error()
	if errors.Is(why, context.Canceled) {
		reason = "interrupted"
	}
	var all []finding
	for i, o := range outcomes {
		if o != nil {
			continue
		}
		c := cases[i]
		o := &play.Outcome{Scenario: c.Scenario, Run: c.Run}
		g := finding{run: called(o), suite: reports.Visible(c.Scenario.Name), status: exitUnknown, reasons: []string{reason}}
		g.file, g.line = f.pageOf(c.Scenario, c.Run)
		all = append(all, g)
	}
	return all
}

// exitOf is the exit status of all findings, which is that of the worst. UNKNOWN outranks what is merely unexpected.
func exitOf(findings []finding) error {
	var all []status
	for _, g := range findings {
		all = append(all, g.status)
	}
	return worst(all)
}

// some returns the first reasons, and how many more there are.
func some(reasons []string) []string {
	if len(reasons) <= reports.ReasonsShown {
		return reasons
	}
	return append(slices.Clone(reasons[:reports.ReasonsShown]), fmt.Sprintf("and %d more reasons", len(reasons)-reports.ReasonsShown))
}

// head is the result of a run in one line.
func (g finding) head() string {
	return g.run + ": " + g.verdict()
}

// verdict is the verdict of the run, or why there is none.
func (g finding) verdict() string {
	if g.o == nil {
		return cmp.Or(g.none, "not run")
	}
	return string(g.o.Result.Verdict)
}

// explanation says why a finding is not as it should be: the reasons, the first violation of each property and how it came about, and
// the command that shows it.
func (g finding) explanation() string {
	var b strings.Builder
	for _, reason := range some(g.reasons) {
		fmt.Fprintln(&b, oneLine(reason))
	}
	if g.o != nil {
		var told []checker.Property
		for _, v := range g.o.WorstFirst().Violations {
			if slices.Contains(told, v.Property) {
				continue
			}
			told = append(told, v.Property)
			fmt.Fprintf(&b, "\n%s violated (broken: %s): %s\n", v.Property, oneLine(string(v.Assumption)), oneLine(v.What))
			for i, s := range explain.Story(g.o.Facts, v) {
				fmt.Fprintf(&b, "%4d. %s\n", i+1, oneLine(s.Text))
			}
		}
	}
	if g.again != "" {
		fmt.Fprintf(&b, "\nsee it again: %s\n", oneLine(g.again))
	}
	return b.String()
}

// report reports the findings to CI: in a file for a CI server, and to the runner of a workflow.
func (f *runFlags) report(c *cobra.Command, findings []finding, start time.Time, took time.Duration) error {
	ci := f.ci
	if onGitHub() {
		w := c.OutOrStdout()
		if f.json {
			w = c.ErrOrStderr() // the runner reads standard error, too
		}
		if err := annotate(w, findings); err != nil {
			return err
		}
		if err := appendSummary(os.Getenv("GITHUB_STEP_SUMMARY"), findings); err != nil {
			fmt.Fprintln(c.ErrOrStderr(), "lockstep: the summary of the step:", err) // not a failure: the verdicts have been printed
		}
	}
	if ci.junit == "" {
		return nil
	}
	return writeJUnit(c.Context(), ci.junit, findings, start, took)
}

// longest is the most characters of external text in one line.
const longest = 400

// oneLine makes external text safe to show in one line of at most longest characters.
func oneLine(s string) string {
	s = reports.Visible(s)
	if utf8.RuneCountInString(s) > longest {
		s = string([]rune(s)[:longest]) + "…"
	}
	return s
}

// regular reports whether a name is that of a file, or of a link to one: caches have links.
func regular(dir fs.FS, name string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := fs.Stat(dir, name)
	return err == nil && info.Mode().IsRegular()
}

// histories lists the histories below a directory, in order of their names, and the reports of runs that left none. It skips names that
// begin with a dot: these files are still being written. A directory that cannot be read is listed as a history.
func histories(dir fs.FS) (files, reports []string, err error) {
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil: // a directory that cannot be read; whoever tries to read it as a history says so
			files = append(files, name)
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !regular(dir, name, d):
		case path.Ext(name) == ".jsonl":
			files = append(files, name)
		case strings.HasSuffix(name, ".report.txt"):
			reports = append(reports, name)
		}
		return nil
	})
	return files, reports, err
}
