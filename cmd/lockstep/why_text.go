package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
)

// whyText prints why a run violates its properties.
type whyText struct {
	w        io.Writer
	outcome  *play.Outcome
	restless bool
	causes   []*search.Cause
}

// json prints one JSON object.
func (y *whyText) json() error {
	m := y.outcome.History.Meta
	causes := y.causes
	if causes == nil {
		causes = []*search.Cause{}
	}
	return json.NewEncoder(y.w).Encode(struct {
		Scenario string          `json:"scenario"`
		Run      string          `json:"run"`
		Lock     string          `json:"lock"`
		Seed     uint64          `json:"seed"`
		Verdict  checker.Verdict `json:"verdict"`
		Checksum string          `json:"checksum"`
		Restless bool            `json:"nondeterministic,omitempty"`
		Causes   []*search.Cause `json:"causes"`
	}{m.Scenario, y.outcome.Run.ID(), m.Lock, m.Seed, y.outcome.Result.Verdict, m.Checksum, y.restless, causes})
}

func (y *whyText) print() {
	o := y.outcome
	fmt.Fprintf(y.w, "%s, seed %d: %s\n", called(o), o.History.Meta.Seed, o.Result.Verdict)
	if o.Sweep != nil && o.Sweep.Worst != "" {
		y.say("The worst position of the sweep: %s.", o.Sweep.Worst)
	}
	for _, u := range o.Result.Unmet {
		y.say("Nothing is proved: %s.", u)
	}
	if y.restless {
		y.say("Native runs of %s cannot always be repeated: replays may differ from the run, and from each other, by more than what was changed.", o.Run.Lock)
	}
	if len(y.causes) == 0 {
		y.say("No property is violated, so there is nothing to explain.")
	}
	for i, c := range y.causes {
		fmt.Fprintln(y.w)
		y.cause(c, y.alike(i))
	}
}

// alike returns a cause before cause i for which the replays without faults came out alike; nil if there is none.
func (y *whyText) alike(i int) *search.Cause {
	c := y.causes[i]
	for _, before := range y.causes[:i] {
		if slices.Equal(before.Faults, c.Faults) && slices.EqualFunc(before.Enough, c.Enough, slices.Equal) {
			return before
		}
	}
	return nil
}

// say prints a sentence.
func (y *whyText) say(format string, args ...any) {
	fmt.Fprintln(y.w, wrap(reports.Visible(fmt.Sprintf(format, args...)), reports.Width))
}

// cause prints a cause. If there is one before that is like it, it says only what differs.
func (y *whyText) cause(c, before *search.Cause) {
	fmt.Fprintf(y.w, "%s\n", strings.ToUpper(string(c.Property)))
	printWrapped(y.w, c.Violation.What)
	fmt.Fprintln(y.w)
	told := [][]string{{needed(c), sufficient(c)}, amounts(c), {lateMessages(c)}}
	if before != nil {
		told = [][]string{{fmt.Sprintf("The same faults as for %s are necessary and enough, in the same amounts.", before.Property)}}
	} else {
		y.faults(c)
	}
	for _, paragraph := range append(told, []string{blame(c), luck(c)}, []string{noReturn(c)}) {
		if text := strings.Join(slices.DeleteFunc(paragraph, func(s string) bool { return s == "" }), " "); text != "" {
			y.say("%s", text)
		}
	}
	if before == nil {
		fmt.Fprintln(y.w)
		y.futures(c)
	}
}

// faults prints a table of the faults of the run.
func (y *whyText) faults(c *search.Cause) {
	if len(c.Faults) == 0 {
		return
	}
	t := newTable()
	t.AppendHeader(table.Row{"fault", "without it", "harmless", "too much", "breaks"})
	for _, f := range c.Faults {
		without, harmless, excess, breaks := "still violated", "", "", string(f.Assumption)
		if f.Matters {
			without, harmless, excess = "holds", f.Harmless, f.Least
		}
		if breaks == "" {
			breaks = "none: clients crash"
		}
		t.AppendRow(table.Row{f.Text, without, harmless, excess, breaks})
	}
	fmt.Fprintf(y.w, "%s\n\n", t.Render())
}

