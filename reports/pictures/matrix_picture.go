package pictures

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/reports"
)

// A MatrixPicture shows a matrix at a glance. If it would be too tall, each scenario has only one row, and then the scenarios in which
// every lock is SAFE share one row of their group. The same matrix always gives the same bytes.
type MatrixPicture struct {
	Matrix *Matrix
	// Link returns the page of a run as a URL relative to the picture, or "" if there is none. It may be nil.
	Link func(*MatrixCell) string
}

// mostPictureRows is how many rows a picture may have before its scenarios are summed up.
const mostPictureRows = 45

// A pictureGroup has the rows with one kind of adversity.
type pictureGroup struct {
	kind string
	rows []pictureRow
}

// A pictureRow is one adversity, or several that are summed up.
type pictureRow struct {
	title, variant string
	scenario       string // empty if there are several
	again          bool   // a variant of the same scenario as the row before
	cells          []*pictureCell
	inapplicable   []string // of each lock: why the row does not apply to it
}

// A pictureCell is the result of one lock in a row: the worst of its cells.
type pictureCell struct {
	verdict checker.Verdict
	shown   *MatrixCell // the cell that a click leads to
	broken  []checker.Assumption
	against Comparison
	repeat  bool
	unsafe  int
	runs    int
	parts   []string // the text of each cell if there are several
}

// badness orders verdicts, the worst last.
func badness(v checker.Verdict) int {
	return slices.Index([]checker.Verdict{checker.Safe, checker.Inconclusive, checker.Unsafe}, v)
}

// rank orders cells by how much they deserve to be looked at.
func (c *MatrixCell) rank() int {
	if c.Against == Worse {
		return badness(c.Verdict) + 3
	}
	return badness(c.Verdict)
}

// worst sums up several cells of one lock.
func worst(cells []*MatrixCell, says func(*MatrixCell) string, seeds int) *pictureCell {
	if len(cells) == 0 {
		return nil
	}
	p := &pictureCell{verdict: checker.Safe, shown: cells[0], against: AsReference, runs: seeds * len(cells)}
	for _, c := range cells {
		if c.rank() > p.shown.rank() {
			p.shown = c
		}
		if badness(c.Verdict) > badness(p.verdict) {
			p.verdict = c.Verdict
		}
		p.unsafe += c.Unsafe
		p.repeat = p.repeat || c.Repeat != ""
		p.parts = append(p.parts, says(c))
	}
	for _, a := range checker.Assumptions() {
		if slices.ContainsFunc(cells, func(c *MatrixCell) bool { return c.Verdict == checker.Unsafe && slices.Contains(c.Broken, a) }) {
			p.broken = append(p.broken, a)
		}
	}
	better := func(c *MatrixCell) bool { return c.Against == Better }
	switch {
	case p.shown.Against == Worse:
		p.against = Worse
	case p.verdict == checker.Safe && slices.ContainsFunc(cells, better):
		p.against = Better
	}
	return p
}

// partly reports whether the lock was UNSAFE in only some of its runs.
func (p *pictureCell) partly() bool { return p.verdict == checker.Unsafe && p.unsafe < p.runs }

// text is the text of a cell. It says all that the colours say.
func (p *pictureCell) text() string {
	if p == nil {
		return notApplicable
	}
	s := string(p.verdict)
	if p.verdict == checker.Unsafe {
		s += " "
		for _, a := range p.broken {
			s += letterOf(a).letter
		}
		if p.partly() {
			s += fmt.Sprintf(" %d/%d", p.unsafe, p.runs)
		}
	}
	switch p.against {
	case Worse:
		s = worseMark + s
	case Better:
		s = betterMark + s
	}
	if p.repeat {
		s += " " + restlessMark
	}
	return s
}

// tip is the text that is shown when the pointer is on a cell.
func (p *pictureCell) tip(row *pictureRow) string {
	lines := []string{p.shown.Lock + ": " + p.text()}
	if row.title != "" {
		lines = append(lines, row.fullTitle())
	}
	if len(p.parts) > 1 {
		lines = append(lines, p.parts...)
	}
	if p.shown.Why != "" {
		lines = append(lines, p.shown.Why)
	}
	lines = append(lines, p.shown.Command)
	for i := range lines {
		lines[i] = reports.Printable(lines[i], 600)
	}
	return strings.Join(lines, "\n")
}

func (r *pictureRow) fullTitle() string {
	if r.variant == "" {
		return trimmed(r.title)
	}
	return trimmed(r.title) + ": " + reports.Printable(r.variant, 60)
}

// safe reports whether every lock of a row is SAFE, as its reference is.
func (r *pictureRow) safe() bool {
	return !slices.ContainsFunc(r.cells, func(c *pictureCell) bool {
		return c != nil && (c.verdict != checker.Safe || c.against != AsReference || c.repeat)
	})
}

