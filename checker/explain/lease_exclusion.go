package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// tellOverlap tells how two clients came to hold a lock at once.
func (n *narrator) tellOverlap() {
	var held, late *facts.Lease // late began while held was in force
	for _, l := range n.accused() {
		if l.From == n.v.At && (late == nil || l.ReturnEvent > late.ReturnEvent) {
			late = l
		}
	}
	for _, l := range n.accused() {
		if late != nil && l.Client != late.Client && l.From <= late.From && late.From < l.To && (held == nil || l.To > held.To) {
			held = l
		}
	}
	if held == nil {
		return
	}
	first, second := held, late
	if second.GrantEvent < first.GrantEvent {
		first, second = second, first
	}
	n.grant(first, "")
	n.margin(first)
	n.renewals(first, second.GrantEvent)
	n.delays(first)
	n.delays(second)
	why := n.successions(first, second)
	n.clientClocks(first, second)
	n.grant(second, why)

	believed := n.validity(held, late.ReturnEvent)
	if until := n.event(believed).Until; until != history.NoEnd {
		n.say(detail, late.ReturnEvent, []int{held.ReturnEvent, believed}, "%s did not know this: by its own clock %s was valid until %s.",
			held.Client, held.Label, history.Seconds(until))
	} else {
		text, counted := "%s did not know this: %s has no end", held.ReturnEvent
		if !held.Lasts && !held.Renewed && n.v.Assumption == checker.None {
			for _, j := range n.f.Extensions[held.Label] {
				if j < late.ReturnEvent {
					counted = max(counted, j)
				}
			}
			text += ", and a TTL had not passed since the reply at " + n.time(counted)
		}
		n.say(detail, late.ReturnEvent, []int{held.ReturnEvent, counted}, text+".", held.Client, held.Label)
	}
	soon, later := held, late
	if later.To < soon.To {
		soon, later = later, soon
	}
	text, events := n.ending(soon)
	if then, more := n.ending(later); later.EndEvent >= 0 {
		text, events = text+"; "+then, append(events, more...)
	}
	n.say(step, late.ReturnEvent, append(events, held.ReturnEvent), "From %s on both %s and %s held the lock, until %s.",
		history.Seconds(late.From), held.Client, late.Client, text)
	n.writesBetween(late.ReturnEvent, held, late)
}

// margin says that a lease on a majority of nodes left something for the drift of clocks, but less than Redlock does, if a clock is to blame.
func (n *narrator) margin(l *facts.Lease) {
	margin, enough, ok := n.f.Margin(l)
	if n.v.Assumption != checker.BoundedClockError || n.f.Meta.Quorum() < 2 || !ok || enough || margin < time.Millisecond || n.event(l.ReturnEvent).Renews {
		return
	}
	first := slices.MinFunc(n.votes(l), func(a, b facts.Life) int { return a.From - b.From })
	n.say(step, l.ReturnEvent, []int{l.InvokeEvent, first.From}, "By the clock of %s, %s was to end only %s before its first key, which had been set at %s with a TTL of %s: that was all it left for the drift of clocks.",
		l.Client, l.Label, history.FormatDuration(margin.Round(time.Millisecond)), n.time(first.From), rounded(first.Promise))
}

// ending says what ended a hold, and returns the events that show it.
func (n *narrator) ending(l *facts.Lease) (string, []int) {
	at := n.time(l.EndEvent)
	switch e := n.event(l.EndEvent); {
	case l.EndEvent < 0:
		believed := n.validity(l, len(n.f.Events))
		if until := n.event(believed).Until; until != history.NoEnd && l.Ended == facts.LeaseEnded {
			return fmt.Sprintf("the clock of %s read %s, the end of %s", l.Client, history.Seconds(until), l.Label), []int{l.ReturnEvent, believed}
		}
		return "the end of the run", []int{l.ReturnEvent}
	case e.Op == history.Release:
		how, events := n.releasing(l.EndEvent)
		return how, append(events, l.ReturnEvent)
	case e.Op == "crash":
		n.tellOnce(l.EndEvent)
		return l.Client + " crashed at " + at, []int{l.EndEvent}
	case l.Ended == facts.LeaseLost:
		return fmt.Sprintf("%s was told at %s that %s was lost", l.Client, at, l.Label), []int{l.ReturnEvent, l.EndEvent}
	default:
		return l.Client + " exited at " + at, []int{l.EndEvent}
	}
}

// releasing says that a client released a lease, by invocation i, and whether the release failed.
func (n *narrator) releasing(i int) (string, []int) {
	e := n.event(i)
	out := n.outcome(i)
	switch o := n.event(out); {
	case out >= 0 && o.Kind == history.Fail:
		text := fmt.Sprintf("%s asked for the release of %s at %s, which failed", e.Process, e.Lease, history.Seconds(e.At))
		if why := plain(o.Error); why != "" {
			text += ": " + why
		}
		return text, []int{i, out}
	case out >= 0 && o.Kind == history.Info:
		text := fmt.Sprintf("%s asked for the release of %s at %s, ", e.Process, e.Lease, history.Seconds(e.At))
		why := plain(o.Error)
		switch unsent := n.unsent(i, out); {
		case unsent && strings.Contains(o.Error, context.Canceled.Error()):
			text += "but no request was sent, because its context had been canceled"
		case unsent:
			text += "but no request was sent"
		case why != "":
			text += "and got only an error: " + why
		default:
			text += "and got no answer"
		}
		return text, []int{i, out}
	}
	return fmt.Sprintf("%s began to release %s at %s", e.Process, e.Lease, history.Seconds(e.At)), []int{i}
}

// unsent reports whether the history shows that a client sent nothing to a node in an operation. A history has messages, even those
// that were lost, except one that a fault on its link holds for ever.
func (n *narrator) unsent(in, out int) bool {
	client, from, to := n.event(in).Process, n.event(in).At, n.event(out).At
	by := func(e history.Event) bool { return e.Kind == history.Message && e.By == client }
	for _, node := range n.f.Meta.Nodes {
		if n.linkFault(client, node, out) >= 0 {
			return false
		}
	}
	return n.before(in, by) >= 0 && n.after(in, func(e history.Event) bool {
		return by(e) && e.Process != history.ResourceName && from <= e.Sent && e.Sent <= to
	}) < 0
}

// plain returns an error if it is fit for a sentence: one line without digits.
func plain(s string) string {
	if strings.ContainsAny(s, "\n0123456789") {
		return ""
	}
	return strings.TrimSuffix(s, ".")
}

// writesBetween tells which writes the resource accepted while two leases were held.
func (n *narrator) writesBetween(from int, a, b *facts.Lease) {
	var texts []string
	var events []int
	for i := from; i < len(n.f.Events); i++ {
		e := n.event(i)
		if e.Op == history.Accept && (e.Lease == a.Label || e.Lease == b.Label) && e.At < min(a.To, b.To) {
			texts = append(texts, fmt.Sprintf("%s under %s at %s", e.Value, e.Lease, history.Seconds(e.At)))
			events = append(events, i)
		}
	}
	if len(events) > 2 {
		texts, events = texts[:2], events[:2]
	}
	if len(events) > 0 {
		n.say(detail, events[0], events, "Meanwhile the resource accepted %s.", history.List(texts))
	}
}
