package scenarios

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"lockstep/checker"
	"lockstep/scenarios/play"
)

// summaryName is how many columns of the table the name of a run may take; a longer name gets a line of its own, so that no line
// has more than 100 columns.
const summaryName = 40

// Summary writes a table with one line per outcome, at most 100 columns wide, and a sentence that sums up the outcomes.
func Summary(w io.Writer, outcomes []*play.Outcome) error {
	rows := [][]string{{"scenario/run", "verdict", "violated", "assumption broken", "claim"}}
	for _, o := range outcomes {
		rows = append(rows, rowsOf(o)...)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			if n := utf8.RuneCountInString(cell); i > 0 || n <= summaryName {
				widths[i] = max(widths[i], n)
			}
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i == 0 && utf8.RuneCountInString(cell) > summaryName {
				b.WriteString(cell + "\n")
				cell = ""
			}
			fmt.Fprintf(&line, "%-*s ", widths[i], cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	b.WriteString("\n" + sentence(outcomes) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// rowsOf returns the rows of one outcome in the table: one for each violated property with the assumption that was broken.
func rowsOf(o *play.Outcome) [][]string {
	row := []string{o.Name(), string(o.Result.Verdict), "", "", o.Standing().Word()}
	var rows [][]string
	for _, v := range o.Result.Violations {
		pair := []string{string(v.Property), string(v.Assumption)}
		if slices.ContainsFunc(rows, func(r []string) bool { return r[2] == pair[0] && r[3] == pair[1] }) {
			continue
		}
		rows = append(rows, []string{row[0], row[1], pair[0], pair[1], row[4]})
		row = make([]string, len(row))
	}
	if len(rows) == 0 {
		return [][]string{row}
	}
	return rows
}

// sentence sums outcomes up.
func sentence(outcomes []*play.Outcome) string {
	count := map[play.Standing]int{}
	better := 0
	var references []string
	for _, o := range outcomes {
		s := o.Standing()
		count[s]++
		if s == play.Safe && o.ExpectedVerdict() == checker.Unsafe {
			better++
		}
		if r := o.Run.Reference(); !slices.Contains(references, r) {
			references = append(references, r)
		}
	}
	name := strings.Join(references, " or ")
	parts := []string{fmt.Sprintf("%d SAFE", count[play.Safe])}
	if better > 0 {
		parts[0] += fmt.Sprintf(" (%d where %s is not)", better, name)
	}
	for _, p := range []struct {
		play.Standing
		text string
	}{
		{play.AsOthers, "UNSAFE as " + name},
		{play.Allowed, "UNSAFE without what it needs"},
		{play.Unproved, "UNKNOWN (nothing proved)"},
		{play.Failed, "did not end"},
		{play.TooBig, "used too much memory"},
		{play.NotRun, "not run"},
	} {
		if n := count[p.Standing]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, p.text))
		}
	}
	switch {
	case count[play.Broke] > 0:
		parts = append(parts, plural(count[play.Broke], "broken claim"))
	case count[play.Other] > 0:
		parts = append(parts, fmt.Sprintf("%d not as expected", count[play.Other]))
	}
	s := plural(len(outcomes), "run") + ": " + strings.Join(parts, "; ")
	ownTime := 0
	for _, o := range outcomes {
		if o.Standing() == play.Unproved && o.Result.OwnTime {
			ownTime++
		}
	}
	if ownTime > 0 {
		s += fmt.Sprintf("\n%s proved nothing because the lock takes its time from package time, and not from Env.Clock", plural(ownTime, "run"))
	}
	return s
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