// gathered sums up several rows of the matrix in one.
func (m *Matrix) gathered(row pictureRow, rows []MatrixRow, says func(*MatrixRow, *MatrixCell) string) pictureRow {
	for _, l := range m.Locks {
		var cells []*MatrixCell
		of := map[*MatrixCell]*MatrixRow{}
		for i := range rows {
			if c := rows[i].cell(l.Name); c != nil {
				cells, of[c] = append(cells, c), &rows[i]
			}
		}
		row.inapplicable = append(row.inapplicable, rows[0].inapplicable(l.Name))
		row.cells = append(row.cells, worst(cells, func(c *MatrixCell) string { return says(of[c], c) }, max(m.Seeds, 1)))
	}
	return row
}

// byScenario splits the rows of a group by scenario.
func byScenario(rows []MatrixRow) [][]MatrixRow {
	var all [][]MatrixRow
	for i := range rows {
		if i == 0 || rows[i].Scenario != rows[i-1].Scenario {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], rows[i])
	}
	return all
}

// pictured returns what the picture shows, in as much detail as there is room for.
func (m *Matrix) pictured() []pictureGroup {
	for _, make := range []func(MatrixGroup) pictureGroup{m.inFull, m.byTheWorst} {
		var all []pictureGroup
		n := 0
		for _, g := range m.Groups {
			all = append(all, make(g))
			n += len(all[len(all)-1].rows)
		}
		if n <= mostPictureRows {
			return all
		}
	}
	var all []pictureGroup
	for _, g := range m.Groups {
		all = append(all, m.withoutSafe(g))
	}
	return all
}

// inFull is a group with all of its rows.
func (m *Matrix) inFull(g MatrixGroup) pictureGroup {
	p := pictureGroup{kind: g.Kind}
	for i, r := range g.Rows {
		row := pictureRow{title: r.Title, variant: r.Variant, scenario: r.Scenario, again: i > 0 && g.Rows[i-1].Scenario == r.Scenario}
		p.rows = append(p.rows, m.gathered(row, g.Rows[i:i+1], func(*MatrixRow, *MatrixCell) string { return "" }))
	}
	return p
}

// byTheWorst is a group with one row for each scenario.
func (m *Matrix) byTheWorst(g MatrixGroup) pictureGroup {
	p := pictureGroup{kind: g.Kind}
	for _, rows := range byScenario(g.Rows) {
		row := pictureRow{title: rows[0].Title, scenario: rows[0].Scenario}
		p.rows = append(p.rows, m.gathered(row, rows, func(r *MatrixRow, c *MatrixCell) string {
			return strings.TrimPrefix(r.Variant+": ", ": ") + c.text(m.Seeds)
		}))
	}
	return p
}

// withoutSafe is a group with one row for each scenario, and one for all scenarios in which every lock is SAFE.
func (m *Matrix) withoutSafe(g MatrixGroup) pictureGroup {
	p := m.byTheWorst(g)
	var rest []MatrixRow
	n := 0
	of := byScenario(g.Rows)
	var kept []pictureRow
	for i, r := range p.rows {
		if r.safe() {
			rest = append(rest, of[i]...)
			n++
			continue
		}
		kept = append(kept, r)
	}
	switch {
	case n == 1:
		return p
	case n > 1:
		title := fmt.Sprintf("and %d more", n)
		if len(kept) == 0 {
			title = fmt.Sprintf("%d scenarios", n)
		}
		kept = append(kept, m.gathered(pictureRow{title: title}, rest, func(r *MatrixRow, c *MatrixCell) string {
			return c.Run + ": " + c.text(m.Seeds)
		}))
	}
	p.rows = kept
	return p
}

// headline sums up the picture in a sentence.
func (m *Matrix) headline() string {
	var never []string
	unsafe := map[string]int{}
	scenarios := map[string]bool{}
	for _, g := range m.Groups {
		for _, r := range g.Rows {
			scenarios[g.Kind+"\x00"+r.Scenario] = true
			for _, c := range r.Cells {
				if c.Verdict == checker.Unsafe {
					unsafe[c.Lock]++
				}
			}
		}
	}
	for _, l := range m.Locks {
		if unsafe[l.Name] == 0 {
			never = append(never, reports.Printable(l.Name, 40))
		}
	}
	in := reports.Count(len(scenarios), "scenario")
	switch n := len(m.Locks); {
	case n == 0:
		return "No lock was run"
	case n == 1 && len(never) == 0:
		return fmt.Sprintf("%s breaks somewhere in %s: what it survives, and what it does not", reports.Printable(m.Locks[0].Name, 40), in)
	case len(never) == 0:
		return fmt.Sprintf("Each of these %d locks breaks somewhere: what they survive, in %s", n, in)
	case len(never) == n:
		return fmt.Sprintf("No lock is UNSAFE here: %s, in %s", reports.Count(n, "lock"), in)
	case len(never) <= 3:
		return fmt.Sprintf("Of %d locks only %s never UNSAFE, in %s", n, listed(never), in)
	}
	return fmt.Sprintf("%d of %d locks are UNSAFE somewhere, in %s", len(m.Locks)-len(never), len(m.Locks), in)
}

// listed joins names, and adds the verb.
func listed(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last] + " are"
}
