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

// ciFlags are the options for programs that run Lockstep and read what came of it.
type ciFlags struct {
	junit   string
	against string

	baseline *baseline // what against names
}

func (ci *ciFlags) options(c *cobra.Command) {
	c.Flags().Var((*fileValue)(&ci.junit), "junit", "write a report in the JUnit XML format to `FILE`")
	c.Flags().Var((*fileValue)(&ci.against), "against", "fail if a verdict differs from that of an earlier run --json in `FILE`, or if one of its runs is missing")
}

// check finds out what would keep the results from being reported, before anything is run for them.
func (ci *ciFlags) check(ctx context.Context, args []string) error {
	if err := makeRoom(append(args, ci.against), target{"junit", ci.junit}); err != nil {
		return err
	}
	if ci.against == "" {
		return nil
	}
	var err error
	ci.baseline, err = readBaseline(ctx, ci.against)
	return err
}

// A finding is what came of one run, as it is told to somebody who waits for all to be well.
type finding struct {
	o       *play.Outcome // nil if there is none
	none    string        // why there is none: not run, if nothing else is said
	run     string        // its name, with the lock that was put through it
	suite   string        // its scenario
	file    string        // the page, with slashes
	line    int           // of the run in it; 0 if it comes from none
	again   string        // the command that shows it
	status  status        // what it means for the exit status of the program
	reasons []string      // why it is not exitExpected, a sentence each
}

// catalogue is where the pages of the catalogue are, from the root of the repository.
const catalogue = "scenarios/catalogue/"

// pageOf says where a run stands: the page of the catalogue from the root of the repository, any other as it was named.
func (f *runFlags) pageOf(s *script.Scenario, r script.Section) (file string, line int) {
	file = filepath.ToSlash(s.File)
	if !f.files[s] && file != "" {
		file = catalogue + file
	}
	return file, r.Line()
}

// findings are the outcomes as they are reported. What differs from the page decides, or, where there is an earlier run to
// compare with, what differs from that.
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
				g.reasons = was.changes(newLine(o))
			}
		}
		switch {
		case unknown:
			g.status = exitUnknown
			g.reasons = slices.Concat(o.Result.Unmet, g.reasons)
		case len(g.reasons) > 0:
			g.status = exitUnexpected
		case pageless(o) && o.Result.Verdict == checker.Unsafe && (f.ci.baseline == nil || f.ci.baseline.find(newLine(o)) == nil):
			g.status = exitUnexpected
			g.reasons = []string{"UNSAFE, and no page says that it should be; name one with the histories"}
		}
		all = append(all, g)
	}
	return all
}

// missing are the findings of the cases that were to be run, and were not.
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

// exitOf is the exit status of all findings: that of the worst, and UNKNOWN outranks what is merely unexpected.
func exitOf(findings []finding) error {
	var worst status
	for _, g := range findings {
		worst = max(worst, g.status)
	}
	if worst == exitExpected {
		return nil
	}
	return worst
}

// head says in one line what came of a run.
func (g finding) head() string {
	return g.run + ": " + g.verdict()
}

// verdict is that of the run, or what stands in its place.
func (g finding) verdict() string {
	if g.o == nil {
		return cmp.Or(g.none, "not run")
	}
	return string(g.o.Result.Verdict)
}

// explanation says why a finding is not as it should be: the reasons, the first violation of each property with how it came
// about, and what to type to see it.
func (g finding) explanation() string {
	var b strings.Builder
	for _, reason := range g.reasons {
		fmt.Fprintln(&b, oneLine(reason))
	}
	if g.o != nil {
		var told []checker.Property
		for _, v := range g.o.Result.Violations {
			if slices.Contains(told, v.Property) {
				continue
			}
			told = append(told, v.Property)
			fmt.Fprintf(&b, "\n%s violated (broken: %s): %s\n", v.Property, oneLine(string(v.Assumption)), oneLine(v.What))
			for i, s := range explain.Story(g.o.History, v) {
				fmt.Fprintf(&b, "%4d. %s\n", i+1, oneLine(s.Text))
			}
		}
	}
	if g.again != "" {
		fmt.Fprintf(&b, "\nsee it again: %s\n", oneLine(g.again))
	}
	return b.String()
}

// report tells the outcomes to whoever wants to know: a file for a CI server, the runner of a workflow.
func (f *runFlags) report(c *cobra.Command, findings []finding, start time.Time, took time.Duration) error {
	ci := f.ci
	if onGitHub() {
		w := c.OutOrStdout()
		if f.json {
			w = c.ErrOrStderr() // the runner reads both
		}
		if err := annotate(w, findings); err != nil {
			return err
		}
		if err := appendSummary(os.Getenv("GITHUB_STEP_SUMMARY"), findings); err != nil {
			fmt.Fprintln(c.ErrOrStderr(), "lockstep: the summary of the step:", err) // the verdicts have been printed
		}
	}
	if ci.junit == "" {
		return nil
	}
	return writeJUnit(c.Context(), ci.junit, findings, start, took)
}

// longest is how many characters of a text from outside are told where somebody wants to know it in one line.
const longest = 400

// oneLine makes a text from outside safe to show in one line of at most longest characters.
func oneLine(s string) string {
	s = reports.Visible(s)
	if utf8.RuneCountInString(s) > longest {
		s = string([]rune(s)[:longest]) + "…"
	}
	return s
}

// regular reports whether a name is that of a file, or leads to one: caches are made of links.
func regular(dir fs.FS, name string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := fs.Stat(dir, name)
	return err == nil && info.Mode().IsRegular()
}

// histories lists the histories below a directory, in the order of their names, and the reports of runs that left none. What
// begins with a dot is being written.
func histories(dir fs.FS) (files, reports []string, err error) {
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
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
