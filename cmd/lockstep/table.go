package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/scenarios"
	"lockstep/scenarios/play"
)

// line is what run --json prints for one run.
type line struct {
	Scenario    string                              `json:"scenario"`
	Run         string                              `json:"run"` // within the scenario
	Lock        string                              `json:"lock"`
	Reference   string                              `json:"reference"` // the lock that the scenario names
	Label       string                              `json:"label,omitempty"`
	On          string                              `json:"on"`
	Guests      bool                                `json:"guests,omitempty"` // the clients ran as WebAssembly
	Seed        uint64                              `json:"seed"`
	Verdict     checker.Verdict                     `json:"verdict"`
	Expected    checker.Verdict                     `json:"expected"`
	Properties  map[checker.Property]checker.Status `json:"properties"`
	Violations  []violation                         `json:"violations"`
	Unmet       []string                            `json:"unmet,omitempty"`
	Differences []string                            `json:"differences,omitempty"`
	Unfit       string                              `json:"does_not_apply,omitempty"` // why the run does not apply to the lock
	Reported    []checker.Measurement               `json:"reported,omitempty"`
	Sweep       *play.Sweep                         `json:"sweep,omitempty"` // the other fields are those of its worst position
	Report      string                              `json:"report,omitempty"`
	Checksum    string                              `json:"checksum"`
	Repeat      string                              `json:"not_reproducible,omitempty"` // how a repetition differed
	VirtualMS   int64                               `json:"virtual_ms"`
	Events      int                                 `json:"events"`
	File        string                              `json:"file,omitempty"` // the scenario file
	Line        int                                 `json:"line,omitempty"`
}

type violation struct {
	Property   checker.Property   `json:"property"`
	At         string             `json:"at"`
	What       string             `json:"what"`
	Assumption checker.Assumption `json:"assumption"`
}

func newLine(o *play.Outcome) line {
	m := o.History.Meta
	l := line{
		Scenario: m.Scenario, Run: o.Run.ID(), Lock: m.Lock, Reference: o.Run.Reference(), Label: m.Label, On: m.On, Guests: o.Run.Guests, Seed: m.Seed,
		Verdict: o.Result.Verdict, Expected: o.ExpectedVerdict(),
		Properties: map[checker.Property]checker.Status{}, Violations: []violation{},
		Unmet: o.Result.Unmet, Differences: o.Unexpected(), Reported: o.Measurements, Sweep: o.Sweep,
		Unfit: unfit(o), Checksum: m.Checksum, Repeat: o.Repeat, Events: len(o.History.Events),
	}
	for _, s := range o.Result.Statuses {
		l.Properties[s.Property] = s.Status
	}
	for _, v := range o.Result.Violations {
		l.Violations = append(l.Violations, violation{v.Property, v.At.String(), v.What, v.Assumption})
	}
	if o.Report != nil {
		l.Report = o.Report.String()
	}
	if n := len(o.History.Events); n > 0 {
		l.VirtualMS = o.History.Events[n-1].At.Milliseconds()
	}
	return l
}

// unfit says why a run does not apply to the lock that was put in the place of another; empty if it does.
func unfit(o *play.Outcome) string {
	if o.Run.Lock == o.Run.Reference() {
		return ""
	}
	return o.Inapplicable()
}

// newTable makes a table without lines, which is easy to parse.
func newTable() table.Writer {
	t := table.NewWriter()
	t.SuppressTrailingSpaces()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatLower
	style.Box.PaddingLeft = ""
	t.SetStyle(style)
	return t
}

