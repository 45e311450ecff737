package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// votes returns the spans of the keys by which a lease was granted, one for each server, in the order of the servers. Copies that
// replication made are not votes.
func (n *narrator) votes(l *facts.Lease) []facts.Life {
	var votes []facts.Life
	for _, k := range n.f.Lives {
		if k.Label == l.Label && k.From < l.ReturnEvent && l.ReturnEvent < k.To && n.event(k.From).By == l.Client && !n.f.Passing[k.Key] &&
			!slices.ContainsFunc(votes, func(o facts.Life) bool { return o.Node == k.Node }) {
			votes = append(votes, k)
		}
	}
	slices.SortStableFunc(votes, func(a, b facts.Life) int { return strings.Compare(a.Node, b.Node) })
	return votes
}

func processes(keys []facts.Life) []string {
	var names []string
	for _, k := range keys {
		if !slices.Contains(names, k.Node) {
			names = append(names, k.Node)
		}
	}
	return names
}

// number chooses between a word for one key and a word for several.
func number(keys []facts.Life, one, several string) string {
	if len(keys) == 1 {
		return one
	}
	return several
}

func beginnings(keys []facts.Life) []int {
	var events []int
	for _, k := range keys {
		events = append(events, k.From)
	}
	return events
}

func endings(keys []facts.Life) []int {
	var events []int
	for _, k := range keys {
		events = append(events, k.To)
	}
	return events
}

// nodes counts the lock nodes among some servers. A replica counts as the node whose place it may take.
func (n *narrator) nodes(servers []string) int {
	var nodes []string
	for _, s := range servers {
		if of := n.f.Meta.Replicas[s]; of != "" {
			s = of
		}
		if slices.Contains(n.f.Meta.Nodes, s) && !slices.Contains(nodes, s) {
			nodes = append(nodes, s)
		}
	}
	return len(nodes)
}

// promptly is how soon a client learns of its grant if nothing delays it.
const promptly = 10 * time.Millisecond

// grant says which client was granted which lease, on which nodes and until when. why says how that was possible.
func (n *narrator) grant(l *facts.Lease, why string) {
	if l == nil {
		return
	}
	e := n.event(l.ReturnEvent)
	if e.Op != history.Acquire { // a hold that began with a late extension
		n.grant(n.f.Lease(l.Label), "")
		few, by := n.unchanged(l, l.ReturnEvent)
		n.say(step, l.ReturnEvent, by, "%s extended %s at %s, after it had ended, until %s by its own clock%s%s.",
			l.Client, l.Label, history.Seconds(l.From), history.Seconds(e.Until), few, why)
		return
	}
	votes := n.votes(l)
	text := l.Client + " was granted " + l.Label
	if len(n.f.Meta.Names) > 0 {
		text += " of " + n.f.TheLock(l.Lock)
	}
	// A majority makes the grant. Keys that were set visibly later are named separately.
	first, later := votes, []facts.Life(nil)
	if late := func(k facts.Life) bool { return k.From > l.GrantEvent && n.time(k.From) != history.Seconds(l.Granted) }; l.GrantSeen {
		later = slices.DeleteFunc(slices.Clone(votes), func(k facts.Life) bool { return !late(k) })
		first = slices.DeleteFunc(slices.Clone(votes), late)
	}
	gone := n.goneVotes(l, votes)
	if len(first) > 0 {
		text += " on " + strings.Join(processes(first), " ")
		if len(gone) > 0 {
			text += fmt.Sprintf(" (and on %s, where its %s gone by then)", strings.Join(processes(gone), " "), number(gone, "key was", "keys were"))
		}
		if n.nodes(append(processes(votes), processes(gone)...)) < n.f.Meta.Quorum() {
			text += ", which is not a majority,"
		}
	}
	text += " at " + history.Seconds(l.Granted)
	if len(later) > 0 {
		last := slices.MaxFunc(later, func(a, b facts.Life) int { return cmp.Compare(a.From, b.From) })
		text += fmt.Sprintf(" (and on %s by %s)", strings.Join(processes(later), " "), n.time(last.From))
	}
	if l.Fence != 0 {
		text += fmt.Sprintf(" with fence %d", l.Fence)
	}
	if l.From-l.Granted > promptly {
		text += ", and learnt of it at " + history.Seconds(l.From)
	}
	if e.Until == history.NoEnd {
		text += ", with no end"
	} else {
		text += ", valid until " + history.Seconds(e.Until) + " by its own clock"
	}
	without, events := n.keyless(l)
	for _, k := range gone {
		events = append(events, k.From, k.To)
	}
	n.say(step, l.GrantEvent, append(append(beginnings(votes), events...), l.ReturnEvent), "%s%s%s.", text, without, why)
}

