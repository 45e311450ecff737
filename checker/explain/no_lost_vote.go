package explain

import (
	"fmt"
	"strings"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// tellLostVote tells how a client took a key away from its own lease.
func (n *narrator) tellLostVote() {
	i := n.culprit(func(e history.Event) bool {
		return e.Op == history.Over || e.Op == history.Retime || e.Op == history.Delete
	})
	set := n.culprit(func(e history.Event) bool {
		return (e.Op == history.Over || e.Op == history.Set) && e.At <= n.event(i).At
	})
	e := n.event(i)
	if i < 0 || set < 0 {
		return
	}
	label := n.event(set).Lease
	l := n.f.Lease(label)
	if l == nil {
		return
	}
	n.grant(l, "")
	n.renewals(l, i)
	verb := map[string]string{history.Over: "overwrote", history.Retime: "shortened the life of", history.Delete: "deleted"}[e.Op]
	text := fmt.Sprintf("%s %s its own key of %s on %s at %s", e.By, verb, label, e.Process, n.time(i))
	asked := n.before(i, func(o history.Event) bool { // the last that gave the key a deadline
		return o.Process == e.Process && o.Key == e.Key && o.By == e.By && (o.Op == history.Set || o.Op == history.Over || o.Op == history.Retime)
	})
	how, events := n.byExtension(i)
	if where, in := n.amid(i); e.Op == history.Delete && how == "" && n.event(in).Op != history.Extend {
		how, events = where, []int{in}
	}
	if e.Departure() < n.event(asked).Departure() {
		how, events = "", nil
		what := "set the key, and did not notice that the key belonged to another attempt"
		if n.event(asked).Op == history.Retime {
			what = "set the deadline of the key"
		}
		text += fmt.Sprintf(": the command had left at %s, before the one that %s", history.Seconds(e.Departure()), what)
	}
	if n.v.Assumption == checker.BoundedClockError && e.Op == history.Delete {
		how += fmt.Sprintf(": the deadline that it sent had passed by the clock of %s", e.Process)
	}
	n.say(step, i, append(events, set, asked), "%s%s.", text, how)
	if e.Op != history.Delete {
		return
	}
	end := max(i, n.outcome(n.during(i))) // the same operation may delete more
	var left, gone []facts.Life
	for _, k := range n.f.Lives {
		switch {
		case k.Label != label || k.From > i || k.To <= i || k.Node == e.Process:
		case k.To > end:
			left = append(left, k)
		case n.event(k.To).Op == history.Delete && n.event(k.To).By == e.By:
			gone = append(gone, k)
		}
	}
	if len(gone) > 0 {
		n.say(detail, i, endings(gone), "It also deleted the %s on %s %s.", number(gone, "key", "keys"), strings.Join(processes(gone), " "), n.when(endings(gone)))
	}
	if len(left) > 0 {
		n.say(detail, i, beginnings(left), "The lease kept the %s on %s.", number(left, "key", "keys"), strings.Join(processes(left), " "))
	}
}
