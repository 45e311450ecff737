package pictures

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"lockstep/checker"
	"lockstep/reports"
)

// A Matrix says what locks survive. Its rows are adversities, its columns locks.
type Matrix struct {
	Command string        `json:"command"` // makes it again
	On      string        `json:"on"`
	Seed    uint64        `json:"seed"`
	Seeds   int           `json:"seeds"` // the number of seeds, from Seed on
	Locks   []MatrixLock  `json:"locks"`
	Groups  []MatrixGroup `json:"groups"`
}

// A MatrixLock is the head of a column.
type MatrixLock struct {
	Name    string   `json:"name"`
	Module  string   `json:"module,omitempty"`
	Version string   `json:"version,omitempty"`
	Like    []string `json:"like,omitempty"` // the locks that it is compared with; none for a lock of the literature
	// Restless locks may have a different result when they are run again, so their findings are kept apart from those of others.
	Restless bool `json:"restless,omitempty"`
}

// A MatrixGroup has the rows with one kind of adversity.
type MatrixGroup struct {
	Kind string      `json:"kind"`
	Rows []MatrixRow `json:"rows"`
}

// A MatrixRow is one adversity: a scenario, or one variant of it.
type MatrixRow struct {
	Scenario string       `json:"scenario"`
	Title    string       `json:"title"`
	Variant  string       `json:"variant,omitempty"` // what distinguishes it, in words
	Cells    []MatrixCell `json:"cells"`             // one for each lock
}

// A MatrixCell is the result of one lock in one row.
type MatrixCell struct {
	Lock      string               `json:"lock"`
	Run       string               `json:"run"`       // SCENARIO/RUN
	Reference string               `json:"reference"` // the lock that the catalogue runs there
	Verdict   checker.Verdict      `json:"verdict"`   // UNSAFE if it is with any seed
	Broken    []checker.Assumption `json:"broken"`    // the assumptions broken in its violations, with the seeds that have the verdict
	Unsafe    int                  `json:"unsafe"`    // the number of seeds with which it is UNSAFE
	Against   Comparison           `json:"against"`   // the comparison with its reference
	Why       string               `json:"why,omitempty"`
	Command   string               `json:"command"`                    // shows it
	Repeat    string               `json:"not_reproducible,omitempty"` // how a repetition with the same seed differed
	// Inapplicable says why the run does not apply to the lock. Such a cell has no verdict, because nothing was run.
	Inapplicable string `json:"does_not_apply,omitempty"`
}

// A Comparison says how a lock does in a run of its reference.
type Comparison string

const (
	AsReference Comparison = "as its reference"
	// Worse is a lock that violates a property that its reference keeps, or that is itself at fault for a violation where its
	// reference is not.
	Worse Comparison = "worse"
	// Better is a lock that violates nothing where its reference violates something.
	Better Comparison = "better"
)

// Roles of parts of a matrix.
const (
	Heading  reports.Role = reports.Aside + 1 + iota
	Breaking              // UNSAFE, as its reference is
	Winning               // better than its reference
)

// MatrixOptions says how a matrix is shown.
type MatrixOptions struct {
	// Columns is the greatest width of a text, by default [reports.Width]. Locks for which there is no room are in a table below.
	Columns int
	// Paint colours a piece of text; nil leaves it plain.
	Paint func(reports.Role, string) string
}

// Marks of cells.
const (
	worseMark    = "▼"
	betterMark   = "▲"
	restlessMark = "~"

	notApplicable = "n/a"
)

// letter stands for the assumption that was broken.
func letter(a checker.Assumption) string {
	switch a {
	case checker.BoundedPause:
		return "P"
	case checker.BoundedClockError:
		return "C"
	case checker.BoundedDelay:
		return "D"
	case checker.DurableNodes:
		return "N"
	}
	return "—"
}

// letterText explains a letter.
func letterText(a checker.Assumption) string {
	switch a {
	case checker.BoundedPause:
		return "a pause was too long"
	case checker.BoundedClockError:
		return "a clock was wrong"
	case checker.BoundedDelay:
		return "a message was too late"
	case checker.DurableNodes:
		return "a node forgot"
	}
	return "the lock is at fault"
}