// goneVotes returns the keys that the client of a lease had set for it on other nodes than those of some keys, and that were gone when it learnt of
// its grant, unless a majority was left.
func (n *narrator) goneVotes(l *facts.Lease, votes []facts.Life) (gone []facts.Life) {
	if n.nodes(processes(votes)) >= n.f.Meta.Quorum() {
		return nil
	}
	for _, k := range n.f.Lives {
		if k.Label == l.Label && l.InvokeEvent < k.From && k.To < l.ReturnEvent && n.event(k.From).By == l.Client && !n.f.Passing[k.Key] &&
			n.nodes(append(processes(votes), k.Node)) > n.nodes(processes(votes)) &&
			!slices.ContainsFunc(gone, func(o facts.Life) bool { return o.Node == k.Node }) {
			gone = append(gone, k)
		}
	}
	slices.SortStableFunc(gone, func(a, b facts.Life) int { return strings.Compare(a.Node, b.Node) })
	return gone
}

// keyless says that no node set a key for a lease, though leases have keys, and which key of its client was there instead.
func (n *narrator) keyless(l *facts.Lease) (text string, events []int) {
	found := false
	for _, k := range n.f.Lives {
		if n.f.Passing[k.Key] {
			continue
		}
		if found = true; k.Label == l.Label && k.From < l.ReturnEvent {
			return "", nil
		}
		if history.Client(k.Label) == l.Client && k.From < l.ReturnEvent && l.ReturnEvent < k.To {
			text, events = fmt.Sprintf(": the key of %s on %s was still there", k.Label, k.Node), append(events, k.From)
			if k.Set < l.InvokeEvent {
				text += ", and kept its deadline"
			}
		}
	}
	if !found {
		return "", nil
	}
	return ", though no node had set a key for it" + text, events
}

// renewals says until when a lease was extended before event i.
func (n *narrator) renewals(l *facts.Lease, i int) {
	var events []int
	for j := l.ReturnEvent + 1; j < min(i, len(n.f.Events)); j++ {
		if prolongs(n.f.Events[j], l.Label) {
			events = append(events, j)
		}
	}
	if len(events) == 0 {
		n.retimed(l, i)
		return
	}
	last := events[len(events)-1]
	text := fmt.Sprintf("%s extended %s at %s", l.Client, l.Label, n.time(last))
	if len(events) > 1 {
		text = fmt.Sprintf("%s extended %s %d times, the last time at %s", l.Client, l.Label, len(events), n.time(last))
	}
	n.anew(l, last)
	few, by := n.unchanged(l, last)
	n.say(detail, last, by, "%s, until %s by its own clock%s.", text, history.Seconds(n.event(last).Until), few)
}

// anew says that a client had set the key of a lease again by event i, after the key was gone.
func (n *narrator) anew(l *facts.Lease, i int) {
	for _, k := range n.f.Lives {
		if k.Label != l.Label || k.From < l.ReturnEvent || k.From > i || n.event(k.From).By != l.Client || n.event(k.From).Op != history.Set {
			continue
		}
		if old := n.predecessor(l.Label, k); old != nil && n.event(old.To).By != l.Client {
			n.say(step, k.From, []int{old.To}, "%s set the key of %s on %s again at %s; the key had been gone since %s.",
				l.Client, l.Label, k.Node, n.time(k.From), n.time(old.To))
		}
	}
}