// printTable prints the verdicts. If a lock replaced another one, there is a column for the run and one for the lock; otherwise the name
// of the run says both.
func printTable(w io.Writer, outcomes []*play.Outcome, took time.Duration) {
	var rows []table.Row
	placed := slices.ContainsFunc(outcomes, func(o *play.Outcome) bool { return o.Run.Lock != o.Run.Reference() })
	header := table.Row{"scenario", "lock", "verdict", "violated", "assumption broken", "expected"}
	if placed {
		header = slices.Insert(header, 1, any("run of"))
	}
	good, bad, unclear := paint(w, text.FgGreen), paint(w, text.FgRed, text.Bold), paint(w, text.FgYellow, text.Bold)
	asExpected, unfits, guests, last := 0, 0, 0, ""
	for _, o := range outcomes {
		verdict := map[checker.Verdict]func(string) string{checker.Safe: good, checker.Unsafe: bad, checker.Inconclusive: unclear}[o.Result.Verdict](string(o.Result.Verdict))
		if o.Run.Guests {
			verdict += scenarios.GuestsMark
			guests++
		}
		mark := good("yes")
		if unfit(o) != "" {
			verdict, mark = "n/a", ""
			unfits++
		} else if pageless(o) {
			mark = unclear("?")
		} else if len(o.Unexpected()) > 0 || o.Result.Verdict != o.ExpectedVerdict() {
			mark = bad("NO")
			if o.Result.Verdict != o.ExpectedVerdict() {
				mark = bad(fmt.Sprintf("NO: %s", o.ExpectedVerdict()))
			}
		} else {
			asExpected++
		}
		name := reports.Visible(o.Scenario.Name)
		if o.Scenario.Name == last {
			name = ""
		}
		last = o.Scenario.Name
		violated, broken := summary(o)
		if unfit(o) != "" {
			violated, broken = "", ""
		}
		row := table.Row{name, o.Run.ID(), verdict, violated, broken, mark}
		if placed {
			row = slices.Insert(row, 2, any(o.Run.Lock))
		}
		rows = append(rows, row)
	}
	fmt.Fprintln(w, narrow(columns(w), header, rows))
	printReported(w, outcomes)
	for _, o := range outcomes {
		if o.Repeat != "" {
			fmt.Fprintf(w, "\n%s is not reproducible: with the same seed %s\n", called(o), reports.Visible(o.Repeat))
		}
	}
	rest := ""
	switch {
	case unfits == 1:
		rest = ", 1 does not apply"
	case unfits > 1:
		rest = fmt.Sprintf(", %d do not apply", unfits)
	}
	fmt.Fprintf(w, "\n%s, %d as expected%s (%v)\n", many(len(outcomes), "run"), asExpected, rest, took.Round(10*time.Millisecond))
	if guests > 0 {
		fmt.Fprintf(w, "%s: clients ran as WebAssembly, so that faults set the clock of package time and stop its timers\n", scenarios.GuestsMark)
	}
	if slices.ContainsFunc(outcomes, pageless) {
		so := ""
		if slices.ContainsFunc(outcomes, func(o *play.Outcome) bool { return pageless(o) && o.Result.Verdict == checker.Unsafe }) {
			so = ", so UNSAFE counts as a failure"
		}
		fmt.Fprintf(w, "?: no scenario in the catalogue says what to expect%s; name a scenario file with the histories\n", so)
	}
}

// narrow renders a table in at most the given width if possible. First it puts long names of the first column, which must be strings, on
// lines of their own; then it breaks other cells.
func narrow(columns int, header table.Row, rows []table.Row) string {
	s, width := render(header, rows)
	if width <= columns {
		return s
	}
	longest := 0
	for _, r := range rows {
		longest = max(longest, text.StringWidthWithoutEscSequences(r[0].(string)))
	}
	const mark = "\ue000" // stands for a name that goes on the line above
	room := max(0, longest-(width-columns))
	var alone []string
	all := singleLines(header, rows)
	for _, r := range all {
		if name := r[0].(string); text.StringWidthWithoutEscSequences(name) > room {
			alone = append(alone, name)
			r[0] = mark
		}
	}
	s, width = render(all[0], all[1:])
	if width > columns {
		breakCells(columns, all)
		s, _ = render(all[0], all[1:])
	}
	for _, name := range alone {
		s = strings.Replace(s, mark, name+"\n ", 1)
	}
	return s
}

// render returns a table as text, and how many columns that takes.
func render(header table.Row, rows []table.Row) (string, int) {
	t := newTable()
	t.AppendHeader(header)
	t.AppendRows(rows)
	s := t.Render()
	return s, text.LongestLineLen(s)
}

// singleLines copies the rows of a table, the header first, so that each cell has one line. Lines of neighbouring cells then stay side by
// side, even if one of them is broken.
func singleLines(header table.Row, rows []table.Row) []table.Row {
	all := []table.Row{slices.Clone(header)}
	for _, r := range rows {
		height := 1
		for _, cell := range r {
			height = max(height, 1+strings.Count(fmt.Sprint(cell), "\n"))
		}
		for i := range height {
			one := make(table.Row, len(r))
			for at, cell := range r {
				one[at] = ""
				if lines := strings.Split(fmt.Sprint(cell), "\n"); i < len(lines) {
					one[at] = lines[i]
				}
			}
			all = append(all, one)
		}
	}
	return all
}

