package pictures

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"lockstep/reports"
)

// WriteText writes the matrix for a terminal.
func (m *Matrix) WriteText(w io.Writer, o MatrixOptions) error {
	if o.Paint == nil {
		o.Paint = func(_ reports.Role, s string) string { return s }
	}
	b := bufio.NewWriter(w)
	columns := cmp.Or(o.Columns, reports.Width)
	l := newMatrixLayout(m, columns, o.Paint)
	for i, part := range m.parts(columns, l.cells) {
		if i > 0 {
			fmt.Fprint(b, "\n\n")
		}
		newMatrixLayout(part, columns, o.Paint).table(b)
	}
	l.legend(b)
	worse, unknown, changing := m.findings()
	l.findings(b, "Worse than the reference", worse)
	l.findings(b, "Nothing is proved", unknown)
	l.findings(b, "Not reproducible", changing)
	if reasons := m.inapplicable(); len(reasons) > 0 {
		fmt.Fprintf(b, "\n%s\n", o.Paint(Heading, "Rows that do not apply"))
		for _, r := range reasons {
			l.paragraph(b, strings.Join(r.locks, ", ")+": "+r.text, "  ", "    ")
		}
	}
	return b.Flush()
}

// parts splits a matrix into as few parts as fit the width, with about the same number of locks in each. A part leaves out rows in
// which none of its locks was run.
func (m *Matrix) parts(columns int, cells []int) []*Matrix {
	size := len(m.Locks)
	for fits := false; !fits && size > 1; {
		fits = true
		for part := range slices.Chunk(cells, size) {
			wide := narrowest
			for _, cell := range part {
				wide += 1 + cell
			}
			fits = fits && wide <= columns
		}
		if n := (len(m.Locks) + size - 1) / size; !fits { // one part more
			size = min(size-1, (len(m.Locks)+n)/(n+1))
		}
	}
	var all []*Matrix
	for locks := range slices.Chunk(m.Locks, max(size, 1)) {
		part := *m
		part.Locks, part.Groups = locks, nil
		for _, g := range m.Groups {
			has := func(r MatrixRow) bool {
				return slices.ContainsFunc(part.Locks, func(l MatrixLock) bool { return r.cell(l.Name) != nil })
			}
			g.Rows = slices.DeleteFunc(slices.Clone(g.Rows), func(r MatrixRow) bool { return !has(r) })
			if len(g.Rows) > 0 {
				part.Groups = append(part.Groups, g)
			}
		}
		all = append(all, &part)
	}
	return all
}

// table writes the table.
func (l *matrixLayout) table(b io.Writer) {
	l.heads(b)
	for _, g := range l.Groups {
		fmt.Fprintf(b, "\n%s\n", l.paint(Heading, g.Kind))
		for i, r := range g.Rows {
			first := i == 0 || g.Rows[i-1].Scenario != r.Scenario
			if first && r.Variant != "" && !only(g.Rows, r.Scenario) {
				l.row(b, l.titleLines(r.Title, 2), nil, r.Scenario)
			}
			l.row(b, l.rowTitle(g.Rows, i), &g.Rows[i], r.Scenario)
		}
	}
	fmt.Fprintf(b, "\n%s\n", l.paint(Heading, "in all"))
	for _, t := range l.tallies() {
		l.tally(b, t)
	}
}

// only reports whether a scenario has exactly one row.
func only(rows []MatrixRow, scenario string) bool {
	n := 0
	for _, r := range rows {
		if r.Scenario == scenario {
			n++
		}
	}
	return n == 1
}

// A matrixLayout says where the columns of a matrix are.
type matrixLayout struct {
	*Matrix
	paint   func(reports.Role, string) string
	columns int
	title   int   // the width of the titles, with their indent
	cells   []int // the widths of the cells, with their marks
	names   bool  // there is room for the names of the scenarios
}

// The least width of the titles, even if the table gets too wide, and the greatest, beyond which the eye loses the line on its way
// to the cells.
const (
	narrowest = 24
	broadest  = 62
)

func newMatrixLayout(m *Matrix, columns int, paint func(reports.Role, string) string) *matrixLayout {
	l := &matrixLayout{Matrix: m, columns: columns, paint: paint}
	longest, name, all := 0, 0, 0
	for _, g := range m.Groups {
		for i, r := range g.Rows {
			longest = max(longest, 2+utf8.RuneCountInString(trimmed(r.Title)))
			longest = max(longest, utf8.RuneCountInString(l.rowTitleText(g.Rows, i)))
			name = max(name, utf8.RuneCountInString(r.Scenario))
		}
	}
	for _, lock := range m.Locks {
		width := 0
		for _, g := range m.Groups {
			for _, r := range g.Rows {
				if c := r.cell(lock.Name); c != nil {
					width = max(width, 1+utf8.RuneCountInString(c.text(m.Seeds)))
				}
			}
		}
		width = max(width, 9, 1+len(lock.Version))
		for _, word := range strings.SplitAfter(lock.Name, "-") {
			width = max(width, 1+utf8.RuneCountInString(word))
		}
		l.cells = append(l.cells, width)
		all += width + 1
	}
	l.title = max(narrowest, min(longest, broadest, columns-all))
	l.names = l.title == min(longest, broadest) && l.title+all+2+name <= columns
	return l
}

