package explorer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/reports"
	"lockstep/sim/history"
)

func (t *teller) tellClients() {
	for n := range t.f.Holds {
		l := &t.f.Holds[n]
		if t.fruitless(l.ReturnEvent) && !t.proves(l.GrantEvent) {
			continue
		}
		text := l.Client + " holds " + l.Label
		if l.Fence != 0 {
			text += fmt.Sprintf(", fence %d", l.Fence)
		}
		if l.To > l.From {
			t.bar(l.Client, Bar{From: l.From, To: l.To, Style: Holding, Client: l.Client, Text: text, Short: l.Label, hold: l})
		}
	}
	for _, d := range t.deeds {
		t.tellDeed(d)
	}
	for i := range t.f.Events {
		e := &t.f.Events[i]
		if e.Kind != history.Info || t.fruitless(i) {
			continue
		}
		switch e.Op {
		case history.Renew:
			t.mark(e.Process, mark{At: e.At, Shape: Ticked, Client: e.Process, Text: "renews", Weight: trivial, event: i})
		case history.Cancel:
			t.mark(e.Process, mark{At: e.At, Shape: Ticked, Client: e.Process, Text: "its caller waits no longer", Weight: Usual, event: i})
		case history.Lost:
			t.mark(e.Process, mark{At: e.At, Shape: Lost, Text: "told that " + e.Lease + " is lost", Weight: Telling, event: i})
		}
	}
}

func (t *teller) tellDeed(d reports.Deed) {
	m := mark{At: d.Invoked, Shape: Act, Client: d.Process, Text: d.Op, Weight: Usual, event: d.In}
	m.Proof = d.Out >= 0 && t.proves(d.Out) && d.Op != history.Acquire
	if d.Folded() && d.Op != history.Acquire {
		t.bar(d.Process, Bar{From: d.Invoked, To: d.Returned, Style: Writing, Client: d.Process})
		m.Text, m.Weight = fmt.Sprintf("%s ×%d", strings.TrimSpace(d.Op+" "+d.Value), d.Times), Telling
		if d.Failed > 0 {
			m.Text += fmt.Sprintf(", %d not done", d.Failed)
		}
		t.mark(d.Process, m)
		return
	}
	switch d.Op {
	case history.Acquire:
		until := d.Returned
		if d.Out < 0 {
			until = t.s.End
		}
		t.bar(d.Process, Bar{From: d.Invoked, To: until, Style: Asking, Client: d.Process})
		m.Shape = Bare
		outcome := ""
		switch {
		case d.Refused() && d.Outcome == history.Info:
			outcome = ": no answer"
		case d.Refused():
			outcome = " refused"
		case d.Outcome == history.Info:
			outcome = ": outcome unknown"
		}
		if outcome != "" { // nobody knows it before the end
			m.At, m.Shape, m.Text, m.event = d.Returned, Ticked, m.Text+outcome, d.Out
		}
		if d.Folded() {
			m.Text += fmt.Sprintf(" ×%d", d.Times)
		}
	case history.Extend:
		if d.Outcome == history.Fail {
			m.Text, m.Weight = "extend refused", Telling
		}
	case history.Release:
		switch {
		case d.Outcome == history.Fail:
			m.Text, m.Weight = "release failed", Telling
		case d.Outcome == history.Info && t.lostOnTheWay(d):
			m.Text, m.Weight = "release is lost", Telling
		case d.Outcome == history.Info:
			m.Text, m.Weight = "release: no answer", Telling
		}
	case history.Write, history.Read, history.Update, history.Increment:
		if d.Op != history.Read {
			m.Text = strings.TrimSpace(d.Op + " " + d.Value)
			m.Weight = Telling
			t.bar(d.Process, Bar{From: d.Invoked, To: d.Returned, Style: Writing, Client: d.Process})
		}
		if d.Outcome == history.Fail && d.Lease == "" {
			m.Text = "no " + m.Text + ": " + strings.TrimPrefix(reports.FirstLine(d.Err), d.Op+" skipped: ")
		}
		if end, over := t.leaseEnd(d.Lease, d.Invoked); over && d.Invoked > end {
			t.overtime(d, end)
		}
	}
	t.mark(d.Process, m)
}

// overtime draws one bar for all that a client does under a lease after its end.
func (t *teller) overtime(d reports.Deed, end time.Duration) {
	if l := t.lane(d.Process); l != nil {
		for i := range l.Bars {
			if b := &l.Bars[i]; b.Style == Stale && b.From == end {
				b.To = min(max(b.To, d.Invoked), t.s.End)
				return
			}
		}
	}
	t.bar(d.Process, Bar{From: end, To: d.Invoked, Style: Stale, Client: d.Process,
		Text: d.Lease + " is over, " + d.Process + " does not notice", Short: "lease over"})
}

// lostOnTheWay reports whether a message that d's client sent meanwhile never arrived.
func (t *teller) lostOnTheWay(d reports.Deed) bool {
	return slices.ContainsFunc(t.f.Events[d.In:max(d.In, d.Out)], func(e history.Event) bool {
		return e.Kind == history.Message && e.Op == history.Drop && e.By == d.Process
	})
}

// leaseEnd returns when the hold of a lease ended. A lease may have several holds: the last one that had begun by the given time counts.
func (t *teller) leaseEnd(label string, by time.Duration) (end time.Duration, known bool) {
	for _, l := range t.f.Holds {
		if l.Label == label && (!known || l.From <= by) {
			end, known = max(l.From, l.To), true
		}
	}
	return end, known
}

// grantText says which lease was granted, and by how many of the nodes.
func (t *teller) grantText(e *history.Event) string {
	if n := len(t.f.Meta.Nodes); n > 1 {
		return fmt.Sprintf("%s granted: %d of %d", e.Lease, t.f.Meta.Quorum(), n)
	}
	return e.Lease + " granted"
}

// fruitless reports whether an event belongs to attempts that are drawn as one.
func (t *teller) fruitless(i int) bool {
	return slices.ContainsFunc(t.folds, func(d reports.Deed) bool { return d.Covers(i, &t.f.Events[i]) })
}
