package pictures

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/reports"
)

// A letterSign is a letter in cells, with its meaning.
type letterSign struct{ letter, text string }

// letterOf stands for the assumption that was broken.
func letterOf(a checker.Assumption) letterSign {
	switch a {
	case checker.BoundedPause:
		return letterSign{"P", "a pause was too long"}
	case checker.BoundedClockError:
		return letterSign{"C", "a clock was wrong"}
	case checker.BoundedDelay:
		return letterSign{"D", "a message was too late"}
	case checker.DurableNodes:
		return letterSign{"N", "a node forgot"}
	}
	return letterSign{"—", "the lock is at fault"}
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
		l := letterOf(a)
		letters = append(letters, l.letter+reports.NoBreak+strings.ReplaceAll(l.text, " ", reports.NoBreak))
	}
	lines := []string{
		"The letter after UNSAFE says why: " + strings.Join(letters, ", ") + ".",
		worseMark + " worse than its reference, the lock that it is compared with: it violates a property that the reference keeps, or is itself at fault where the reference is not. " +
			betterMark + " better: it violates nothing where the reference violates something. " + notApplicable + " does not apply.",
	}
	if m.Seeds > 1 {
		lines = append(lines, fmt.Sprintf("UNSAFE 3/%d: with 3 of the %[1]d seeds from %d on. One seed is enough for UNSAFE.", m.Seeds, m.Seed))
	}
	if m.any(func(c MatrixCell) bool { return c.Guests }) {
		lines = append(lines, guestsMark+" the clients ran as WebAssembly, because the native run proved nothing: the lock calls package time.")
	}
	if m.any(func(c MatrixCell) bool { return c.Repeat != "" }) {
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

// any reports whether there is such a cell.
func (m *Matrix) any(such func(MatrixCell) bool) bool {
	for _, g := range m.Groups {
		for _, r := range g.Rows {
			if slices.ContainsFunc(r.Cells, such) {
				return true
			}
		}
	}
	return false
}