// cell returns the result of a lock in a row, or nil if the row does not apply to it.
func (r MatrixRow) cell(lock string) *MatrixCell {
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Lock == lock && c.Inapplicable == "" {
			return c
		}
	}
	return nil
}

// inapplicable says why a row does not apply to a lock.
func (r MatrixRow) inapplicable(lock string) string {
	for _, c := range r.Cells {
		if c.Lock == lock {
			return c.Inapplicable
		}
	}
	return ""
}

// text is the text of a cell, without its mark.
func (c *MatrixCell) text(seeds int) string {
	s := string(c.Verdict)
	if c.Verdict == checker.Unsafe {
		s += " "
		for _, a := range c.Broken {
			s += letter(a)
		}
		if seeds > 1 {
			s += fmt.Sprintf(" %d/%d", c.Unsafe, seeds)
		}
	}
	if c.Repeat != "" {
		s += " " + restlessMark
	}
	return s
}

func (c *MatrixCell) mark() string {
	switch c.Against {
	case Worse:
		return worseMark
	case Better:
		return betterMark
	}
	return " "
}

func (c *MatrixCell) role() reports.Role {
	switch {
	case c.Against == Worse:
		return reports.Violating
	case c.Verdict == checker.Unsafe:
		return Breaking
	case c.Verdict == checker.Inconclusive:
		return reports.Doubtful
	case c.Against == Better:
		return Winning
	}
	return reports.Holding
}

// A finding is a cell that deserves an explanation, or several that share one.
type finding struct {
	restless          bool
	locks             []string
	run, why, command string
	role              reports.Role
	mark              string
}

// findings returns the cells in which a lock is worse than its reference, in which nothing is proved, and in which a repetition
// differed. Locks for which the same run proves nothing for the same reason are one finding.
func (m *Matrix) findings() (worse, unknown, changing []finding) {
	for _, l := range m.Locks {
		for _, g := range m.Groups {
			for _, r := range g.Rows {
				c := r.cell(l.Name)
				if c != nil && c.Repeat != "" {
					changing = append(changing, finding{l.Restless, []string{c.Lock}, c.Run, c.Repeat, c.Command, reports.Doubtful, restlessMark})
				}
				switch {
				case c == nil:
				case c.Against == Worse:
					worse = append(worse, finding{l.Restless, []string{c.Lock}, c.Run, c.Why, c.Command, c.role(), worseMark})
				case c.Verdict == checker.Inconclusive:
					f := finding{l.Restless, []string{c.Lock}, c.Run, c.Why, c.Command, c.role(), "?"}
					if i := slices.IndexFunc(unknown, f.joins); i >= 0 {
						f.locks = append(unknown[i].locks, c.Lock)
						f.command = strings.Replace(c.Command, lockFlag(c.Lock), lockFlag(f.locks...), 1)
						unknown[i] = f
						continue
					}
					unknown = append(unknown, f)
				}
			}
		}
	}
	return worse, unknown, changing
}

// A reason says why rows do not apply to some locks.
type reason struct {
	text  string
	locks []string // each with the number of its rows
}

// inapplicable returns the reasons why rows do not apply to locks.
func (m *Matrix) inapplicable() (all []reason) {
	for _, l := range m.Locks {
		rows := map[string]int{}
		var texts []string
		for _, g := range m.Groups {
			for _, r := range g.Rows {
				if text := r.inapplicable(l.Name); text != "" {
					if rows[text]++; rows[text] == 1 {
						texts = append(texts, text)
					}
				}
			}
		}
		for _, text := range texts {
			i := slices.IndexFunc(all, func(r reason) bool { return r.text == text })
			if i < 0 {
				i, all = len(all), append(all, reason{text: text})
			}
			all[i].locks = append(all[i].locks, fmt.Sprintf("%s (%s)", l.Name, reports.Count(rows[text], "row")))
		}
	}
	return all
}

