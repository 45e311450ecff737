package pictures

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/reports"
)

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
