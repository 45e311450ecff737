package explorer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/sim/history"
)

// tellViolations draws what the checker found. It finds nothing itself: it shows each violation at its events.
func (t *teller) tellViolations() {
	for _, i := range t.proof {
		t.ensureMark(i)
	}
	for n, v := range t.r.Violations {
		c := callout{At: v.At, Text: v.What}
		switch v.Property {
		case checker.LeaseExclusion:
			if b, ok := t.overlap(v.At); ok {
				t.s.Bands = append(t.s.Bands, b)
				c.Lane, c.At = b.Clients[0], b.From
				c.Text = fmt.Sprintf("%s hold the lock at once, for %s", strings.Join(b.Clients, " and "), reports.Span(b.To-b.From))
			}
		case checker.NoLostUpdate:
			c.Text, _, _ = strings.Cut(c.Text, ";") // how much was lost, without the example
			if i := t.culprit(v); i >= 0 && t.writesNumber(i) {
				e := &t.f.Events[i]
				c.Text = fmt.Sprintf("%s writes %s again: an increment is lost", e.By, cmp.Or(t.silent[i], e.Value))
			}
		case checker.ResourceExclusion:
			if text := t.zombieWrite(v); text != "" {
				c.Text = text
			}
		}
		if c.Lane == "" {
			c.Lane, c.At = t.scene(v)
		}
		first := slices.IndexFunc(t.r.Violations, func(o checker.Violation) bool { return o.Property == v.Property }) == n
		if first && c.Lane != "" {
			t.s.Callouts = append(t.s.Callouts, c)
		}
	}
}

// ensureMark gives event i a mark if it has none. No event that proves a violation may be missing.
func (t *teller) ensureMark(i int) {
	if !t.valid(i) {
		return
	}
	e := &t.f.Events[i]
	l := t.lane(e.Process)
	if l == nil || slices.ContainsFunc(l.Marks, func(m mark) bool { return m.Proof && m.At == e.At }) {
		return
	}
	t.mark(e.Process, mark{At: e.At, Client: e.Process, Weight: Decisive, event: i, Proof: true})
}

// overlap returns the clients that held the lock together at an instant, and for how long they did.
func (t *teller) overlap(at time.Duration) (band, bool) {
	b := band{To: t.s.End}
	for _, l := range t.f.Holds {
		if l.From <= at && at < l.To && !slices.Contains(b.Clients, l.Client) {
			b.From, b.To = max(b.From, l.From), min(b.To, l.To)
			b.Clients = append(b.Clients, l.Client)
		}
	}
	return b, len(b.Clients) > 1
}

// zombieWrite says in one line what is wrong with a write that violates resource exclusion.
func (t *teller) zombieWrite(v checker.Violation) string {
	i := culprit(t.f.History, v)
	if i < 0 || t.f.Events[i].Op != history.Accept {
		return ""
	}
	e := &t.f.Events[i]
	text := fmt.Sprintf("%s writes %s", e.By, e.Value)
	if e.Sent > 0 && e.At-e.Sent >= reports.TellingDelay {
		text = fmt.Sprintf("%s of %s arrives %s late", e.Value, e.By, reports.Span(e.At-e.Sent))
	} else if end, known := t.leaseEnd(e.Lease, e.At); known && end < e.At {
		text += fmt.Sprintf(" %s after its lease ended", reports.Span(e.At-end))
	}
	for _, l := range t.f.Holds {
		if l.Client != e.By && l.From <= e.At && e.At < l.To {
			text += ", while " + l.Client + " holds the lock"
			break
		}
	}
	return text
}

// scene returns the lane and the instant at which a violation is shown.
func (t *teller) scene(v checker.Violation) (string, time.Duration) {
	if i := t.culprit(v); i >= 0 && t.lane(t.f.Events[i].Process) != nil {
		return t.f.Events[i].Process, t.f.Events[i].At
	}
	return "", 0
}

// writesNumber reports whether event i is a write to the counter.
func (t *teller) writesNumber(i int) bool {
	e := &t.f.Events[i]
	return t.silent[i] != "" || atResource(e) && e.Op != history.Accept && e.Process == history.ResourceName && e.Lease == ""
}

// culprit returns the event at which a violation is shown. For a lost update this is the last write of a number that had been written
// before.
func (t *teller) culprit(v checker.Violation) int {
	if v.Property != checker.NoLostUpdate {
		return culprit(t.f.History, v)
	}
	write := -1
	for _, i := range v.Events {
		if !t.valid(i) || t.f.Events[i].Op != history.Increment || t.f.Events[i].Kind != history.OK {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			e := &t.f.Events[j]
			if number, silent := t.silent[j]; e.By == t.f.Events[i].Process && (silent && number == t.f.Events[i].Value || atResource(e) && e.Value == t.f.Events[i].Value) {
				write = max(write, j)
				break
			}
		}
	}
	if write >= 0 {
		return write
	}
	return culprit(t.f.History, v)
}

// culprit returns the event that completed a violation, or -1: the last of its proof that is not after the violation. The others led to
// it.
func culprit(h *history.History, v checker.Violation) int {
	for _, i := range slices.Backward(v.Events) {
		if i >= 0 && i < len(h.Events) && h.Events[i].At <= v.At {
			return i
		}
	}
	return -1
}