// breakCells makes the widest column narrower until the table fits, or nothing can be broken any more: between words, and between a
// lock and its label; and if that is not enough, within names.
func breakCells(columns int, rows []table.Row) {
	whole := make([]table.Row, len(rows))
	widths := make([]int, len(rows[0]))
	for i, r := range rows {
		whole[i] = slices.Clone(r)
		for at, cell := range r {
			widths[at] = max(widths[at], text.StringWidthWithoutEscSequences(fmt.Sprint(cell)))
		}
	}
	for _, after := range []string{" /", " /-"} {
		least := make([]int, len(widths))
		for _, r := range whole {
			for at, cell := range r {
				for _, word := range breakable(fmt.Sprint(cell), after) {
					least[at] = max(least[at], text.StringWidthWithoutEscSequences(strings.TrimRight(word, " ")))
				}
			}
		}
		for {
			if _, width := render(rows[0], rows[1:]); width <= columns {
				return
			}
			widest := 0 // 0 means none: long names in the first column are on lines of their own
			for at := 1; at < len(widths); at++ {
				if widths[at] > least[at] && (widest == 0 || widths[at] > widths[widest]) {
					widest = at
				}
			}
			if widest == 0 {
				break
			}
			widths[widest]--
			for i, r := range whole {
				rows[i][widest] = brokenAt(fmt.Sprint(r[widest]), widths[widest], after)
			}
		}
	}
}

// breakable splits a text after each of the given characters.
func breakable(s, after string) []string {
	var words []string
	for len(s) > 0 {
		i := strings.IndexAny(s, after) + 1
		if i == 0 {
			i = len(s)
		}
		words, s = append(words, s[:i]), s[i:]
	}
	return words
}

// brokenAt breaks a text into lines of at most the given width.
func brokenAt(s string, width int, after string) string {
	var lines []string
	line := ""
	for _, word := range breakable(s, after) {
		if line != "" && text.StringWidthWithoutEscSequences(strings.TrimRight(line+word, " ")) > width {
			lines, line = append(lines, strings.TrimRight(line, " ")), ""
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

// printWrapped prints a sentence, indented, in lines of at most reports.Width columns.
func printWrapped(w io.Writer, sentence string) {
	const indent = "  "
	fmt.Fprintln(w, indent+strings.ReplaceAll(wrap(reports.Visible(sentence), reports.Width-2*len(indent)), "\n", "\n"+indent+indent))
}

// wrap breaks a sentence between words into lines of at most the given width. A longer word gets its own line.
func wrap(sentence string, columns int) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(sentence) {
		n := text.StringWidthWithoutEscSequences(word)
		switch {
		case i == 0:
		case at+1+n > columns:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// printReported prints the quantities that scenarios ask for.
func printReported(w io.Writer, outcomes []*play.Outcome) {
	var rows []table.Row
	for _, o := range outcomes {
		for i, m := range o.Measurements {
			name := called(o)
			if i > 0 {
				name = ""
			}
			rows = append(rows, table.Row{name, m.Quantity, reports.Visible(m.Text)})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(w, "\n%s\n", narrow(columns(w), table.Row{"reported by", "", ""}, rows))
	}
}

// summary names the violated properties of an outcome and, on the same line, the assumption that was broken with each.
func summary(o *play.Outcome) (violated, broken string) {
	var props, why []string
	told := map[[2]string]bool{}
	for _, v := range o.Result.Violations {
		pair := [2]string{string(v.Property), string(v.Assumption)}
		if !told[pair] {
			told[pair] = true
			props, why = append(props, pair[0]), append(why, pair[1])
		}
	}
	return strings.Join(props, "\n"), strings.Join(why, "\n")
}

// printTimeline prints the timeline of one run.
func printTimeline(w io.Writer, o *play.Outcome) {
	m := o.History.Meta
	bold := paint(w, text.Bold)
	on := m.On
	if o.Run.Guests {
		on += ", clients as WebAssembly"
	}
	head := fmt.Sprintf("%s, %s, seed %d, on %s, checksum %s", m.Scenario, who(o), m.Seed, on, cmp.Or(m.Checksum, "none"))
	fmt.Fprintf(w, "%s\n", bold(wrap(reports.Visible(head), reports.Width)))
	if o.Sweep != nil {
		fmt.Fprint(w, reports.VisibleLines(o.Sweep.String()))
	}
	reports.Text(w, o.Facts, o.WorstFirst(), reports.TextOptions{Paint: roles(w), Measurements: o.Measurements})
	fmt.Fprintln(w)
}
