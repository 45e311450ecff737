package explain

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// tellWrite tells how the resource came to accept a write under a lease after a newer one was granted.
func (n *narrator) tellWrite() {
	i := n.culprit(func(e history.Event) bool {
		return e.Op == history.Accept || e.Op == history.Mark
	})
	e := n.event(i)
	l := n.f.Lease(e.Lease)
	var newer *facts.Lease
	for _, o := range n.accused() {
		if l != nil && o.Label != l.Label && o.GrantEvent > l.GrantEvent && o.GrantEvent < i && newer == nil {
			newer = o
		}
	}
	if newer == nil {
		return
	}
	n.grant(l, "")
	j := n.writing(i)
	h := n.f.HoldAt(l.Label, n.event(j).At)
	again := j >= 0 && h.ReturnEvent > newer.GrantEvent && n.event(h.ReturnEvent).Op == history.Extend
	if again {
		n.renewals(l, newer.GrantEvent)
	} else {
		n.renewals(l, max(j, newer.GrantEvent))
	}
	sent := n.before(i, func(o history.Event) bool { return o.At <= e.Departure() })
	n.pauses(l.Client, l.ReturnEvent, sent)
	why := n.successions(l, newer)
	n.clientClocks(l, newer)
	n.grant(newer, why)
	if again {
		few, by := n.unchanged(l, h.ReturnEvent)
		n.say(step, h.ReturnEvent, by, "%s extended %s at %s, after it had ended, until %s by its own clock%s.",
			l.Client, l.Label, history.Seconds(h.From), history.Seconds(n.event(h.ReturnEvent).Until), few)
	}
	misled := n.checked(l, j)

	before := n.before(i, func(o history.Event) bool { return o.Op == e.Op && o.Process == e.Process })
	switch last := n.event(before); {
	case last.Lease != newer.Label:
	case last.Op == history.Mark:
		n.say(detail, before, nil, "%s entered under %s at %s.", newer.Client, newer.Label, n.time(before))
	default:
		n.say(detail, before, nil, "%s wrote %s under %s, and the resource accepted it at %s.", newer.Client, last.Value, newer.Label, n.time(before))
	}
	n.wrote(l, j, i)
	text := fmt.Sprintf("At %s the resource accepted %s under %s", n.time(i), e.Value, l.Label)
	if e.Op == history.Mark {
		text = fmt.Sprintf("At %s the resource accepted the mark of %s", n.time(i), l.Label)
	}
	events := []int{newer.GrantEvent, newer.ReturnEvent}
	if n.overdue(e) {
		text += ", which had been under way since " + history.Seconds(e.Sent)
		n.cause = append(n.cause, i)
		n.kept(l.Client, e.Process, e.Sent, i)
	}
	text += fmt.Sprintf(", though %s was the newer lease", newer.Label)
	switch last := n.event(before); {
	case e.Op == history.Mark && last.Lease == newer.Label:
		text, events = text+": from now on it refuses what "+newer.Client+" writes", append(events, before)
	case e.Op == history.Mark:
	case e.Fence != 0 && n.f.Meta.Resource == "plain" && !n.seenFence(i, e.Fence):
		text += ": the resource does not compare tokens"
	case e.Fence != 0 && !n.seenFence(i, e.Fence):
		text += fmt.Sprintf(": no fence above %d had reached it yet", e.Fence)
	case before > newer.GrantEvent && last.Lease != l.Label && last.Value != "" && !strings.Contains(e.Value, last.Value):
		text, events = text+": it overwrote "+last.Value, append(events, before)
	}
	n.say(step, i, events, "%s.", text)
	if higher := n.before(i, func(o history.Event) bool {
		return o.Process == e.Process && o.Fence > e.Fence // a plain resource accepts everything
	}); e.Fence != 0 && higher >= 0 && n.f.Meta.Resource == "plain" {
		n.say(step, i, []int{higher}, "The resource does not compare tokens: it accepted fence %d after fence %d.", e.Fence, n.event(higher).Fence)
	}
	if !misled {
		n.overworked(l, j)
	}
}

