package checker

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/sim"
)

// tellStandstill tells what kept everybody from the lock: nodes that were away, and keys that stood in the way.
func (n *narrator) tellStandstill() {
	var askers []string
	for _, i := range n.v.Events {
		if e := n.event(i); e.Op == sim.Acquire && e.Kind != sim.State && !slices.Contains(askers, e.Process) {
			askers = append(askers, e.Process)
		}
	}
	from := n.v.Events[0]
	to := n.before(len(n.h.Events), func(e sim.Event) bool { return e.At <= n.v.At })
	if to < from {
		to = len(n.h.Events) - 1
	}
	for i := range to {
		if n.nodes([]string{n.event(i).Process}) > 0 && (n.stands(i, from) || i > from && n.stands(i, to)) {
			n.fault(step, i)
		}
	}
	for _, asker := range askers {
		for _, node := range n.h.Meta.Nodes {
			n.fault(background, n.linkFault(asker, node, from))
		}
	}
	n.obstacles(from, to)
	for _, asker := range askers {
		n.refused(asker, from, to)
	}
}

// obstacles tells of the keys that lived on from event from to event to, and why nobody removed them.
func (n *narrator) obstacles(from, to int) {
	var labels []string
	for _, k := range n.keys {
		if n.nodes([]string{k.process}) > 0 && k.from < from && k.to > to && !slices.Contains(labels, k.label) {
			labels = append(labels, k.label)
		}
	}
	for _, label := range labels[:min(len(labels), 2)] {
		var keys []tenure
		for _, k := range n.keys {
			if k.label == label && k.from < from && k.to > to && n.nodes([]string{k.process}) > 0 {
				keys = append(keys, k)
			}
		}
		client := clientOf(label)
		where := strings.Join(processes(keys), " ")
		if l := n.lease(label); l != nil {
			n.grant(l, "")
		} else {
			n.say(step, keys[0].from, beginnings(keys), "%s of %s %s set on %s %s, but %s never had the lease.",
				number(keys, "The key", "The keys"), label, number(keys, "was", "were"), where, n.when(beginnings(keys)), client)
		}
		gone := n.after(keys[0].from, func(e sim.Event) bool {
			return e.Process == client && (e.Kind == sim.Injected && e.Op == "crash" || e.Kind == sim.Info && e.Op == sim.Exit)
		})
		released := n.after(keys[0].from, func(e sim.Event) bool {
			return e.Process == client && e.Op == sim.Release && e.Lease == label && e.Kind == sim.Invoke
		})
		switch {
		case released >= 0 && (gone < 0 || released < gone):
			n.say(step, released, nil, "%s released %s at %s, but the key did not go.", client, label, n.time(released))
		case gone >= 0 && n.event(gone).Op == "crash":
			n.tellOnce(gone)
			n.say(step, gone, beginnings(keys), "%s crashed at %s, and never released %s.", client, n.time(gone), label)
		case gone >= 0:
			n.say(step, gone, beginnings(keys), "%s was gone at %s, and never released %s.", client, n.time(gone), label)
		}
		last := n.before(to+1, func(e sim.Event) bool {
			return e.Kind == sim.State && e.Op == sim.Retime && e.Owner == label
		})
		switch {
		case last > keys[0].from:
			n.say(step, last, nil, "The key of %s on %s was given more time again and again, at last at %s.", label, n.event(last).Process, n.time(last))
		case n.event(keys[0].from).Until == sim.NoEnd:
			n.say(step, from, beginnings(keys), "The key of %s on %s had no end, and nobody else could delete it.", label, where)
		}
	}
	if len(labels) == 0 {
		n.split(from, to)
	}
}

// split tells how several clients kept each other from a majority: what each had where when the last was refused.
func (n *narrator) split(from, to int) {
	for i := to; i > from; i-- {
		if e := n.event(i); e.Kind != sim.State || e.Op != sim.Set || !slices.Contains(n.h.Meta.Nodes, e.Process) {
			continue
		}
		var texts []string
		var events []int
		var labels []string
		for _, k := range n.keys {
			if k.from > i || k.to <= i || slices.Contains(labels, k.label) || !slices.Contains(n.h.Meta.Nodes, k.process) {
				continue
			}
			labels = append(labels, k.label)
			var same []tenure
			for _, o := range n.keys {
				if o.label == k.label && o.from <= i && o.to > i && slices.Contains(n.h.Meta.Nodes, o.process) {
					same = append(same, o)
				}
			}
			if len(processes(same)) >= n.h.Meta.Quorum() {
				return
			}
			texts = append(texts, fmt.Sprintf("%s had %s", k.label, strings.Join(processes(same), " ")))
			events = append(events, beginnings(same)...)
		}
		if len(labels) > 1 {
			n.say(step, i, events, "Nobody had a majority: at %s %s.", n.time(i), list(texts))
			return
		}
	}
}

