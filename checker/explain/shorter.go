package explain

import (
	"fmt"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// shorter tells of keys that expired in their time, but before the lease was to end: their client had asked for less, by an extension
// that was not answered or by another command.
func (n *narrator) shorter(l *facts.Lease, expired []facts.Life) {
	if l = n.f.Lease(l.Label); n.v.Assumption != checker.None || l.Renews { // the first hold, before any late extension
		return
	}
	var keys []facts.Life
	last := -1
	for _, k := range expired {
		believed := n.event(n.validity(l, k.To)).Until
		end := facts.When(n.f.Clocks[l.Client], believed)
		if believed != history.NoEnd && k.Due() < end-facts.Rounding && n.event(k.Set).By == l.Client {
			keys, last = append(keys, k), max(last, k.Set)
		}
	}
	if last < 0 {
		return
	}
	nodes := strings.Join(processes(keys), " ")
	if asked, answer := n.unanswered(last); asked >= 0 {
		n.say(step, asked, []int{last, n.outcome(asked)}, "%s asked at %s for %s to end %s later, and got %s, but %s carried it out.",
			l.Client, n.time(asked), l.Label, history.FormatDuration(n.f.TTL(n.event(asked))), answer, nodes)
		return
	}
	given := n.f.LifeAt(n.event(last).Process, n.event(last).Key, last+1).Promise
	n.say(step, last, []int{n.validity(l, last)}, "By %s %s had given the %s of %s on %s a TTL of %s: less than is left of the lease.",
		n.time(last), l.Client, number(keys, "key", "keys"), l.Label, nodes, history.FormatDuration(given.Round(time.Millisecond)))
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

// byExtension says that event i, which shortened the life of a key, belongs to an extension that has not succeeded.
func (n *narrator) byExtension(i int) (text string, events []int) {
	asked, answer := n.unanswered(i)
	if asked < 0 {
		return "", nil
	}
	return fmt.Sprintf(", in the extension by %s that had begun at %s; it got %s, and its lock kept the later end of the lease",
		history.FormatDuration(n.f.TTL(n.event(asked))), n.time(asked), answer), []int{asked, n.outcome(asked)}
}