// checked says that a client checked its lease before event j, and that it was valid. It reports whether the lease was valid although the end
// had passed that an acquire or an extension had given it.
func (n *narrator) checked(l *facts.Lease, j int) (longer bool) {
	check := n.before(j, func(o history.Event) bool {
		return o.Process == l.Client && o.Op == history.Check && o.Kind == history.OK && o.Lease == l.Label
	})
	if check < 0 {
		return false
	}
	believed := n.validity(l, check)
	until := n.event(believed).Until
	over := until != history.NoEnd && n.event(check).Clock >= until
	told := facts.Before(n.f.Extensions[l.Label], check) // another end, even if the extension did not succeed
	extended := n.before(check, func(o history.Event) bool {
		return o.Kind == history.State && o.By == l.Client && (o.Lease == l.Label || o.Op == history.Retime && o.Owner == l.Label)
	})
	if over && told <= believed && extended <= believed {
		n.say(step, check, []int{believed}, "%s checked at %s whether %s was valid. The lock said yes, although the lease had ended at %s and nothing had extended it: the lock had moved the end by itself.",
			l.Client, n.time(check), l.Label, history.Seconds(until))
		return true
	}
	n.say(detail, check, nil, "%s checked its clock at %s, and %s was valid.", l.Client, n.time(check), l.Label)
	return over
}

// overworked makes the last sentence say that a client went on after its lease, if that alone explains the violation.
func (n *narrator) overworked(l *facts.Lease, j int) {
	if j < 0 || l.EndEvent >= 0 && l.EndEvent < j {
		return
	}
	believed := n.validity(l, j)
	until := n.event(believed).Until
	if until == history.NoEnd || n.event(j).Clock < until {
		return
	}
	why, events := l.Client+" worked longer than its lease lasted, and nothing renewed the lease", []int{believed, j}
	asked := n.doing(l.Client, believed)
	switch e := n.event(believed); {
	case n.event(n.f.Lease(l.Label).ReturnEvent).Renews && len(n.paused) == 0 && n.undisturbed(l, j):
		why = "the lock renews leases by itself, but did not renew " + l.Label + " in time. The lock itself is at fault"
		events = append(events, n.f.Lease(l.Label).ReturnEvent)
	case n.event(n.f.Lease(l.Label).ReturnEvent).Renews && len(n.paused) == 0:
		why = l.Client + " worked longer than its lease lasted, and the lock, which renews leases by itself, did not renew " + l.Label + " in time"
		events = append(events, n.f.Lease(l.Label).ReturnEvent)
	case e.Op == history.Extend && asked >= 0 && until-n.event(asked).Clock < n.f.TTL(n.event(asked))*9/10:
		why = fmt.Sprintf("the extension at %s succeeded, but %s did not get the %s that it asked for. The lock itself is at fault",
			n.time(believed), l.Client, history.FormatDuration(n.f.TTL(n.event(asked))))
		events = append(events, asked)
	case believed > l.ReturnEvent:
		why += " in time"
	}
	n.blame = Sentence{Text: "No assumption was broken: " + why + ".", Events: events}
}

// undisturbed reports whether the client of a lease could reach all lock nodes from its grant up to event i.
func (n *narrator) undisturbed(l *facts.Lease, i int) bool {
	return !slices.ContainsFunc(n.f.Meta.Nodes, func(node string) bool {
		since, down := n.reachable(l.Client, node, i)
		return down || since > l.ReturnEvent
	})
}

// wrote tells of the invocation of a write, and what its client could know about its lease by then.
func (n *narrator) wrote(l *facts.Lease, j, accepted int) {
	if j < 0 {
		return
	}
	in := n.event(j)
	believed := n.validity(l, j)
	until := n.event(believed).Until
	events := []int{l.ReturnEvent, believed}
	text := fmt.Sprintf("%s wrote %s under %s at %s", l.Client, n.event(accepted).Value, l.Label, n.time(j))
	if in.Op == history.Enter {
		text = fmt.Sprintf("%s entered under %s at %s", l.Client, l.Label, n.time(j))
	}
	switch {
	case l.EndEvent >= 0 && l.EndEvent < j:
		then, more := n.ending(l)
		text, events = text+", after "+then, append(events, more...)
	case until == history.NoEnd:
	case in.Clock >= until:
		text += "; by its own clock the lease had ended at " + history.Seconds(until)
	default:
		text += ", while its lease was valid by its own clock"
	}
	n.say(step, j, events, "%s.", text)
}

// writing returns the invocation of the write, update or entry that the resource accepted by event i, or -1.
func (n *narrator) writing(i int) int {
	return n.before(i, func(o history.Event) bool { return o.Writes(n.event(i)) })
}

// seenFence reports whether the resource had accepted anything with a higher fence before event i.
func (n *narrator) seenFence(i int, fence int64) bool {
	return n.before(i, func(o history.Event) bool {
		return o.Op == history.Accept && o.Fence > fence
	}) >= 0
}