// joins reports whether one command can show both findings: their commands differ only in the locks that they name.
func (f finding) joins(other finding) bool {
	return f.restless == other.restless && f.run == other.run && f.why == other.why &&
		strings.Replace(f.command, lockFlag(f.locks...), lockFlag(other.locks...), 1) == other.command
}

func lockFlag(locks ...string) string { return " --lock " + strings.Join(locks, ",") + " " }

// A tally counts the cells of one kind for each lock.
type tally struct {
	name  string
	count map[string]int // by lock
}

func (m *Matrix) tallies() []tally {
	var all []tally
	for _, t := range []struct {
		name string
		is   func(*MatrixCell) bool
	}{
		{string(checker.Safe), func(c *MatrixCell) bool { return c.Verdict == checker.Safe }},
		{string(checker.Unsafe), func(c *MatrixCell) bool { return c.Verdict == checker.Unsafe }},
		{string(checker.Inconclusive), func(c *MatrixCell) bool { return c.Verdict == checker.Inconclusive }},
		{worseMark + " worse than its reference", func(c *MatrixCell) bool { return c.Against == Worse }},
		{betterMark + " better", func(c *MatrixCell) bool { return c.Against == Better }},
		{"does not apply", func(c *MatrixCell) bool { return c.Inapplicable != "" }},
	} {
		counted := tally{t.name, map[string]int{}}
		sum := 0
		for _, g := range m.Groups {
			for _, r := range g.Rows {
				for i := range r.Cells {
					if t.is(&r.Cells[i]) {
						counted.count[r.Cells[i].Lock]++
						sum++
					}
				}
			}
		}
		if sum > 0 {
			all = append(all, counted)
		}
	}
	return all
}

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

// legend explains the letters and marks.
func (l *matrixLayout) legend(w io.Writer) {
	fmt.Fprintln(w)
	for _, s := range l.legendLines() {
		l.paragraph(w, s, "", "  ")
	}
}

func (m *Matrix) legendLines() []string {
	var letters []string
	for _, a := range checker.Assumptions() {
		letters = append(letters, letter(a)+reports.NoBreak+strings.ReplaceAll(letterText(a), " ", reports.NoBreak))
	}
	lines := []string{
		"The letter after UNSAFE says why: " + strings.Join(letters, ", ") + ".",
		worseMark + " worse than its reference, the lock that it is compared with: it violates a property that the reference keeps, or is itself at fault where the reference is not. " +
			betterMark + " better: it violates nothing where the reference violates something. " + notApplicable + " does not apply.",
	}
	if m.Seeds > 1 {
		lines = append(lines, fmt.Sprintf("UNSAFE 3/%d: with 3 of the %[1]d seeds from %d on. One seed is enough for UNSAFE.", m.Seeds, m.Seed))
	}
	if m.restless() {
		lines = append(lines, restlessMark+" not reproducible: a repetition with the same seed came out differently in some detail.")
	}
	for _, lock := range m.Locks {
		if len(lock.Like) > 0 {
			name := lock.Name
			if lock.Module != "" {
				name += " (" + strings.TrimSpace(lock.Module+" "+lock.Version) + ")"
			}
			lines = append(lines, name+" is compared with "+strings.Join(lock.Like, ", ")+".")
		}
	}
	return lines
}

func (m *Matrix) restless() bool {
	for _, g := range m.Groups {
		for _, r := range g.Rows {
			if slices.ContainsFunc(r.Cells, func(c MatrixCell) bool { return c.Repeat != "" }) {
				return true
			}
		}
	}
	return false
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

// findings writes what happened in each, and the command that shows it.
func (l *matrixLayout) findings(w io.Writer, title string, found []finding) {
	if len(found) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", l.paint(Heading, title))
	for _, f := range found {
		fmt.Fprintf(w, "  %s\n", l.paint(f.role, f.mark+" "+strings.Join(f.locks, ", ")+": "+f.run))
		l.paragraph(w, reports.Printable(f.why, 600), "    ", "    ")
		fmt.Fprintf(w, "    %s\n", l.paint(reports.Aside, f.command))
	}
}

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
