package explain

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// takeover tells how a replica came to grant a lease in the place of the node that had granted the first.
func (n *narrator) takeover(first *facts.Lease, k facts.Life) {
	primary := n.f.Meta.Replicas[k.Node]
	if primary == "" {
		return
	}
	promoted := n.before(k.From, func(e history.Event) bool {
		return e.Kind == history.State && e.Op == history.Promoted && e.Process == k.Node
	})
	if promoted < 0 {
		promoted = n.before(k.From, func(e history.Event) bool {
			return e.Kind == history.Injected && e.Op == "promote" && e.Process == k.Node
		})
	}
	if promoted < 0 {
		return
	}
	n.tellOnce(n.before(promoted+1, func(e history.Event) bool {
		return e.Kind == history.Injected && e.Op == "promote" && e.Process == k.Node
	}))
	for i := range promoted {
		switch e := n.event(i); {
		case e.Kind != history.Injected:
		case e.Process == primary && n.stands(i, promoted):
			n.fault(step, i)
		case n.links(i, primary) && n.stands(i, promoted):
			n.fault(detail, i)
		}
	}
	n.election(primary, n.before(promoted, func(e history.Event) bool { return e.Kind == history.State && e.Op == history.Promoted }), promoted)

	var had, copies []facts.Life
	for _, o := range n.f.Lives {
		switch {
		case o.Label != first.Label || o.Key != k.Key:
		case o.Node == primary && n.f.Commanded(o, k.From) > promoted:
			n.say(step, promoted, []int{n.f.Commanded(o, k.From)}, "At %s %s took the place of %s, which kept running by itself.", n.time(promoted), k.Node, primary)
			n.cause = append(n.cause, promoted)
			return
		case o.From > promoted:
		case o.Node == primary:
			had = append(had, o)
		case o.Node == k.Node:
			copies = append(copies, o)
		}
	}
	if len(copies) == 0 && len(had) > 0 {
		n.lag(primary, k.Node, had[0].From)
		n.say(step, promoted, []int{had[0].From}, "At %s %s took the place of %s; the key of %s had never reached %[2]s.",
			n.time(promoted), k.Node, primary, first.Label)
		n.cause = append(n.cause, promoted)
		return
	}
	evidence := append(beginnings(had), beginnings(copies)...)
	named := slices.ContainsFunc(evidence, func(i int) bool { e := n.event(i); return e.Process == primary || e.By == primary })
	if !named {
		n.say(step, promoted, nil, "At %s %s was promoted.", n.time(promoted), k.Node)
		return
	}
	missed := ""
	if len(had) > 0 && len(copies) > 0 {
		last := copies[len(copies)-1]
		if extended := n.f.Commanded(had[len(had)-1], promoted); n.f.Dues[extended]-facts.Rounding > last.Due() || n.f.MissedExtension(last, k.From) >= 0 {
			missed = fmt.Sprintf("; the last extension of %s had never reached %s", first.Label, k.Node)
		}
	}
	n.say(step, promoted, evidence, "At %s %s took the place of %s%s.", n.time(promoted), k.Node, primary, missed)
	n.cause = append(n.cause, promoted)
}

// election tells of the Sentinels that made a promotion, between two events: which of them considered the primary down, and which
// learned that a quorum did, and was elected to promote a replica.
func (n *narrator) election(primary string, from, promoted int) {
	says := func(op, process string) func(history.Event) bool {
		return func(e history.Event) bool {
			return e.Op == op && e.Value == primary && (process == "" || e.Process == process)
		}
	}
	leader := n.before(promoted, says(history.Leader, ""))
	if leader < from {
		leader = -1
	}
	agreed := n.after(from, says(history.Odown, n.event(leader).Process))
	if agreed < 0 || agreed > promoted {
		return
	}
	var who []string
	var doubts []int
	for i := max(from, 0); i < max(agreed, leader); i++ {
		if e := n.event(i); says(history.Sdown, "")(e) && !slices.Contains(who, e.Process) {
			who, doubts = append(who, e.Process), append(doubts, i)
		}
	}
	slices.Sort(who)
	text, events := "", append(doubts, agreed)
	if len(who) > 0 {
		text = fmt.Sprintf("%s considered %s down from %s on; ", strings.Join(who, " "), primary, n.time(doubts[0]))
	}
	text += fmt.Sprintf("%s learnt at %s that a quorum did", n.event(agreed).Process, n.time(agreed))
	if len(who) == 0 {
		text = fmt.Sprintf("At %s %s learnt that a quorum considered %s down", n.time(agreed), n.event(agreed).Process, primary)
	}
	if leader >= 0 {
		text, events = text+", and was elected at "+n.time(leader), append(events, leader)
	}
	n.say(detail, events[0], events, "%s.", text)
}

// lag tells why a change that a primary made at event i had not reached its replica.
func (n *narrator) lag(primary, replica string, i int) {
	if j := n.linkFault(primary, replica, i+1); j >= 0 {
		n.fault(step, j)
		return
	}
	n.fault(detail, n.after(i, func(e history.Event) bool {
		f, ok := facts.Lasting(e)
		return ok && f.Covers(primary, replica)
	}))
}
