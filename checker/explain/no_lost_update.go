package explain

import (
	"slices"
	"strings"

	"lockstep/sim/history"
)

// tellLostUpdate tells how an update that was based on a value read before came to be overwritten.
func (n *narrator) tellLostUpdate() {
	for _, i := range n.v.Events {
		if e := n.event(i); e.Op == history.Update {
			if j := n.before(i, func(o history.Event) bool {
				return o.Op == history.Accept && o.Word == e.Value && o.By == e.Process
			}); j >= 0 && n.lostWord(j) {
				return
			}
		}
	}
	n.lostNumber()
}

// lostWord tells how the word that the resource accepted by event i was lost. It reports whether it was.
func (n *narrator) lostWord(i int) bool {
	e := n.event(i)
	without := func(o history.Event) bool {
		return o.Op == history.Accept && o.Process == e.Process && !slices.Contains(strings.Fields(o.Value), e.Word)
	}
	over := n.culprit(without) // a word that was replaced earlier and came back was not lost then
	if over < i {
		over = n.after(i, without)
	}
	if over < 0 {
		return false
	}
	o := n.event(over)
	n.circumstances(e.Lease, o.Lease, o.By, i, over)
	for _, l := range n.accused() {
		if l.Label != e.Lease && l.Label != o.Lease {
			n.grant(l, "") // during which nobody else may write
		}
	}
	n.say(step, i, nil, "%s added %s, and the value was `%s` at %s.", e.By, e.Word, e.Value, n.time(i))
	read := n.before(over, func(r history.Event) bool {
		return r.Process == o.By && r.Op == history.Read && r.Kind == history.OK && r.At <= o.Departure()
	})
	switch value := n.event(read).Value; {
	case read < 0 || o.Word == "": // a plain write does not depend on what was read
	case value == "":
		n.say(step, read, nil, "%s had read the value at %s, when it was empty.", o.By, n.time(read))
	default:
		n.say(step, read, nil, "%s had read `%s` at %s.", o.By, value, n.time(read))
	}
	n.say(step, over, nil, "%s wrote `%s` at %s, without %s: the update was lost.", o.By, o.Value, n.time(over), e.Word)
	return true
}

// circumstances tells of the leases under which two clients changed the same thing, and of pauses of the later one.
func (n *narrator) circumstances(earlier, later, client string, i, over int) {
	a, b := n.f.Lease(later), n.f.Lease(earlier) // the later write usually comes under the older lease
	if a != nil && b != nil && a != b {
		if b.GrantEvent < a.GrantEvent {
			a, b = b, a
		}
		n.grant(a, "")
		n.pauses(client, a.ReturnEvent, over)
		n.grant(b, n.successions(a, b))
		return
	}
	n.grant(a, "")
	n.pauses(client, max(0, n.doing(client, i)), over)
}

// lostNumber tells of two increments that wrote the same number.
func (n *narrator) lostNumber() {
	forgets := func(e history.Event) bool {
		return e.Op == history.Lose && e.Process == history.ResourceName
	}
	writers := map[string]int{} // by number, the first increment that wrote it
	for i, e := range n.f.Events {
		if e.Kind != history.OK || e.Op != history.Increment {
			continue
		}
		j, again := writers[e.Value]
		if !again {
			writers[e.Value] = i
			continue
		}
		o := n.event(j)
		stored, over := n.stored(j), n.stored(i)
		if over < stored {
			i, j, e, o, stored, over = j, i, o, e, over, stored
		}
		if gone := n.after(stored, forgets); gone >= 0 && gone < over {
			writers[e.Value] = i // the first was lost before the second wrote
			continue
		}
		begun := event(n.f.Invocation, i)
		n.circumstances(o.Lease, e.Lease, e.Process, stored, over)
		n.say(step, stored, []int{j}, "%s wrote %s at %s.", o.Process, o.Value, n.time(stored))
		n.overwrote(i, over, begun, stored)
		break
	}
	if gone := n.culprit(forgets); gone >= 0 {
		n.lost("the number", n.event(gone).Process, 0, gone)
	}
	if len(n.story) == 0 {
		return
	}
	last := n.before(len(n.f.Events), func(e history.Event) bool {
		return (e.Op == history.Set || e.Op == history.Over) && e.Value != "" && e.Lease == "" && e.Process == history.ResourceName
	})
	if last < 0 {
		return
	}
	done := 0
	for _, e := range n.f.Events {
		if e.Op == history.Increment && e.Kind == history.OK {
			done++
		}
	}
	end := n.before(len(n.f.Events), func(e history.Event) bool { return e.Op == history.Increment && e.Kind == history.OK })
	lost, _, counted := strings.Cut(n.v.What, " acknowledged increments are lost")
	if !counted {
		n.say(step, max(last, end), []int{last}, "In the end the number was %s, after %d increments that were acknowledged.", n.event(last).Value, done)
		return
	}
	are := "are"
	if strings.HasPrefix(lost, "1 of ") {
		are = "is"
	}
	n.say(step, max(last, end), []int{last}, "In the end the number was %s: %s acknowledged increments %s lost.", n.event(last).Value, lost, are)
}