// unchanged says that fewer nodes than a majority moved the deadline of the key of a lease by the extension, or renewal, that ended at
// event i; or that its client overwrote the keys of others. It also returns the events that show it.
func (n *narrator) unchanged(l *facts.Lease, i int) (few string, by []int) {
	from := n.doing(l.Client, i)
	if n.event(i).Op == history.Renew {
		from = n.validity(l, i)
	}
	var moved, taken, owners []string
	var over []int
	for j := from + 1; j < i; j++ {
		e := n.event(j)
		set := slices.ContainsFunc(n.f.LivesOf[l.Label], func(k int) bool { return n.f.Lives[k].From == j }) // also with a new token
		if set && e.Op == history.Over && e.Owner != "" && history.Client(e.Owner) != l.Client && n.nodes([]string{e.Process}) > 0 {
			taken, over = append(taken, e.Process), append(over, j)
			if !slices.Contains(owners, e.Owner) {
				owners = append(owners, e.Owner)
			}
		}
		if (set || e.Owner == l.Label && e.Op == history.Retime) && n.nodes([]string{e.Process}) > 0 && !slices.Contains(moved, e.Process) {
			moved, by = append(moved, e.Process), append(by, j)
		}
	}
	switch {
	case len(over) > 0:
		slices.Sort(taken)
		key := "key"
		if len(over) > 1 {
			key = "keys"
		}
		return fmt.Sprintf("; to do so, it overwrote the %s of %s on %s", key, history.List(owners), strings.Join(slices.Compact(taken), " ")), over
	case from < 0 || len(n.f.LivesOf[l.Label]) == 0 || n.nodes(moved) >= n.f.Meta.Quorum():
		return "", nil
	case len(moved) == 0 && slices.ContainsFunc(n.f.LivesOf[l.Label], func(k int) bool { return n.f.Lives[k].Promise == history.NoEnd }):
		return "", nil // the end of the lease is in the value
	case len(moved) == 0:
		return ", though no node extended its key", nil
	}
	slices.Sort(moved)
	return ", though only " + history.List(moved) + " extended its key", by
}

// retimed says when a lock that does not report its renewals last renewed a lease's key before event i.
func (n *narrator) retimed(l *facts.Lease, i int) {
	last := n.before(i, func(e history.Event) bool {
		return e.Op == history.Retime && e.Owner == l.Label && e.By == l.Client
	})
	if l.Renewed && last > l.ReturnEvent {
		n.say(detail, last, nil, "%s renewed the key of %s on %s, the last time at %s.", l.Client, l.Label, n.event(last).Process, n.time(last))
	}
}

// prolongs reports whether e gives a lease a new end.
func prolongs(e history.Event, label string) bool {
	return e.Lease == label && e.Until != history.NoEnd && (e.Op == history.Extend && e.Kind == history.OK || e.Op == history.Renew && e.Kind == history.Info)
}

// validity returns the event that gave a lease the end that it had at event i.
func (n *narrator) validity(l *facts.Lease, i int) int {
	j := n.before(i, func(e history.Event) bool { return prolongs(e, l.Label) })
	return max(j, l.ReturnEvent)
}

// holding returns a lease that a client other than but relied on at event i, or nil.
func (n *narrator) holding(but string, i int) *facts.Lease {
	for j := range n.f.Holds {
		l := &n.f.Holds[j]
		if l.Client != but && l.From <= n.event(i).At && n.event(i).At < l.To && l.ReturnEvent < i {
			return l
		}
	}
	return nil
}

// delays tells what kept a client from learning of its grant for long.
func (n *narrator) delays(l *facts.Lease) {
	asked := l.InvokeEvent
	if !n.long(l.From - max(l.Granted, n.event(asked).At)) {
		return
	}
	n.pauses(l.Client, asked, l.ReturnEvent)
	if len(n.paused) > 0 {
		return
	}
	for i := asked; i < l.ReturnEvent; i++ {
		e := n.event(i)
		if e.Op == history.Deliver && e.Process == l.Client && e.Sent >= n.event(asked).At && n.long(e.At-e.Sent) {
			n.late(i)
			return
		}
	}
}