// trimmed is a title without its full stop, as rows have it.
func trimmed(title string) string { return strings.TrimSuffix(reports.Printable(title, 200), ".") }

// rowTitleText names a row: by the title of its scenario, with the variant if there is one; or by the variant alone if the scenario has
// several rows.
func (l *matrixLayout) rowTitleText(rows []MatrixRow, i int) string {
	r := rows[i]
	switch {
	case r.Variant == "":
		return "  " + trimmed(r.Title)
	case only(rows, r.Scenario):
		return "  " + trimmed(r.Title) + ": " + r.Variant
	}
	return "    " + reports.Printable(r.Variant, 60)
}

func (l *matrixLayout) rowTitle(rows []MatrixRow, i int) []string {
	text := l.rowTitleText(rows, i)
	trim := strings.TrimLeft(text, " ")
	return l.titleLines(trim, len(text)-len(trim))
}

// titleLines breaks a title into lines. Those after the first are indented a little more.
func (l *matrixLayout) titleLines(title string, indent int) []string {
	var lines []string
	for rest := trimmed(title); rest != ""; {
		var line string
		line, rest = reports.CutLine(rest, l.title-indent)
		lines = append(lines, strings.Repeat(" ", indent)+line)
		if len(lines) == 1 {
			indent += 2
		}
	}
	return lines
}

// row writes a row; its cells stand beside the last line of its title.
func (l *matrixLayout) row(w io.Writer, title []string, r *MatrixRow, name string) {
	for i, line := range title {
		if i < len(title)-1 || r == nil {
			fmt.Fprintln(w, line)
			continue
		}
		fmt.Fprint(w, pad(line, l.title))
		gap := " " // written before the next cell, so that no line ends with blanks
		for n, lock := range l.Locks {
			c := r.cell(lock.Name)
			text, role := " "+notApplicable, reports.Aside
			if c != nil {
				text, role = c.mark()+c.text(l.Seeds), c.role()
			}
			fmt.Fprint(w, gap, l.paint(role, text))
			gap = strings.Repeat(" ", l.cells[n]-utf8.RuneCountInString(text)+1)
		}
		if l.names {
			fmt.Fprint(w, gap, " ", l.paint(reports.Aside, name))
		}
		fmt.Fprintln(w)
	}
}

// heads writes the heads of the columns: the names of the locks, broken at hyphens, and the versions of libraries.
func (l *matrixLayout) heads(w io.Writer) {
	var names [][]string
	most, versions := 0, false
	for i, lock := range l.Locks {
		var lines []string
		for _, part := range strings.SplitAfter(lock.Name, "-") {
			if n := len(lines) - 1; n >= 0 && utf8.RuneCountInString(lines[n]+part) < l.cells[i] {
				lines[n] += part
			} else {
				lines = append(lines, part)
			}
		}
		names, most = append(names, lines), max(most, len(lines))
		versions = versions || lock.Version != ""
	}
	line := func(role reports.Role, title string, text func(i int) string) {
		var b strings.Builder
		b.WriteString(pad(title, l.title))
		for i := range l.Locks {
			b.WriteString("  " + pad(text(i), l.cells[i]-1))
		}
		fmt.Fprintln(w, l.paint(role, strings.TrimRight(b.String(), " ")))
	}
	for n := range most {
		title := ""
		if n == 0 {
			title = "what each lock survives"
		}
		line(Heading, title, func(i int) string {
			if skip := most - len(names[i]); n >= skip {
				return names[i][n-skip]
			}
			return ""
		})
	}
	if versions {
		line(reports.Aside, "", func(i int) string { return l.Locks[i].Version })
	}
}

func (l *matrixLayout) tally(w io.Writer, t tally) {
	title := l.titleLines(t.name, 2)
	for _, line := range title[:len(title)-1] {
		fmt.Fprintln(w, line)
	}
	var b strings.Builder
	b.WriteString(pad(title[len(title)-1], l.title))
	for i, lock := range l.Locks {
		b.WriteString("  " + pad(fmt.Sprint(t.count[lock.Name]), l.cells[i]-1))
	}
	fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// widest is the greatest width of running text.
const widest = 120

// paragraph wraps a text at the width.
func (l *matrixLayout) paragraph(w io.Writer, text, first, then string) {
	for rest := text; rest != ""; first = then {
		var line string
		line, rest = reports.CutLine(rest, min(max(l.columns, 40), widest)-utf8.RuneCountInString(first))
		fmt.Fprintln(w, first+strings.ReplaceAll(line, reports.NoBreak, " "))
	}
}
