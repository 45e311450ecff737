package pictures

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"lockstep/checker"
	"lockstep/reports"
)

// WriteMarkdown writes the matrix as a Markdown page.
func (m *Matrix) WriteMarkdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n\n|", reports.MarkdownCode(m.Command))
	for _, l := range m.Locks {
		fmt.Fprintf(b, " | %s", l.Name)
		if l.Version != "" {
			fmt.Fprintf(b, "<br>%s", l.Version)
		}
	}
	fmt.Fprintf(b, " |\n|---%s|\n", strings.Repeat("|---", len(m.Locks)))
	blank := strings.Repeat(" |", len(m.Locks))
	for _, g := range m.Groups {
		fmt.Fprintf(b, "| **%s** |%s\n", g.Kind, blank)
		for i, r := range g.Rows {
			title := reports.Markdown(strings.TrimSuffix(r.Title, "."))
			if i > 0 && g.Rows[i-1].Scenario == r.Scenario {
				title = "… " + reports.Markdown(r.Variant)
			} else if title += " " + reports.MarkdownCodeCell(r.Scenario); r.Variant != "" {
				title += " … " + reports.Markdown(r.Variant)
			}
			fmt.Fprintf(b, "| %s |", title)
			for _, l := range m.Locks {
				text := notApplicable
				if c := r.cell(l.Name); c != nil {
					text = strings.TrimSpace(c.mark() + " " + c.text(m.Seeds))
					if c.Against == Worse || c.Verdict == checker.Inconclusive {
						text = "**" + text + "**"
					}
				}
				fmt.Fprintf(b, " %s |", text)
			}
			fmt.Fprintln(b)
		}
	}
	fmt.Fprintf(b, "| **in all** |%s\n", blank)
	for _, t := range m.tallies() {
		fmt.Fprintf(b, "| %s |", t.name)
		for _, l := range m.Locks {
			fmt.Fprintf(b, " %d |", t.count[l.Name])
		}
		fmt.Fprintln(b)
	}
	fmt.Fprintln(b)
	for _, s := range m.legendLines() {
		fmt.Fprintf(b, "- %s\n", strings.ReplaceAll(s, reports.NoBreak, " "))
	}
	worse, unknown, changing := m.findings()
	for _, f := range []struct {
		title string
		found []finding
	}{{"Worse than the reference", worse}, {"Nothing is proved", unknown}, {"Not reproducible", changing}} {
		if len(f.found) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n## %s\n\n", f.title)
		for _, f := range f.found {
			fmt.Fprintf(b, "- **%s**, %s: %s  \n  %s\n", strings.Join(f.locks, ", "), reports.Markdown(f.run), reports.Markdown(f.why), reports.MarkdownCode(f.command))
		}
	}
	if reasons := m.inapplicable(); len(reasons) > 0 {
		fmt.Fprint(b, "\n## Rows that do not apply\n\n")
		for _, r := range reasons {
			fmt.Fprintf(b, "- %s: %s\n", strings.Join(r.locks, ", "), reports.Markdown(r.text))
		}
	}
	return b.Flush()
}
