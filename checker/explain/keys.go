package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// shorter tells of keys that expired in their time, but before the lease was to end: their client had asked for less, by an extension
// that was not answered or by another command. If it had asked for enough then, but relied on more later, moved says so in the end.
func (n *narrator) shorter(l *facts.Lease, expired []facts.Life) (moved func()) {
	moved = func() {}
	if l = n.f.Lease(l.Label); n.v.Assumption != checker.None { // the first hold, before any late extension
		return moved
	}
	over := func(k facts.Life, told int) bool { // whether the client was told an end after that of the key
		until := n.event(told).Until
		return until != history.NoEnd && k.Due() < facts.When(n.f.Clocks[l.Client], until)-facts.Rounding
	}
	// A client whose clock is slow counts on its lease for longer than the node does, though it gave the key enough by its own clock.
	slow := func(k facts.Life, told int) bool {
		return n.event(told).Until <= facts.Reading(n.f.Clocks[l.Client], n.event(k.Set).Departure())+k.Promise+facts.Rounding
	}
	var keys []facts.Life
	var set []int // what gave them their deadlines
	last := -1
	for _, k := range expired {
		switch told := n.validity(l, k.To); {
		case n.event(k.Set).By != l.Client || !over(k, told):
		case slow(k, told):
			n.clockFaultsOf(l.Client, 0, k.To, true)
		default:
			keys, set, last = append(keys, k), append(set, k.Set), max(last, k.Set)
		}
	}
	if last < 0 {
		return moved
	}
	if asked, answer := n.unanswered(last); asked >= 0 {
		var on []facts.Life // the nodes where it did so, and not an earlier command
		for i := len(set) - 1; i >= 0; i-- {
			if n.doing(l.Client, set[i]) == asked {
				on = append(on, keys[i])
			} else {
				set = slices.Delete(set, i, i+1)
			}
		}
		slices.Reverse(on)
		n.say(step, asked, append(set, n.outcome(asked)), "%s asked at %s for %s to end %s later, and got %s, but %s carried it out.",
			l.Client, n.time(asked), l.Label, history.FormatDuration(n.f.TTL(n.event(asked))), answer, strings.Join(processes(on), " "))
		return moved
	}
	nodes, noun, key := strings.Join(processes(keys), " "), number(keys, "key", "keys"), keys[len(keys)-1]
	told := l.ReturnEvent // what the client was told after that command
	if last > told {
		told = facts.After(n.f.Extensions[l.Label], last)
	}
	if told >= 0 && over(key, told) {
		n.say(step, last, append(set, told), "By %s %s had given the %s of %s on %s a TTL of %s, which is less than it counted on.",
			n.time(last), l.Client, noun, l.Label, nodes, rounded(key.Promise))
		return moved
	}
	return func() {
		n.say(step, key.To, set, "No command had moved the %s of %s on %s since %s.", number(keys, "deadline of the key", "deadlines of the keys"), l.Label, nodes, n.time(last))
	}
}

// rounded is a TTL without the fraction of a millisecond that a node has cut off.
func rounded(ttl time.Duration) string {
	return history.FormatDuration((ttl + facts.Rounding - 1).Truncate(time.Millisecond))
}

// unanswered returns the invocation of the extension by which event i set a deadline, if the extension has not succeeded, and what its
// client got in reply; -1 if it has, or if there is none.
func (n *narrator) unanswered(i int) (asked int, answer string) {
	asked = n.doing(n.event(i).By, i)
	if asked < 0 || n.event(asked).Op != history.Extend {
		return -1, ""
	}
	switch out := n.outcome(asked); {
	case out < 0 || n.event(out).Kind == history.Info:
		return asked, "no answer"
	case n.event(out).Kind == history.Fail:
		return asked, "only an error"
	}
	return -1, ""
}

// byExtension says that event i, which shortened the life of a key, belongs to an extension that has not succeeded, or else what the
// new TTL is.
func (n *narrator) byExtension(i int) (text string, events []int) {
	asked, answer := n.unanswered(i)
	if asked < 0 {
		if e := n.event(i); e.Op == history.Retime && e.Until > 0 && e.Until != history.NoEnd {
			text = ", to a TTL of " + rounded(e.Until-e.At-e.Wall)
		}
		return text, nil
	}
	end := n.outcome(asked)
	if n.event(i).Op == history.Delete && end >= 0 {
		return fmt.Sprintf(", in the extension by %s that had begun at %s, and failed at %s",
			history.FormatDuration(n.f.TTL(n.event(asked))), n.time(asked), n.time(end)), []int{asked, end}
	}
	return fmt.Sprintf(", in the extension by %s that had begun at %s; it got %s, and its lock kept the later end of the lease",
		history.FormatDuration(n.f.TTL(n.event(asked))), n.time(asked), answer), []int{asked, end}
}

// otherName tells of nodes that have the key of a lease under another name than those keys. It reports whether there are any.
func (n *narrator) otherName(l *facts.Lease, keys []facts.Life) bool {
	for _, k := range keys {
		for _, i := range n.f.LivesOf[l.Label] {
			if o := n.f.Lives[i]; o.Node == k.Node && o.Key != k.Key && o.From < k.From && k.From < o.To {
				n.say(step, k.From, []int{o.From}, "The key of %s on %s is %s, and that of %s is %s.", k.Label, k.Node, k.Key, l.Label, o.Key)
				return true
			}
		}
	}
	return false
}
