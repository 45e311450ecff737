package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"lockstep/reports"
	"lockstep/scenarios/files"
)

// onGitHub reports whether this is a step of a workflow of GitHub Actions.
func onGitHub() bool { return os.Getenv("GITHUB_ACTIONS") == "true" }

// annotate writes a workflow command for each finding that is not as it should be: an error, or a warning if a run proves nothing. The
// runner shows it at the line of the scenario file.
func annotate(w io.Writer, findings []finding) error {
	if g, ok := w.(*guard); ok {
		w = g.w
	}
	for _, g := range findings {
		level := "error"
		switch g.status {
		case exitExpected:
			continue
		case exitUnknown:
			level = "warning"
		}
		file := ""
		if g.file != "" {
			file = inWorkspace(g.file)
		}
		command := reports.WorkflowCommand(level, file, g.line, "lockstep "+oneLine(g.head()), strings.TrimSpace(g.explanation()))
		if _, err := io.WriteString(w, command); err != nil {
			return err
		}
	}
	return nil
}

// inWorkspace returns the path of a file from the root of the repository that a workflow has checked out, if the file is in it.
func inWorkspace(file string) string {
	root := os.Getenv("GITHUB_WORKSPACE")
	if root == "" || strings.HasPrefix(file, catalogue) && !filepath.IsAbs(file) && !exists(file) {
		return file
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	for _, real := range []func(string) (string, error){func(s string) (string, error) { return s, nil }, filepath.EvalSymlinks} {
		from, err1 := real(root)
		to, err2 := real(abs)
		if err1 != nil || err2 != nil {
			continue
		}
		if rel, err := filepath.Rel(from, to); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return file
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// A guard filters the output of a workflow step, so that only [annotate] gives commands to the runner: text from locks is printed as
// well. The runner takes a line that begins with two colons for a command, and ##[ anywhere in a line.
type guard struct {
	w      io.Writer
	inside bool // the line has begun with something other than a space
	object bool // that is a brace: the line is a JSON object
	last   string
}

func (g *guard) Write(b []byte) (int, error) {
	out := make([]byte, 0, len(b)+8)
	for _, c := range b {
		if !g.inside && c == ':' {
			out = append(out, '\\')
		}
		if c == '[' && g.last == "##" {
			if g.object { // in JSON it can only be in a string
				out = append(out, `\u005b`...)
				g.last = ""
				continue
			}
			out = append(out, '\\')
		}
		out = append(out, c)
		switch c {
		case '\n', '\r':
			g.inside, g.object = false, false
		case ' ', '\t', '\v', '\f':
		default:
			if !g.inside {
				g.inside, g.object = true, c == '{'
			}
		}
		if c != '#' {
			g.last = ""
		} else if g.last += "#"; len(g.last) > 2 {
			g.last = "##"
		}
	}
	if _, err := g.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// mostSummary is the greatest size of the summary of a step. GitHub does not show larger ones.
const mostSummary = 1 << 20

// appendSummary adds a table of the findings to the summary of the step, with the unexpected ones first. If the file would become too
// large, the table is cut off, and says so.
func appendSummary(file string, findings []finding) error {
	return files.Append(file, func(size int64) string { return summaryTable(findings, mostSummary-int(min(size, mostSummary))) })
}

// summaryTable is the table in at most room bytes. It is empty if there is not even room for its note.
func summaryTable(findings []finding, room int) string {
	findings = slices.Clone(findings)
	slices.SortStableFunc(findings, func(a, b finding) int { return int(b.status) - int(a.status) })
	good := 0
	for _, g := range findings {
		if g.status == exitExpected {
			good++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "### Lockstep: %d of %s as expected\n\n", good, many(len(findings), "run"))
	b.WriteString("| scenario/run | verdict | violated | assumption broken | as expected |\n|---|---|---|---|---|\n")
	const note = "\nThere is no room here for %d more: see the log of the step.\n"
	spare := len(note) + 20
	if b.Len()+spare > room {
		return ""
	}
	for i, g := range findings {
		row := g.row()
		if b.Len()+len(row)+spare > room {
			fmt.Fprintf(&b, note, len(findings)-i)
			return b.String()
		}
		b.WriteString(row)
	}
	b.WriteString("\n")
	return b.String()
}

// row is a line of the table.
func (g finding) row() string {
	violated, broken := "", ""
	if g.o != nil {
		violated, broken = summary(g.o)
	}
	as := "yes"
	if g.status != exitExpected {
		as = "**no**"
		if len(g.reasons) > 0 {
			as += ": " + cellText(oneLine(g.reasons[0]))
		}
	}
	lines := func(s string) string { return cellText(oneLine(strings.ReplaceAll(s, "\n", ", "))) }
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", cellText(oneLine(g.run)), cellText(g.verdict()), lines(violated), lines(broken), as)
}

// cellText escapes text so that neither Markdown nor HTML takes it for markup: every character except letters, digits and a few signs
// is written as its number.
func cellText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == utf8.RuneError:
			b.WriteRune('?')
		case r >= utf8.RuneSelf, r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', strings.ContainsRune(" -/.,;", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	return b.String()
}
