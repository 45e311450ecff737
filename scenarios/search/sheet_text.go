package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// Title names the lock and its setting.
func (s Shape) Title() string {
	text := fmt.Sprintf("%s on %s", s.Lock, reports.Count(cmp.Or(s.Nodes, 1), "node"))
	if s.Replicas > 0 {
		text += " with " + reports.Count(s.Replicas, "replica")
	}
	return text + fmt.Sprintf(", %s, TTL %s", reports.Count(cmp.Or(s.Clients, minShapeClients), "client"), history.FormatDuration(cmp.Or(s.TTL, script.DefaultTTL)))
}

// Work says how long the clients of a sheet work, as the shape has it, or else each workload that was perturbed.
func (s *Sheet) Work(shape Shape) string {
	if shape.Work > 0 {
		return "work " + history.FormatDuration(shape.Work)
	}
	var all []string
	for _, c := range s.Calm {
		if c.Unfit == "" {
			all = append(all, fmt.Sprintf("%s (%s)", history.FormatDuration(c.Workload.usual(s.TTL)), c.Workload))
		}
	}
	if len(all) == 0 {
		return "no workload that can be perturbed"
	}
	return "work " + strings.Join(all, ", ")
}

// Table returns a header, a row for each limit, and one for each quantity without. It is empty if nothing was perturbed.
func (s *Sheet) Table() [][]string {
	if len(s.Rows) == 0 {
		return nil
	}
	rows := [][]string{{"quantity", "harmless", "too much", "violated", "assumption broken", "injection point"}}
	for i := range s.Rows {
		t := &s.Rows[i]
		for k, e := range t.Limits {
			name := t.Name()
			if k > 0 {
				name = ""
			}
			harmless := "-"
			if e.Harmless > 0 || t.Unit == Number {
				harmless = t.Text(e.Harmless)
			}
			rows = append(rows, []string{name, harmless, t.Text(e.Harmful), string(e.Harm), string(e.Assumption), e.Where})
		}
		if len(t.Limits) == 0 {
			harmless, violated := t.unlimited()
			rows = append(rows, []string{t.Name(), harmless, "-", violated, "", ""})
		}
	}
	return rows
}

// unlimited says what is harmless of a quantity that violates nothing.
func (t *Tolerance) unlimited() (harmless, violated string) {
	switch {
	case t.Sites == 0:
		return "-", "nothing to perturb"
	case t.Unproved == t.Runs:
		return "-", "nothing is proved"
	case !t.Effective():
		return t.Text(t.Top), "no effect"
	case t.Harmless == 0:
		return "-", "nothing"
	}
	return t.Text(t.Harmless), "nothing"
}

// Sum counts the runs.
func (s *Sheet) Sum() string {
	text := fmt.Sprintf("%s runs, one perturbation in each", Grouped(s.Runs))
	if s.Unproved > 0 {
		text += fmt.Sprintf("; %s prove nothing, and count as neither harmless nor harmful", Grouped(s.Unproved))
	}
	return text + "."
}

// headOf is the first line of a reason, and the next one, such as the first goroutine, if that line ends with a colon.
func headOf(why string) string {
	head, rest, _ := strings.Cut(why, "\n")
	if !strings.HasSuffix(head, ":") {
		return head
	}
	next, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	if next == "" {
		return strings.TrimSuffix(head, ":")
	}
	return head + " " + next
}

// Sentences says what the table does not: what is left out, how many runs there were, and up to which pause mutual exclusion holds.
func (s *Sheet) Sentences() []string {
	var all []string
	for _, c := range s.Calm {
		if c.Unfit != "" {
			all = append(all, fmt.Sprintf("Workload %s is left out: %s.", c.Workload, c.Unfit))
		}
	}
	switch {
	case s.Runs == 0:
		all = append(all, "Nothing is proved: no run could be perturbed.")
	case s.NothingProved():
		all = append(all, "Nothing is proved: no run with a perturbation proves anything.", s.Sum())
	default:
		all = append(all, s.Sum())
	}
	for _, b := range s.Broken {
		why := headOf(b.Why)
		plan := "one of the perturbed runs"
		if len(b.Plan) > 0 {
			plan = b.Plan[0].String()
		}
		all = append(all, fmt.Sprintf("A run that did not end, with `%s`: %s", plan, why))
	}
	for i := range s.Rows {
		t := &s.Rows[i]
		if t.Quantity != "pause" {
			continue
		}
		if i := slices.IndexFunc(t.Limits, func(e Limit) bool { return e.Harmless > 0 }); i >= 0 {
			e := t.Limits[i]
			all = append(all, fmt.Sprintf("A pause of %s does no harm; one of %s violates %s, at the worst moment.", t.Text(e.Harmless), t.Text(e.Harmful), e.Harm))
		}
	}
	return all
}

// A Comparison is what a row of a sheet says of a [Have].
type Comparison struct {
	Have   Have
	Row    *Tolerance
	Within bool
	Word   string // within, NOT WITHIN, or NOT SHOWN: no run shows harm, but not all of them show that there is none
	Why    string
}

// Compare compares the sheet with what an environment has. A [Have] without a sign is compared with both directions.
func (s *Sheet) Compare(haves []Have) []Comparison {
	var all []Comparison
	for _, h := range haves {
		for i := range s.Rows {
			t := &s.Rows[i]
			if !h.About(t) {
				continue
			}
			c := Comparison{h, t, h.Within(t), "within", "harmless up to " + t.Text(t.Harmless)}
			switch {
			case c.Within && !t.Effective():
				c.Why = "no effect"
			case c.Within:
			case len(t.Limits) > 0 && h.Value >= t.Limits[0].Harmful:
				c.Word, c.Why = "NOT WITHIN", fmt.Sprintf("%s violates %s", t.Text(t.Limits[0].Harmful), t.Limits[0].Harm)
			case t.Harmless == 0:
				c.Word, c.Why = "NOT SHOWN", "no magnitude is shown to be harmless"
			default:
				c.Word, c.Why = "NOT SHOWN", "shown to be harmless only up to "+t.Text(t.Harmless)
			}
			all = append(all, c)
		}
	}
	return all
}

// Stuck reports whether a harm is that the lock is not granted for too long. All others let two clients act at once, or worse.
func (h Harm) Stuck() bool {
	return h == Harm(checker.DeadlockFreedom) || h == Harm(checker.FaultTolerance) || h == NoLease
}