// refused tells for how long a client asked for the lock, and what it got.
func (n *narrator) refused(client string, from, to int) {
	asks := func(e sim.Event) bool { return e.Process == client && e.Op == sim.Acquire && e.Kind == sim.Invoke }
	first := n.after(from-1, asks)
	if first < 0 || first > to {
		first = n.before(from, asks)
	}
	got := n.after(first, func(e sim.Event) bool { return e.Process == client && e.Op == sim.Acquire && e.Kind == sim.OK })
	var fails []int
	for i := first; i >= 0 && i < len(n.h.Events) && (got < 0 || i < got); i++ {
		if e := n.event(i); e.Process == client && e.Op == sim.Acquire && (e.Kind == sim.Fail || e.Kind == sim.Info) {
			fails = append(fails, i)
		}
	}
	text := fmt.Sprintf("%s asked for the lock at %s", client, n.time(first))
	var events []int
	switch len(fails) {
	case 0:
	case 1:
		text, events = text+", was refused at "+n.time(fails[0]), fails
	default:
		events = []int{fails[0], fails[len(fails)-1]}
		text += fmt.Sprintf(", was refused %d times, the last time at %s", len(fails), n.time(fails[len(fails)-1]))
	}
	if got >= 0 {
		text, events = text+fmt.Sprintf(", and got %s only at %s", n.event(got).Lease, n.time(got)), append(events, got)
	} else {
		text += ", and never got it"
	}
	n.say(step, first, events, "%s.", text)
}

// tellLostUpdate tells how something that was written on top of what had been read came to be overwritten.
func (n *narrator) tellLostUpdate() {
	for _, i := range n.v.Events {
		if e := n.event(i); e.Kind == sim.State && e.Op == sim.Accept && e.Word != "" && n.lostWord(i) {
			return
		}
	}
	for i, e := range n.h.Events {
		if slices.Contains(n.v.Events, i) && e.Kind == sim.OK && e.Op == sim.Update {
			if j := n.before(i, func(o sim.Event) bool {
				return o.Kind == sim.State && o.Op == sim.Accept && o.Word == e.Value && o.By == e.Process
			}); j >= 0 && n.lostWord(j) {
				return
			}
		}
	}
	n.lostNumber()
}

// lostWord tells how the word that the resource accepted by event i was lost, if it was.
func (n *narrator) lostWord(i int) bool {
	e := n.event(i)
	over := n.after(i, func(o sim.Event) bool {
		return o.Kind == sim.State && o.Op == sim.Accept && o.Process == e.Process && !slices.Contains(strings.Fields(o.Value), e.Word)
	})
	if over < 0 {
		return false
	}
	o := n.event(over)
	n.circumstances(e.Lease, o.Lease, o.By, i, over)
	n.say(step, i, nil, "%s added %s, and the value was `%s` at %s.", e.By, e.Word, e.Value, n.time(i))
	read := n.before(over, func(r sim.Event) bool {
		return r.Process == o.By && r.Op == sim.Read && r.Kind == sim.OK && r.At <= departure(o)
	})
	if read >= 0 {
		what := "nothing"
		if value := n.event(read).Value; value != "" {
			what = "`" + value + "`"
		}
		n.say(step, read, nil, "%s had read %s at %s.", o.By, what, n.time(read))
	}
	n.say(step, over, nil, "%s wrote `%s` at %s, without %s: the update was lost.", o.By, o.Value, n.time(over), e.Word)
	return true
}

// circumstances tells of the leases under which two clients changed one thing, and of the pause of the later one.
func (n *narrator) circumstances(earlier, later, client string, i, over int) {
	a, b := n.lease(later), n.lease(earlier) // the later write mostly comes under the older lease
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
	writers := map[string]int{} // by number, the first increment that wrote it
	for i, e := range n.h.Events {
		if e.Kind != sim.OK || e.Op != sim.Increment {
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
		begun := n.invoked(i)
		n.circumstances(o.Lease, e.Lease, e.Process, stored, over)
		n.say(step, stored, []int{j}, "%s wrote %s at %s.", o.Process, o.Value, n.time(stored))
		switch {
		case o.Process == e.Process:
			n.say(step, over, []int{i}, "%s wrote %s once more, at %s: one of the two was lost.", e.Process, e.Value, n.time(over))
		case begun < stored:
			n.say(step, begun, nil, "%s began to increment the number at %s.", e.Process, n.time(begun))
			n.say(step, over, []int{i, begun}, "%s wrote %s as well, at %s: it had read the number before, and one of the two was lost.",
				e.Process, e.Value, n.time(over))
		default:
			n.say(step, over, []int{i}, "%s wrote %s as well, at %s: one of the two was lost.", e.Process, e.Value, n.time(over))
		}
		break
	}
	if gone := n.culprit(func(e sim.Event) bool { return e.Kind == sim.State && e.Op == sim.Lose }); gone >= 0 {
		n.say(step, gone, nil, "%s lost the number at %s.", n.event(gone).Process, n.time(gone))
	}
	if len(n.story) == 0 {
		return
	}
	last := n.before(len(n.h.Events), func(e sim.Event) bool {
		return e.Kind == sim.State && (e.Op == sim.Set || e.Op == sim.Over) && e.Value != "" && e.Lease == "" && e.Process == "resource"
	})
	kind := map[sim.Kind]int{}
	for _, e := range n.h.Events {
		if e.Op == sim.Increment {
			kind[e.Kind]++
		}
	}
	end := n.before(len(n.h.Events), func(e sim.Event) bool { return e.Op == sim.Increment && e.Kind == sim.OK })
	if last >= 0 {
		n.say(step, max(last, end), []int{last}, "In the end the number was %s, after %d increments that were asked for and %d that were done.",
			n.event(last).Value, kind[sim.Invoke], kind[sim.OK])
	}
}

// stored returns the change of the store by which increment i, an outcome, wrote its number; the outcome if none was seen, as
// where the number was that already.
func (n *narrator) stored(i int) int {
	e, begun := n.event(i), n.invoked(i)
	j := n.before(i, func(o sim.Event) bool {
		return o.Kind == sim.State && (o.Op == sim.Set || o.Op == sim.Over) && o.By == e.Process && o.Lease == "" && o.Value == e.Value
	})
	if j < begun {
		return i
	}
	return j
}
