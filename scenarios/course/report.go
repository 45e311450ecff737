package course

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/scenarios/files"
)

// width is how many columns a report has.
const width = 100

// Report says in words what a lock got, and what went wrong.
func (g *Grade) Report() string {
	var b strings.Builder
	e := g.Exercise
	fmt.Fprintf(&b, "Exercise %d, %s: %d of %d points\n", e.Number, e.Title, g.Points(), e.Most())
	if g.Void != "" {
		fmt.Fprintf(&b, "\n%s\n", wrap(g.Void, 0))
		return b.String()
	}
	if g.Stopped != "" {
		fmt.Fprintf(&b, "\n%s\n", wrap(g.Stopped, 0))
	}
	for _, r := range g.Rows {
		fmt.Fprintf(&b, "\n%3d of %d  %s\n%s\n", r.Points, r.Most, r.Name, wrap(r.Title, 11))
		for _, text := range r.Texts() {
			fmt.Fprintln(&b, wrap(text, 11))
		}
		if page := r.Page(); page != "" {
			fmt.Fprintf(&b, "           Step by step: go test ./%s -results=results\n           writes %s/results/%s, a page for a browser.\n", e.Folder, e.Folder, page)
		}
	}
	return b.String()
}

// Texts say what happened, and give the hint, if points are missing.
func (r Row) Texts() []string {
	var all []string
	if r.What != "" {
		all = append(all, "What happened: "+r.What)
	}
	if r.Hint != "" {
		all = append(all, "Hint: "+r.Hint)
	}
	return all
}

// Page is the name of the page on which a run can be seen step by step; empty if there is none.
func (r Row) Page() string {
	if r.Points == r.Most || r.Outcome == nil || r.Outcome.Report != nil {
		return ""
	}
	return r.pageName()
}

func (r Row) pageName() string {
	return strings.NewReplacer("/", "-", " ", "-").Replace(r.Name) + ".html"
}

// wrap breaks a text into lines, each indented.
func wrap(text string, indent int) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, reports.Wrap(strings.TrimRight(line, "\n"), width-indent)...)
	}
	margin := strings.Repeat(" ", indent)
	return margin + strings.Join(lines, "\n"+margin)
}

// A Result is what Gradescope reads: results.json of an autograder. The points of a submission are the sum over its tests.
type Result struct {
	Tests []ResultTest `json:"tests"`
}

// A ResultTest is a part of a [Result].
type ResultTest struct {
	Number string `json:"number"` // of the exercise, and of the row in it, as in 2.1
	Name   string `json:"name"`
	Score  int    `json:"score"`
	Most   int    `json:"max_score"`
	Status string `json:"status"` // passed or failed
	Output string `json:"output"`
}

// Result converts a grade to what Gradescope reads.
func (g *Grade) Result() Result {
	var all Result
	for i, r := range g.Rows {
		t := ResultTest{
			Number: fmt.Sprintf("%d.%d", g.Exercise.Number, i+1), Name: g.Exercise.Folder + ": " + r.Name, Score: r.Points, Most: r.Most,
			Status: "passed", Output: strings.Join(append([]string{r.Title}, r.Texts()...), "\n"),
		}
		if r.Points < r.Most {
			t.Status = "failed"
		}
		switch {
		case g.Void != "":
			t.Output = g.Void
		case g.Stopped != "" && r.Points < r.Most:
			t.Output = g.Stopped + "\n" + t.Output
		}
		all.Tests = append(all.Tests, t)
	}
	return all
}

// encode writes a result as JSON.
func (r Result) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(r)
	return b.Bytes(), err
}

// junit converts a result to a report for CI servers, with a case for each test.
func (r Result) junit(name string) ([]byte, error) {
	var cases []reports.Case
	for _, t := range r.Tests {
		suite, run, _ := strings.Cut(t.Name, ": ")
		c := reports.Case{Suite: suite, Name: run, Message: fmt.Sprintf("%d of %d points", t.Score, t.Most), Kind: "points", Why: t.Output}
		if t.Score < t.Most {
			c.Status = reports.Failed
		}
		cases = append(cases, c)
	}
	var b bytes.Buffer
	err := reports.WriteJUnit(&b, name, cases, time.Time{}, 0)
	return b.Bytes(), err
}

// The files of a grade.
const (
	resultFile = "results.json"
	junitFile  = "junit.xml"
	reportFile = "report.txt"
)

// write writes the files of a grade to a directory. A page of an earlier grade is removed where there is none now.
func (g *Grade) write(ctx context.Context, dir string) error {
	if err := files.MakeDir(dir); err != nil {
		return err
	}
	for _, r := range g.Rows {
		page := filepath.Join(dir, r.pageName())
		if r.Page() == "" || g.Void != "" {
			if err := os.Remove(page); err != nil && !os.IsNotExist(err) {
				return err
			}
			continue
		}
		var b bytes.Buffer
		if err := explorer.Page(&b, explorer.Link{}, r.Outcome.ToExplore()); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		if err := files.Write(ctx, page, b.Bytes()); err != nil {
			return err
		}
	}
	return g.Result().write(ctx, dir, g.Exercise.Folder, g.Report())
}

// write writes a result in its forms.
func (r Result) write(ctx context.Context, dir, name, report string) error {
	data, err := r.encode()
	if err != nil {
		return err
	}
	cases, err := r.junit(name)
	if err != nil {
		return err
	}
	for file, data := range map[string][]byte{resultFile: data, junitFile: cases, reportFile: []byte(report)} {
		if err := files.Write(ctx, filepath.Join(dir, file), data); err != nil {
			return err
		}
	}
	return nil
}