// the names faults in a sentence.
func the(c *search.Cause, set []int) string {
	var all []string
	for _, i := range set {
		all = append(all, "`"+c.Faults[i].Text+"`")
	}
	return history.List(all)
}

// needed says which faults were necessary.
func needed(c *search.Cause) string {
	switch {
	case len(c.Faults) == 0:
		return fmt.Sprintf("The run has no fault: the lock itself, or how it is used, violates %s.", c.Property)
	case len(c.Necessary) == 1:
		return fmt.Sprintf("Necessary: %s. Without it the property holds.", the(c, c.Necessary))
	case len(c.Necessary) > 1:
		return fmt.Sprintf("Necessary: %s. If any one of them is left out, the property holds.", the(c, c.Necessary))
	case len(c.Enough) > 0 && len(c.Enough[0]) == 0:
		return "No fault is needed: the property is violated without any."
	case len(c.Jointly) > 0:
		var sets []string
		for _, set := range c.Jointly {
			both := "both "
			if len(set) > 2 {
				both = ""
			}
			sets = append(sets, "without "+both+the(c, set))
		}
		return fmt.Sprintf("No single fault is necessary. The property holds only %s.", strings.Join(sets, ", or "))
	}
	return "No single fault is necessary, nor any two together."
}

// sufficient says which faults were enough.
func sufficient(c *search.Cause) string {
	if len(c.Enough) == 0 || len(c.Enough[0]) == 0 {
		return ""
	}
	if len(c.Enough) == 1 {
		switch set := c.Enough[0]; {
		case len(c.Faults) == 1:
			return ""
		case len(set) == len(c.Faults): // then each of them is necessary
			return ""
		case len(set) == 1:
			return fmt.Sprintf("Enough: %s alone.", the(c, set))
		case slices.Equal(set, c.Necessary):
			return "Together they are enough."
		}
	}
	var sets []string
	for _, set := range c.Enough {
		text := the(c, set)
		if len(set) == 1 {
			text += " alone"
		}
		sets = append(sets, text)
	}
	return fmt.Sprintf("Enough: %s.", strings.Join(sets, "; or "))
}

// amounts says how much of each fault it took.
func amounts(c *search.Cause) []string {
	var all []string
	for _, f := range c.Faults {
		switch {
		case f.Least == "":
		case f.Harmless == "":
			all = append(all, fmt.Sprintf("Of `%s`, even %s is too much.", f.Text, f.Least))
		default:
			all = append(all, fmt.Sprintf("Of `%s`, %s would have been harmless, and %s is too much.", f.Text, f.Harmless, f.Least))
		}
	}
	return all
}

// lateMessages says which late messages mattered.
func lateMessages(c *search.Cause) string {
	if len(c.Late) == 0 {
		return ""
	}
	var all []string
	for _, l := range c.Late {
		if !l.Matters {
			continue
		}
		took := "took " + history.Seconds(l.At-l.Sent)
		if l.Lost {
			took = "was lost"
		}
		all = append(all, fmt.Sprintf("%s from %s to %s, which left at %s and %s", l.What, l.From, l.To, history.Seconds(l.Sent), took))
	}
	of := ""
	if c.LateIn > len(c.Late) {
		of = fmt.Sprintf("Of %d messages that were late or lost, the first %d were replayed on time. ", c.LateIn, len(c.Late))
	}
	switch {
	case len(all) == 0 && c.LateIn == 1:
		return "One message was late or lost. On time, it would have made no difference."
	case len(all) == 0 && of == "":
		return fmt.Sprintf("%d messages were late or lost. None of them, on time, would have made a difference by itself.", len(c.Late))
	case len(all) == 0:
		return of + "None would have made a difference by itself."
	case len(all) == 1:
		return fmt.Sprintf("%sThe property would have held had one message been on time: %s.", of, all[0])
	}
	return fmt.Sprintf("%sThe property would have held had any one of these messages been on time: %s.", of, strings.Join(all, "; "))
}

