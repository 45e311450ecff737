package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/checker/explain"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// ReasonsShown is how many reasons for UNKNOWN are shown: a scenario may have 100,000 faults.
const ReasonsShown = 20

// writeVerdict writes the verdict, and the status of each property with its violations. Unless all is set, the properties that
// are ok share the last line.
func writeVerdict(w io.Writer, r checker.Result, all bool, paint func(Role, string) string) {
	fmt.Fprintln(w, "verdict: "+paint(verdictRole(r.Verdict), string(r.Verdict)))
	for i, unmet := range r.Unmet {
		if i == ReasonsShown {
			fmt.Fprintf(w, "  because             and %d more reasons\n", len(r.Unmet)-i)
			break
		}
		paragraph(w, "  because             ", "", Printable(unmet, 4*Width), paint)
	}
	ok, properties := 0, checker.Properties()
	for _, p := range properties {
		name := fmt.Sprintf("  %-18s  ", p)
		switch r.Status(p) {
		case checker.OK:
			if ok++; all {
				fmt.Fprintln(w, name+paint(Holding, "ok"))
			}
		case checker.Violated:
			writeViolations(w, name, r, p, paint)
		default:
			fmt.Fprintln(w, name+paint(Doubtful, "unknown"))
		}
	}
	if ok == 0 || all {
		return
	}
	name := "all others"
	if ok == len(properties) {
		name = "all properties"
	}
	fmt.Fprintf(w, "  %-18s  %s\n", name, paint(Holding, "ok"))
}

// OrderNote says that how a run ended depends on what clients found first after a pause; empty if it does not.
func OrderNote(m history.Meta) string {
	first, then := "the messages that had arrived", "the timers that were due"
	switch {
	case m.OtherOrder == "":
		return ""
	case m.TimersFirst:
		first, then = then, first
	}
	return "After a pause, clients first found " + first + ", then " + then + ". In the other order, the verdict is " + m.OtherOrder + "."
}

// writeOrder writes the note of a run that depends on an order.
func writeOrder(w io.Writer, m history.Meta, paint func(Role, string) string) {
	if note := OrderNote(m); note != "" {
		paragraph(w, "  order               ", "", Printable(note, 4*Width), paint)
	}
}

// writeViolations writes the violations of one property, the first beside its name.
func writeViolations(w io.Writer, name string, r checker.Result, p checker.Property, paint func(Role, string) string) {
	indent := strings.Repeat(" ", len(name))
	shown := 0
	for _, v := range r.Violations {
		if v.Property != p {
			continue
		}
		if shown++; shown > ViolationsShown {
			continue
		}
		lead := "VIOLATED  "
		if shown > 1 {
			name, lead = indent, strings.Repeat(" ", len(lead))
		}
		paragraph(w, name, lead, Printable(v.What, 4*Width)+"   "+unbroken("("+Broken(v.Assumption)+")"), paint)
	}
	if more := shown - ViolationsShown; more > 0 {
		fmt.Fprintf(w, "%s          and %d more\n", indent, more)
	}
}

// writeMeasurements writes one line per quantity.
func writeMeasurements(w io.Writer, all []checker.Measurement, paint func(Role, string) string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w, "reported:")
	for _, m := range all {
		paragraph(w, fmt.Sprintf("  %-18s  ", m.Quantity), "", Printable(m.Text, 4*Width), paint)
	}
}

// writeExplanations explains the first violation of each property, in numbered sentences. If two explanations begin with the same
// sentences, these are written only in the first.
func writeExplanations(w io.Writer, f *facts.Facts, r checker.Result) {
	plain := func(_ Role, s string) string { return s }
	type explanation struct {
		property checker.Property
		texts    []string
	}
	var above []explanation
	for _, p := range checker.Properties() {
		n := slices.IndexFunc(r.Violations, func(v checker.Violation) bool { return v.Property == p })
		if n < 0 {
			continue
		}
		fmt.Fprintf(w, "why %s was violated\n", p)
		var texts []string
		for _, s := range explain.Story(f, r.Violations[n]) {
			texts = append(texts, Printable(s.Text, 4*Width))
		}
		same, like := 2, checker.Property("")
		for _, a := range above {
			if k := common(a.texts, texts); k > same {
				same, like = k, a.property
			}
		}
		if like != "" {
			fmt.Fprintf(w, "%4d. to %d. as for %s\n", 1, same, like)
		} else {
			same = 0
		}
		for k, text := range texts[same:] {
			paragraph(w, fmt.Sprintf("%4d. ", same+k+1), "", text, plain)
		}
		above = append(above, explanation{p, texts})
	}
}

// common returns how many sentences two explanations share at the beginning. The last sentence of each does not count.
func common(a, b []string) int {
	n := 0
	for n < len(a)-1 && n < len(b)-1 && a[n] == b[n] {
		n++
	}
	return n
}

// Broken says which assumption was broken.
func Broken(a checker.Assumption) string {
	if a == checker.None {
		return "no assumption broken"
	}
	return string(a) + " broken"
}

// paragraph writes a name, a painted word, and a text that is wrapped at [Width].
func paragraph(w io.Writer, name, word, text string, paint func(Role, string) string) {
	indent := strings.Repeat(" ", len(name)+len(word))
	lead := name
	if strings.TrimSpace(word) != "" {
		word = paint(Violating, strings.TrimSpace(word)) + "  "
	}
	lead += word
	for _, line := range Wrap(text, Width-len(indent)) {
		fmt.Fprintln(w, lead+strings.ReplaceAll(line, NoBreak, " "))
		lead = indent
	}
}

// Wrap breaks text into lines of at most width characters, between words if possible.
func Wrap(text string, width int) (lines []string) {
	for rest := text; rest != ""; {
		var head string
		head, rest = CutLine(rest, width)
		lines = append(lines, head)
	}
	return lines
}

// unbroken keeps the words of s on one line of a paragraph.
func unbroken(s string) string { return strings.ReplaceAll(s, " ", NoBreak) }

const NoBreak = "\u00a0"

// CutLine splits s after at most width characters, at a space if there is one.
func CutLine(s string, width int) (head, rest string) {
	runes := []rune(s)
	if len(runes) <= width {
		return s, ""
	}
	for n := width; n > 0; n-- {
		if runes[n] != ' ' {
			continue
		}
		if head = strings.TrimRight(string(runes[:n]), " "); head != "" {
			return head, strings.TrimLeft(string(runes[n:]), " ")
		}
	}
	return string(runes[:width]), string(runes[width:])
}

// ViolationsShown is how many violations of one property a timeline shows in full. Later ones say little new.
const ViolationsShown = 3

// verdictRole is the role in which a verdict is painted.
func verdictRole(v checker.Verdict) Role {
	switch v {
	case checker.Safe:
		return Holding
	case checker.Unsafe:
		return Violating
	}
	return Doubtful
}