// overwrote tells how increment i, an outcome, wrote by event over what another had written by event stored.
func (n *narrator) overwrote(i, over, begun, stored int) {
	e := n.event(i)
	again := "as well"
	if n.event(stored).By == e.Process || n.event(stored).Process == e.Process {
		again = "once more"
	}
	read := n.before(over, func(o history.Event) bool {
		return o.Op == history.Deliver && o.Process == history.ResourceName && o.By == e.Process && o.Value == "GET "+history.CounterKey
	})
	switch blind := strings.Contains(n.event(over).Value, "MULTI; GET "+history.CounterKey+"; SET "); {
	case blind && stored < over:
		n.say(step, over, []int{i}, "%s wrote %s %s at %s, when the number was %s already: it sent its GET together with its SET, and chose what to write before it had read anything.",
			e.Process, e.Value, again, n.time(over), e.Value)
		n.unlocked(over, ", and what they wrote did not depend on what was there")
	case read > begun && read < stored:
		n.say(step, read, []int{begun}, "%s began to increment the number at %s, and read it at %s.", e.Process, n.time(begun), n.time(read))
		n.say(step, over, []int{i, read}, "%s wrote %s %s, at %s: it had read the number before, and one of the two was lost.", e.Process, e.Value, again, n.time(over))
		n.unlocked(read, ", and each wrote one more than it had read")
	case begun >= 0 && begun < stored && again == "as well":
		n.say(step, begun, nil, "%s began to increment the number at %s.", e.Process, n.time(begun))
		n.say(step, over, []int{i, begun}, "%s wrote %s as well, at %s: it had read the number before, and one of the two was lost.", e.Process, e.Value, n.time(over))
	default:
		n.say(step, over, []int{i}, "%s wrote %s %s, at %s: one of the two was lost.", e.Process, e.Value, again, n.time(over))
	}
}

// unlocked makes the last sentence say that there was no lock, if there was none, and what followed from that.
func (n *narrator) unlocked(i int, what string) {
	if n.lockless() {
		n.blame = Sentence{"No assumption was broken. There was no lock: nothing kept the clients apart" + what + ".", []int{i}}
	}
}

// stored returns the event by which increment i, an outcome, wrote its number: the change of the counter, or the command if the
// counter had that number already. If the history has neither, stored returns i.
func (n *narrator) stored(i int) int {
	e, begun := n.event(i), event(n.f.Invocation, i)
	j := n.before(i, func(o history.Event) bool {
		return (o.Op == history.Set || o.Op == history.Over) && o.By == e.Process && o.Lease == "" && o.Value == e.Value
	})
	if j > begun {
		return j
	}
	j = n.before(i, func(o history.Event) bool {
		return o.Op == history.Deliver && o.Process == history.ResourceName && o.By == e.Process &&
			strings.Contains(o.Value+";", "SET "+history.CounterKey+" "+e.Value+";")
	})
	if j > begun {
		return j
	}
	return i
}
