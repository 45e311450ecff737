package ledger

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"

	"lockstep/reports"
)

// Everything that comes from a file is shown through these functions: names of locks, stories and labels may have any characters.

// word is text for a cell of a table.
func word(s string) string { return reports.Printable(s, 60) }

func newTable(head ...any) table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = 0
	t.SetStyle(style)
	t.AppendHeader(head)
	return t
}

// rendered is a table without spaces at the ends of lines.
func rendered(t table.Writer) string {
	var b strings.Builder
	for line := range strings.SplitSeq(t.Render(), "\n") {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Counts says in one line what a night made of the findings.
func (n *Night) Counts() string {
	s := fmt.Sprintf("%d new, %d regressed, %d ongoing, %d resolved", len(n.New), len(n.Regressed), len(n.Ongoing), len(n.Resolved))
	if len(n.Closed) > 0 {
		s += fmt.Sprintf(", %d found again although closed", len(n.Closed))
	}
	if len(n.Unproven) > 0 {
		s += fmt.Sprintf(", %d whose replay proved nothing", len(n.Unproven))
	}
	if len(n.Silent) > 0 {
		s += fmt.Sprintf(", %d not looked for", len(n.Silent))
	}
	return s
}

// What says what was done on the night.
func (n *Night) What() string {
	var all []string
	switch {
	case n.Searches == 1:
		all = append(all, "1 search")
	case n.Searches > 1:
		all = append(all, fmt.Sprintf("%d searches", n.Searches))
	}
	if n.Replays {
		all = append(all, "replays")
	}
	if len(all) == 0 {
		return "nothing was played"
	}
	return strings.Join(all, " and ") + " of " + strings.Join(n.Locks, ", ")
}

// mostRows is how many findings are named in the summary of a night; the others are counted.
const mostRows = 50

// rows calls f with the first findings of a night, those that need attention first, and returns how many are left.
func (n *Night) rows(most int, f func(state string, g *Finding)) (left int) {
	for _, group := range []struct {
		state string
		all   []*Finding
	}{{"new", n.New}, {"regressed", n.Regressed}, {"ongoing", n.Ongoing}, {"resolved", n.Resolved}, {"closed", n.Closed}, {"replay proved nothing", n.Unproven}, {"not looked for", n.Silent}} {
		for _, g := range group.all {
			if most--; most < 0 {
				left++
				continue
			}
			f(group.state, g)
		}
	}
	return left
}

// WriteText writes the summary of a night.
func (n *Night) WriteText(w io.Writer) {
	fmt.Fprintf(w, "night %s: %s\n", word(n.Label), reports.Shorten(reports.Visible(n.What()), 400))
	t := newTable("state", "ID", "lock", "property", "assumption broken", "first", "nights", "faults")
	left := n.rows(mostRows, func(state string, f *Finding) {
		t.AppendRow(table.Row{state, f.ID, word(f.Lock), word(f.Property), word(f.Assumption), word(f.First), f.Nights, word(f.Faults())})
	})
	if t.Length() > 0 {
		fmt.Fprintf(w, "\n%s", rendered(t))
	}
	if left > 0 {
		fmt.Fprintf(w, "and %d more; lockstep ledger list shows all\n", left)
	}
	fmt.Fprintf(w, "\n%s\n", n.Counts())
}

// WriteList writes a table of findings.
func WriteList(w io.Writer, all []*Finding) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no findings")
		return
	}
	head := table.Row{"state", "ID", "lock", "property", "assumption broken", "first", "last", "nights", "faults"}
	reasons := slices.ContainsFunc(all, func(f *Finding) bool { return f.Reason != "" })
	if reasons {
		head = append(head, "closed because")
	}
	t := newTable(head...)
	for _, f := range all {
		row := table.Row{f.State, f.ID, word(f.Lock), word(f.Property), word(f.Assumption), word(f.First), word(f.Last), f.Nights, word(f.Faults())}
		if reasons {
			row = append(row, word(f.Reason))
		}
		t.AppendRow(row)
	}
	io.WriteString(w, rendered(t))
}

// WriteJSON writes findings as a JSON array, with their pages.
func WriteJSON(w io.Writer, all []*Finding) error {
	return writeJSON(w, append([]*Finding{}, all...))
}

// WriteJSON writes a finding as a JSON object, with its history.
func (f *Finding) WriteJSON(w io.Writer, history []Line) error {
	return writeJSON(w, struct {
		*Finding
		History []Line `json:"history"`
	}{f, history})
}

