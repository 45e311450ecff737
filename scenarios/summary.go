package scenarios

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/scenarios/play"
	"lockstep/sim/history"
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
	_, err := io.WriteString(w, aligned(rows)+"\n"+sentence(outcomes)+"\n")
	return err
}

// aligned puts the cells of rows below each other.
func aligned(rows [][]string) string {
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
	return b.String()
}

// GuestsMark marks the verdicts of runs whose clients ran as WebAssembly.
const GuestsMark = "*"

// rowsOf returns the rows of one outcome in the table: one for each violated property with the assumption that was broken.
func rowsOf(o *play.Outcome) [][]string {
	row := []string{o.Name(), string(o.Result.Verdict), "", "", o.Standing().Word()}
	if o.Run.Guests {
		row[1] += GuestsMark
	}
	if o.Standing() == play.NotApplicable {
		row[1] = "" // it is about the run without what the lock cannot do
		return [][]string{row}
	}
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

// proved counts how many outcomes prove something about the lock, and how many apply to it.
func proved(outcomes []*play.Outcome) (proved, apply int) {
	for _, o := range outcomes {
		s := o.Standing()
		if s.Proves() {
			proved++
		}
		if s != play.NotApplicable {
			apply++
		}
	}
	return proved, apply
}

// sentence sums outcomes up: what they prove, what came of these, and why the others prove nothing.
func sentence(outcomes []*play.Outcome) string {
	t := counted(outcomes)
	name := history.List(t.references)
	var verdicts []string
	if n := t.count[play.Safe]; n > 0 {
		verdicts = append(verdicts, fmt.Sprintf("%d SAFE", n))
	}
	if t.better > 0 {
		verb := "is"
		if len(t.references) > 1 {
			verb = "are"
		}
		verdicts[0] += fmt.Sprintf(", %d of them where %s %s not", t.better, name, verb)
	}
	if t.before {
		name = "before"
	}
	var rest []string
	for _, p := range []struct {
		play.Standing
		text   string
		proves bool
	}{
		{play.AsOthers, "UNSAFE as " + name, true},
		{play.Allowed, "UNSAFE without what it needs", true},
		{play.Known, "known", true},
		{play.Broke, "broken", true},
		{play.Other, "not as expected", true},
		{play.NotApplicable, "do not apply", false},
		{play.Unproved, "unproved", false},
		{play.Failed, "did not end", false},
		{play.TooBig, "used too much memory", false},
		{play.NotRun, "not run", false},
	} {
		n := t.count[p.Standing]
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("%d %s", n, p.text)
		if n == 1 && p.Standing == play.NotApplicable {
			text = "1 does not apply"
		}
		if p.Standing == play.Unproved {
			var reasons []string
			for _, reason := range slices.Sorted(maps.Keys(t.why)) {
				reasons = append(reasons, fmt.Sprintf("%s: %d", reason, t.why[reason]))
			}
			text += " (" + strings.Join(reasons, ", ") + ")"
		}
		if p.proves {
			verdicts = append(verdicts, text)
		} else {
			rest = append(rest, text)
		}
	}
	if t.guests > 0 {
		verdicts = append(verdicts, fmt.Sprintf("%d with the clients as WebAssembly (%s)", t.guests, GuestsMark))
	}
	if t.parts > 0 {
		verdicts = append(verdicts, fmt.Sprintf("%d swept in part", t.parts))
	}
	n, _ := proved(outcomes)
	s := fmt.Sprintf("%s: %d proved", reports.Count(len(outcomes), "run"), n)
	if len(verdicts) > 0 {
		s += " (" + strings.Join(verdicts, "; ") + ")"
	}
	return strings.Join(append([]string{s}, rest...), ", ")
}

// A tally is what the last line of a test counts.
type tally struct {
	count         map[play.Standing]int
	why           map[string]int // the reasons why runs proved nothing
	better        int            // SAFE where the reference is not
	guests, parts int            // proved with the clients as WebAssembly, and by a sweep of some positions only
	references    []string
	before        bool // the runs are compared with earlier ones, not with a reference
}

func counted(outcomes []*play.Outcome) tally {
	t := tally{count: map[play.Standing]int{}, why: map[string]int{}}
	for _, o := range outcomes {
		s := o.Standing()
		t.count[s]++
		t.before = t.before || o.Promise.Earlier != nil
		if s == play.Safe && o.ExpectedVerdict() == checker.Unsafe && !o.SweptInPart() {
			t.better++
		}
		if s == play.Unproved {
			t.why[o.WhyUnproved()]++
		}
		if !s.Proves() {
			continue
		}
		if r := o.Run.Reference(); !slices.Contains(t.references, r) {
			t.references = append(t.references, r)
		}
		if o.SweptInPart() {
			t.parts++
		}
		if o.Run.Guests {
			t.guests++
		}
	}
	return t
}

// hints says what helps with mistakes that show in many runs.
func hints(outcomes []*play.Outcome) []string {
	return slices.DeleteFunc([]string{adviseClock(outcomes), adviseState(outcomes), adviseRefusal(outcomes), adviseStrict(outcomes)}, func(hint string) bool { return hint == "" })
}

// adviseClock says what to do about runs that prove nothing because the lock calls package time, or may call it; empty if there are none.
func adviseClock(outcomes []*play.Outcome) string {
	n := 0
	for _, o := range outcomes {
		if o.Standing() == play.Unproved && o.Result.OwnTime {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("unproved because the lock takes, or may take, the time from package time, which no fault can set or stop in native code: %s\n", reports.Count(n, "run")) +
		"what helps: run the test where its source and a go command are, and without scenarios.GuestsNever, so that its clients can run as WebAssembly; or call Now, Sleep, After and NewTimer of Env.Clock instead of those of package time, also for timeouts, and Env.Wall.Now() for the date; or test on real servers with scenarios.OnRedis"
}

// adviseState says what to do about runs that prove nothing because the clients shared what processes do not; empty if there are none.
func adviseState(outcomes []*play.Outcome) string {
	n := 0
	for _, o := range outcomes {
		if o.Standing() == play.Unproved && o.WhyUnproved() == play.SharedState {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	what, _ := play.Shared()
	return fmt.Sprintf("unproved because in a native run the clients share what processes on different machines do not (%s): %s\n", what, reports.Count(n, "run")) +
		"what helps: run the test without scenarios.GuestsNever and where it can be compiled to WebAssembly, so that each client has variables of its own; or keep the state in the Locker that your function returns; or test on real servers with scenarios.OnRedis"
}

// namedSpared is how many runs [adviseStrict] names.
const namedSpared = 3

// adviseStrict names runs in which the lock did not meet the danger that its reference meets. A bug can be the reason: a lock that refuses, or
// that asks no node, meets no fault. It is empty if there are none.
func adviseStrict(outcomes []*play.Outcome) string {
	var names []string
	reference := ""
	for _, o := range outcomes {
		if o.Standing() == play.Unproved && o.Spared() {
			names = append(names, o.Name())
			reference = cmp.Or(reference, o.Promise.As[0].Reference())
		}
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if n := len(names) - namedSpared; n > 0 {
		names, more = names[:namedSpared], " and "+reports.Count(n, "more run")
	}
	return fmt.Sprintf("unproved, though the same runs prove something about %s: %s%s\n", reference, strings.Join(names, ", "), more) +
		"what helps: go test -v says why they prove nothing about your lock. A bug can be the reason: a lock that refuses, or asks no node, never meets the danger. With scenarios.Strict() these runs fail"
}

// leastRefused is how many refusals there must be for [adviseRefusal].
const leastRefused = 3

// adviseRefusal says that the lock does not mark its refusals, if no acquire of any run was refused for certain, but some failed while
// another client held the lock, and not for want of a reply; otherwise it is empty.
func adviseRefusal(outcomes []*play.Outcome) string {
	n, text := 0, ""
	for _, o := range outcomes {
		holders := map[string]bool{}
		for _, e := range o.History.Events {
			switch {
			case e.Op == history.Release && e.Kind != history.Invoke || e.Kind == history.Info && e.Op == history.Exit:
				delete(holders, e.Process)
			case e.Op != history.Acquire:
			case e.Kind == history.OK:
				holders[e.Process] = true
			case e.Kind == history.Fail:
				return ""
			case e.Kind == history.Info && len(holders) > 0 && !holders[e.Process] && !unanswered.MatchString(e.Error):
				n, text = n+1, cmp.Or(text, e.Error)
			}
		}
	}
	if n < leastRefused {
		return ""
	}
	return fmt.Sprintf("all %d refused acquires returned errors that do not wrap clients.ErrNotAcquired, so it is unknown whether they were refused: %s\n"+
		"what helps: return fmt.Errorf(\"%%w: ...\", clients.ErrNotAcquired) if the lock was certainly not acquired", n, history.Shortened(text, 200))
}

// unanswered matches the errors of an operation that got no reply, or whose context has ended.
var unanswered = regexp.MustCompile(`timeout|deadline exceeded|canceled|connection re|EOF|no route|unreachable|closed|broken pipe`)