// blame compares what the checker blames with the replays.
func blame(c *search.Cause) string {
	blamed := history.List(words(c.Blamed))
	if slices.Equal(c.Blamed, []checker.Assumption{checker.None}) {
		blamed = "the lock"
	}
	text := "The checker blames " + blamed
	switch c.Agreement {
	case search.InSpite:
		switch c.Property {
		case checker.LeaseExclusion:
			return text + ": lease exclusion must hold in spite of pauses and delays."
		case checker.ResourceExclusion:
			return text + ": the leases overlapped, which no pause and no delay may cause."
		}
		return fmt.Sprintf("%s: %s must hold in spite of every fault.", text, c.Property)
	case search.Follows:
		return fmt.Sprintf("%s: the run also violates a property that must hold in spite of every fault, and this violation may follow from that.", text)
	case search.Several:
		return fmt.Sprintf("The checker blames %s for different violations of the property; the replays do not tell these apart.", strings.ReplaceAll(blamed, string(checker.None), "the lock"))
	case search.Differs:
		return fmt.Sprintf("%s. The replays do not: they show that %s matters.", text, cmp.Or(history.List(words(c.Counterfactual)), "no assumption"))
	}
	return text + ", and so do the replays."
}

// luck says how much depends on latencies.
func luck(c *search.Cause) string {
	return fmt.Sprintf("With the same faults and other latencies, %d of %d runs violate the property.", c.Luck.Violated, c.Luck.Of)
}

// noReturn tells the point of no return.
func noReturn(c *search.Cause) string {
	n := len(c.Futures)
	switch {
	case c.NoReturn == 0:
		return "Point of no return: the start. Every future violates the property, even without any fault."
	case c.NoReturn > 0:
		at, before := c.Futures[c.NoReturn], c.Futures[c.NoReturn-1]
		what := history.Seconds(at.At)
		if at.What != "" {
			what += ", " + at.What
		}
		return fmt.Sprintf("Point of no return: %s. Had every fault ended right before, %d of %d futures would violate the property; from then on all do.", what, before.Violated, before.Of)
	}
	last := c.Futures[n-1]
	return fmt.Sprintf("There is no point of no return: had every fault ended at the last moment, %d of %d futures would violate the property.", last.Violated, last.Of)
}

// telling lists the futures that are shown: all, if they are few; otherwise those of faults and of events that prove the violation, those
// at which the share changes, and the point of no return. After that point the others would only repeat it.
func telling(c *search.Cause) []int {
	var all []int
	for i, p := range c.Futures {
		after := c.NoReturn >= 0 && i > c.NoReturn
		level := i > 0 && c.Futures[i-1].Odds == p.Odds && i+1 < len(c.Futures) && c.Futures[i+1].Odds == p.Odds
		if p.Fault || p.Proof || i == c.NoReturn || !after && !(level && len(c.Futures) > fewFutures) {
			all = append(all, i)
		}
	}
	return all
}

const fewFutures = 16

// futures prints the share of futures that violate the property over time.
func (y *whyText) futures(c *search.Cause) {
	fmt.Fprintf(y.w, "futures that violate %s, if every fault ends at that moment\n", c.Property)
	const width = 16
	for _, i := range telling(c) {
		p := c.Futures[i]
		at, mark := "  before", " "
		if p.At >= 0 {
			at = fmt.Sprintf("%8s", history.Seconds(p.At))
		}
		if i == c.NoReturn {
			mark = ">"
		}
		bar := strings.Repeat("#", (p.Violated*width+p.Of-1)/p.Of)
		fmt.Fprintln(y.w, reports.Printable(fmt.Sprintf("%s%s  %-*s %3d/%d  %s", mark, at, width, bar, p.Violated, p.Of, cmp.Or(p.What, nothing)), reports.Width))
	}
}

// plot draws the futures that the text shows.
func (y *whyText) plot(c *search.Cause) *pictures.Plot {
	var points []pictures.FuturesPoint
	for _, i := range telling(c) { // the others have the same share as these
		p := c.Futures[i]
		points = append(points, pictures.FuturesPoint{At: p.At, What: cmp.Or(p.What, nothing), Fault: p.Fault, Violated: p.Violated, Of: p.Of, NoReturn: i == c.NoReturn})
	}
	return pictures.NewFuturesPlot(fmt.Sprintf("%s, seed %d", called(y.outcome), y.outcome.History.Meta.Seed), string(c.Property), points)
}

// nothing stands for what happened at a moment at which nothing did.
const nothing = "(no event)"