// writeJSON escapes characters that cannot be shown, for it may be read in a terminal.
func writeJSON(w io.Writer, v any) error {
	var text, b strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	for _, r := range text.String() {
		if r == '\n' || unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteText writes a finding, with its history.
func (f *Finding) WriteText(w io.Writer, history []Line) {
	fmt.Fprintf(w, "%s  %s\n\n", f.ID, reports.Visible(f.Title))
	fmt.Fprintf(w, "lock      %s\n", reports.Visible(f.Lock))
	fmt.Fprintf(w, "violated  %s; assumption broken: %s\n", reports.Visible(f.Property), reports.Visible(f.Assumption))
	fmt.Fprintf(w, "faults    %s\n", reports.Visible(f.Faults()))
	fmt.Fprintf(w, "state     %s\n", f.status())
	fmt.Fprintf(w, "seen on   %s\n", reports.Visible(f.span()))
	fmt.Fprintf(w, "shape     %s\n\n", reports.Visible(f.Shape))
	for line := range strings.SplitSeq(f.Story, "\n") {
		fmt.Fprintln(w, strings.TrimRight("  "+reports.Visible(line), " "))
	}
	t := newTable("night", "version", "build", "outcome", "by", "state")
	for _, h := range history {
		t.AppendRow(table.Row{word(h.Night), word(h.Version), word(h.ShortBuild()), h.What, word(h.How), h.State})
	}
	fmt.Fprintf(w, "\n%s", rendered(t))
	if f.Scenario != "" {
		fmt.Fprintf(w, "\nthe smallest scenario:\n\n")
		for line := range strings.SplitSeq(strings.TrimSuffix(f.Scenario, "\n"), "\n") {
			fmt.Fprintln(w, strings.TrimRight("  "+reports.Visible(line), " "))
		}
	}
	if command := f.command(); command != "" {
		fmt.Fprintf(w, "\nsee it: %s\n", command)
	} else {
		fmt.Fprintf(w, "\n%s\n", noReplay)
	}
}

// status is the state of a finding in words.
func (f *Finding) status() string {
	if f.State != Closed {
		return string(f.State)
	}
	s := "closed: " + reports.Visible(f.Reason)
	switch {
	case f.was.Open():
		s += " (it is still there)"
	case f.was == Resolved:
		s += " (it is gone)"
	}
	return s
}

// span says on which nights a finding was there.
func (f *Finding) span() string {
	if f.Nights == 1 {
		return f.First
	}
	return fmt.Sprintf("%d nights, from %s to %s", f.Nights, f.First, f.Last)
}

// noReplay is said about a finding without a scenario and without a token.
const noReplay = "This finding cannot be replayed: it was not reduced to a scenario. If the search was interrupted, run it again."

// command is the command that replays a finding; empty if there is none.
func (f *Finding) command() string {
	switch {
	case f.Token != "":
		return "lockstep replay " + f.Token
	case f.Scenario != "":
		return fmt.Sprintf("lockstep ledger page --out DIR && lockstep replay DIR/%s.txtar", f.ID)
	}
	return ""
}

// mostSummary is the greatest size of the summary of a step. GitHub does not show larger ones.
const mostSummary = 1 << 20

// Markdown is the summary of a night for GitHub, in at most so many bytes as are left of a summary that has size bytes already. It is
// empty if there is no room.
func (n *Night) Markdown(size int64) string {
	room := mostSummary - int(min(size, mostSummary))
	var b strings.Builder
	fmt.Fprintf(&b, "### Lockstep, night %s: %s\n\n%s\n\n", cell(n.Label), n.Counts(), cell(reports.Shorten(n.What(), 400)))
	b.WriteString("| state | ID | lock | property | assumption broken | first | nights | faults |\n|---|---|---|---|---|---|---|---|\n")
	const note = "\nThere is no room here for %d more: lockstep ledger list shows all.\n"
	full := 0
	n.rows(1<<30, func(state string, f *Finding) {
		mark := ""
		if state == "new" || state == "regressed" {
			mark = "**"
		}
		row := fmt.Sprintf("| %s%s%s | %s | %s | %s | %s | %s | %d | %s |\n", mark, state, mark, f.ID, cell(f.Lock), cell(f.Property), cell(f.Assumption), cell(f.First), f.Nights, cell(f.Faults()))
		if full > 0 || b.Len()+len(row)+len(note)+20 > room {
			full++
			return
		}
		b.WriteString(row)
	})
	if full > 0 {
		fmt.Fprintf(&b, note, full)
	}
	if b.Len() > room {
		return ""
	}
	b.WriteString("\n")
	return b.String()
}

// cell is text that neither Markdown nor HTML takes for markup: all signs that could be one are written as their numbers.
func cell(s string) string {
	var b strings.Builder
	for _, r := range reports.Shorten(reports.Visible(s), 400) {
		plain := r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= utf8.RuneSelf || strings.ContainsRune(" -/.,;", r)
		if plain {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	return b.String()
}
