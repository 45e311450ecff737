package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// noLostUpdate finds the increments and the updates that were acknowledged but are not in the final value, because of a client
// that read the value before them and wrote after them, or that had no right to write any more. An increment that failed was
// skipped, which is not a loss; if its outcome is unknown, nothing was promised.
//
// Replacing a value is not a loss: a client that holds the lock, and writes without adding to the old value, may intend that. The
// same would have happened without concurrency.
//
// A separate version overwrites nothing, so a word in it is not lost, even if its lease was over and nobody reads it: a reader
// takes the version with the highest token, and the others can still be read. Whoever puts the token into the name of a file
// wants that.
func noLostUpdate(ix *index) []Violation {
	found := lostWords(ix)
	if v, lost := lostIncrements(ix); lost {
		found = append(found, v)
	}
	slices.SortStableFunc(found, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	return found
}

// A change is an operation that read a value and wrote another, as far as that is known: with the time of its request and its
// lease.
type change struct {
	client, lease   string
	invoked, event  int // the invocation, or -1; the change of the resource, or else the outcome
	read            int // the invocation of the operation that read the value, or -1
	at, sent        time.Duration
	acknowledgement int // the ok outcome, or -1
}

// A wordCount says what became of the words of updates.
type wordCount struct {
	now     map[string]bool   // the words in the value
	kept    map[string]bool   // words in separate versions
	written map[string]int    // the last event that added a word to the value
	removed map[string]int    // the last event that removed it
	acks    map[string]change // acknowledged updates, by word
	order   []string          // their words, in the order of the acknowledgements
}

func (ix *index) words() *wordCount {
	c := &wordCount{map[string]bool{}, map[string]bool{}, map[string]int{}, map[string]int{}, map[string]change{}, nil}
	for i, e := range ix.Events {
		switch {
		case e.Kind == history.State && e.Op == history.Keep:
			for w := range strings.FieldsSeq(e.Value + " " + e.Word) {
				c.kept[w] = true
			}
		case e.Kind == history.State && e.Op == history.Accept:
			next := map[string]bool{}
			for w := range strings.FieldsSeq(e.Value) {
				if next[w] = true; !c.now[w] {
					c.written[w] = i
				}
			}
			for w := range c.now {
				if !next[w] {
					c.removed[w] = i
				}
			}
			c.now = next
		case e.Kind == history.OK && e.Op == history.Update:
			if _, again := c.acks[e.Value]; !again {
				c.order = append(c.order, e.Value)
			}
			c.acks[e.Value] = ix.changeOf(i)
		}
	}
	return c
}

// lostWords finds the updates whose words are not in the final value.
func lostWords(ix *index) []Violation {
	var found []Violation
	c := ix.words()
	for _, w := range c.order {
		if c.now[w] || c.kept[w] {
			continue
		}
		u := c.acks[w]
		i, overwritten := c.removed[w]
		if !overwritten {
			found = append(found, Violation{
				Property:   NoLostUpdate,
				At:         u.at,
				What:       fmt.Sprintf("%s was told at %s that its update %s was done, but the resource never got it", u.client, history.Seconds(u.at), w),
				Assumption: None,
				Events:     proof(u.invoked, u.event),
			})
			continue
		}
		if j := c.written[w]; ix.Events[j].By == u.client {
			u.event, u.at, u.sent = j, ix.At(j), ix.Events[j].Departure()
		}
		e := ix.Events[i]
		over := change{client: e.By, lease: e.Lease, invoked: ix.writing(i), event: i, read: -1, at: e.At, sent: e.Departure(), acknowledgement: -1}
		what, read := e.Word, -1
		var rival *facts.Lease
		if what != "" { // it writes what it had read, and one word more, so it had read that before w was there
			begun := over.invoked
			if begun < 0 {
				begun = i
			}
			read = facts.Before(ix.Reads[over.client], begun)
			if in, ok := ix.Invocation[read]; ok {
				over.read = in
			}
		} else if what, rival = e.Value, ix.rival(over, u); rival == nil {
			continue
		}
		broken, because := blameLoss(ix, u, over, rival)
		if rival != nil {
			because = append(because, rival.GrantEvent, rival.ReturnEvent)
		}
		found = append(found, Violation{
			Property: NoLostUpdate,
			At:       e.At,
			What: fmt.Sprintf("the update %s of %s at %s is lost: %s overwrote it with %s at %s",
				w, u.client, history.Seconds(u.at), over.client, what, history.Seconds(e.At)),
			Assumption: broken,
			Events:     proof(append(because, u.event, u.acknowledgement, read, i)...),
		})
	}
	return found
}

// rival returns a lease because of which the client of w must not write any more: one that was granted after its own, or one that
// another client still held. It returns nil if there is none: then the client may replace the value. A client without a lease has
// to respect the lock of the other client's write, if there was one.
func (ix *index) rival(w, other change) *facts.Lease {
	own := ix.Lease(w.lease)
	if own == nil {
		own = ix.Lease(other.lease)
	} else if newer := ix.Successor[own.Label]; newer != nil && newer.GrantEvent < w.event {
		return newer
	}
	for i := range ix.Holds {
		l := &ix.Holds[i]
		if own != nil && l.Lock == own.Lock && l.Client != w.client && ix.Lease(l.Label).ReturnEvent < w.event && l.From <= w.at && w.at < l.To {
			return l
		}
	}
	return nil
}

// changeOf returns the operation with the ok outcome i.
func (ix *index) changeOf(i int) change {
	e := ix.Events[i]
	c := change{client: e.Process, lease: e.Lease, invoked: -1, event: i, read: -1, at: e.At, sent: e.At, acknowledgement: i}
	if in, ok := ix.Invocation[i]; ok {
		c.invoked = in
		if e.Op == history.Increment {
			c.read = in
		}
	}
	return c
}

// A counting describes what became of the increments of a counter.
type counting struct {
	asked, done, skipped, unknown int
	lost                          int // acknowledged increments that are not in the final value
	landed                        int // increments of unknown outcome that are
	base, final                   int64
	last                          int // the event that gave the counter its final value, or -1
	changes                       []change
	twice                         [2]int // the first two of changes that wrote the same number although the counter was not lost in between; -1 if there are none
	forgot                        int    // the last event by which the resource lost the counter, or -1
}

// count follows the counter. It begins with the value that was there before any client, or else with the value that the first
// client to write must have read.
//
// Redis reports nothing for a write that changes nothing, such as the second 11. So the numbers that clients wrote are taken from
// what they report. An increment is lost if two have written the same number, because each wrote one more than it had read.
func (ix *index) count() counting {
	c := counting{last: -1, twice: [2]int{-1, -1}, forgot: -1}
	known := false
	by := map[string][]int{}    // changes of the counter, by client
	doubt := map[string][]int{} // invocations of unknown outcome, by client
	claimed := map[int]bool{}   // changes by increments that were acknowledged
	var losses []int            // events by which the resource lost the counter
	for i, e := range ix.Events {
		switch {
		case e.Kind == history.State && e.Process == history.ResourceName && e.Key == history.CounterKey:
			if e.Op == history.Lose {
				losses, c.forgot = append(losses, i), i
			}
			n, told := counted(e)
			if !told {
				continue
			}
			switch {
			case known || e.Op == history.Set && e.By != "": // a missing counter is 0
			case e.By != "":
				c.base = n - 1
			default:
				c.base = n
			}
			known, c.final, c.last = true, n, i
			by[e.By] = append(by[e.By], i)
		case e.Op == history.Increment && e.Kind == history.Invoke:
			c.asked++
			if out, ok := ix.Outcome[i]; !ok || ix.Events[out].Kind == history.Info {
				doubt[e.Process] = append(doubt[e.Process], i)
			}
		case e.Op == history.Increment && e.Kind == history.Fail:
			c.skipped++
		case e.Op == history.Increment && e.Kind == history.OK:
			c.done++
			u := ix.changeOf(i)
			if j := facts.Before(by[u.client], i); j > u.invoked && ix.Events[j].Value == e.Value {
				u.event, u.at, u.sent = j, ix.At(j), ix.Events[j].Departure()
				claimed[j] = true
			}
			c.changes = append(c.changes, u)
		}
	}
	c.unknown = c.asked - c.done - c.skipped
	wrote := map[string]int{}
	for n, u := range c.changes {
		value := ix.Events[u.acknowledgement].Value
		if first, again := wrote[value]; again && c.twice[0] < 0 && facts.Before(losses, c.changes[first].event) == facts.Before(losses, u.event) {
			c.twice = [2]int{first, n}
		}
		wrote[value] = n
	}

	unheard := map[int]bool{} // changes by increments of unknown outcome: the client changed the counter without being told
	for client, changes := range by {
		for _, j := range changes {
			if in := doubt[client]; !claimed[j] && len(in) > 0 && in[0] < j {
				unheard[j], doubt[client] = true, in[1:]
			}
		}
	}
	c.survive(ix, claimed, unheard)
	return c
}

// counted returns the value of the counter after a change, and whether the event has it.
func counted(e history.Event) (n int64, told bool) {
	switch e.Op {
	case history.Set, history.Over, history.Retime:
		n, _ = strconv.ParseInt(e.Value, 10, 64)
	}
	return n, e.Op != history.Retime || e.Value != ""
}

// survive determines which increments are in the final value. Setting the counter to a number undoes those that had brought it
// higher, and of two that wrote the same number one counts. The others are lost. Only if an increment added more than one, the
// counter has lost fewer: the surplus makes up for others, though never for all.
func (c *counting) survive(ix *index, claimed, unheard map[int]bool) {
	type increment struct {
		number       int64
		acknowledged bool
	}
	var there []increment // by number, ascending
	add := func(n int64, acknowledged bool) {
		i, again := slices.BinarySearchFunc(there, n, func(x increment, n int64) int { return cmp.Compare(x.number, n) })
		if !again {
			there = slices.Insert(there, i, increment{number: n})
		}
		there[i].acknowledged = there[i].acknowledged || acknowledged
	}
	silent := map[int]bool{} // acknowledgements of increments that changed nothing
	for _, u := range c.changes {
		silent[u.acknowledgement] = !claimed[u.event]
	}
	for i, e := range ix.Events {
		switch {
		case e.Kind == history.State && e.Process == history.ResourceName && e.Key == history.CounterKey:
			n, told := counted(e)
			if !told {
				continue
			}
			there = slices.DeleteFunc(there, func(x increment) bool { return x.number > n })
			if claimed[i] || unheard[i] {
				add(n, claimed[i])
			}
		case silent[i]:
			n, _ := strconv.ParseInt(e.Value, 10, 64)
			if slices.ContainsFunc(there, func(x increment) bool { return x.number == n }) {
				add(n, true)
			}
		}
	}
	overwritten := c.done
	for _, x := range there {
		if x.acknowledged {
			overwritten--
		} else {
			c.landed++
		}
	}
	if overwritten > 0 {
		c.lost = max(1, min(overwritten, c.done+c.landed-int(c.final-c.base)))
	}
}

// lostIncrements compares the final value of the counter with the increments that were acknowledged.
func lostIncrements(ix *index) (Violation, bool) {
	c := ix.count()
	if c.lost == 0 {
		return Violation{}, false
	}
	v := Violation{
		Property: NoLostUpdate,
		At:       c.changes[len(c.changes)-1].at,
		What: fmt.Sprintf("%d of %d acknowledged increments are lost: the counter went from %d to %d",
			c.lost, c.done, c.base, c.final),
		Assumption: None,
		Events:     proof(c.changes[len(c.changes)-1].acknowledgement, c.last),
	}
	if c.landed > 0 {
		v.What += fmt.Sprintf(", of which %d was never acknowledged", c.landed)
	}
	if c.twice[0] < 0 {
		if c.forgot >= 0 {
			v.Assumption, v.Events = DurableNodes, proof(append(v.Events, c.forgot)...)
		}
		return v, true
	}
	a, b := c.changes[c.twice[0]], c.changes[c.twice[1]]
	if b.event < a.event {
		a, b = b, a
	}
	value := ix.Events[b.acknowledgement].Value
	v.At = b.at
	switch {
	case a.client == b.client:
		v.What += fmt.Sprintf("; %s wrote %s twice, at %s and at %s", a.client, value, history.Seconds(a.at), history.Seconds(b.at))
	case b.event == b.acknowledgement: // a write that changes nothing has no event of its own
		v.What += fmt.Sprintf("; %s wrote %s at %s, and %s was told at %s that it had, too", a.client, value, history.Seconds(a.at), b.client, history.Seconds(b.at))
	default:
		v.What += fmt.Sprintf("; %s wrote %s at %s, and so did %s at %s", a.client, value, history.Seconds(a.at), b.client, history.Seconds(b.at))
	}
	var because []int
	v.Assumption, because = blameLoss(ix, a, b, nil)
	v.Events = proof(append(because, a.invoked, a.event, a.acknowledgement, b.invoked, b.event, b.acknowledgement, c.last)...)
	return v, true
}

// blameLoss says why one change could overwrite another: it had not seen it, or a rival meant that it must not write any more.
// Without leases nothing prevented that. With two leases, it is usually the older one that acted too late. If the newer one used
// what it had read before it had the lock, it is not: then the older one could have been as early as it liked.
func blameLoss(ix *index, lost, over change, rival *facts.Lease) (Assumption, []int) {
	a, b := ix.HoldAt(lost.lease, lost.sent), ix.HoldAt(over.lease, over.sent)
	switch {
	case b == nil:
		return None, nil
	case rival != nil && b.GrantEvent < rival.GrantEvent:
		after := rival.Granted
		if lost.lease == rival.Label {
			after = max(after, lost.at)
		}
		return blameLate(ix, over.at, over.sent, b, rival, after, func(kept []Assumption) bool { return ix.replaced(lost, over, b, rival, kept) })
	case rival != nil:
		return blame(ix, rival, b)
	case a == nil || a.Label == b.Label:
		return None, nil
	case b.GrantEvent < a.GrantEvent:
		return blameLate(ix, over.at, over.sent, b, a, max(a.Granted, lost.at), nil)
	case lost.event < b.GrantEvent || over.read < b.GrantEvent:
		return None, nil
	}
	return blameLate(ix, lost.at, lost.sent, a, b, max(b.Granted, ix.At(over.read)), nil)
}
