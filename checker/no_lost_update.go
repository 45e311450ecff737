package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/sim/history"
)

// noLostUpdate finds the increments and the updates that were acknowledged, and are not in the final value, because of
// somebody who read the value before them and wrote after them, or who had no right to write any more. One that failed was
// skipped, which is no loss; of one whose outcome is unknown nobody was promised anything.
//
// To replace a value is no loss: whoever holds the lock, and writes without adding to what was there, may mean to. Had the
// clients come one after the other, the same would have happened.
//
// A version that is kept beside the others overwrites nothing, so a word in it is not lost, even if its lease was over and
// nobody reads it: a reader takes the version with the highest token, and the others are there for whoever asks for them. That
// is what somebody wants who puts the token into the name of a file.
func noLostUpdate(ix *index) []Violation {
	found := lostWords(ix)
	if v, lost := lostIncrements(ix); lost {
		found = append(found, v)
	}
	slices.SortStableFunc(found, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	return found
}

// A change is an operation that read a value and wrote another, as far as it is known: when its request left, and under
// which lease.
type change struct {
	client, lease   string
	invoked, event  int // the invocation, or -1; the change of the resource, or else the outcome
	read            int // the invocation of what told it the value, or -1
	at, sent        time.Duration
	acknowledgement int // the ok, or -1
}

// lostWords finds the updates whose words are not in the final value.
func lostWords(ix *index) []Violation {
	var (
		now     = map[string]bool{}   // the words in the value
		kept    = map[string]bool{}   // those in versions of their own
		written = map[string]int{}    // the last event that brought a word into the value
		removed = map[string]int{}    // the last event that left it out
		acks    = map[string]change{} // acknowledged updates, by word
		order   []string
	)
	for i, e := range ix.Events {
		switch {
		case e.Kind == history.State && e.Op == history.Keep:
			for w := range strings.FieldsSeq(e.Value + " " + e.Word) {
				kept[w] = true
			}
		case e.Kind == history.State && e.Op == history.Accept:
			next := map[string]bool{}
			for w := range strings.FieldsSeq(e.Value) {
				if next[w] = true; !now[w] {
					written[w] = i
				}
			}
			for w := range now {
				if !next[w] {
					removed[w] = i
				}
			}
			now = next
		case e.Kind == history.OK && e.Op == history.Update:
			if _, again := acks[e.Value]; !again {
				order = append(order, e.Value)
			}
			acks[e.Value] = ix.changeOf(i)
		}
	}
	var found []Violation
	for _, w := range order {
		if now[w] || kept[w] {
			continue
		}
		u := acks[w]
		i, overwritten := removed[w]
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
		if j := written[w]; ix.Events[j].By == u.client {
			u.event, u.at, u.sent = j, ix.at(j), ix.Events[j].Departure()
		}
		e := ix.Events[i]
		over := change{client: e.By, lease: e.Lease, invoked: ix.writing(i), event: i, read: -1, at: e.At, sent: e.Departure(), acknowledgement: -1}
		what, read := e.Word, -1
		var rival *Lease
		if what != "" { // it writes what it had read, and one word more: so it had read that before w was there
			begun := over.invoked
			if begun < 0 {
				begun = i
			}
			read = last(ix.reads[over.client], begun)
			if in, ok := ix.invocation[read]; ok {
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

// rival returns a lease for which a client must not write any more: one that was granted after its own, or one that another
// client still held. Nil if there is none: then it may replace what was there. A client without a lease has to respect the
// lock that the other client wrote under, if there was one.
func (ix *index) rival(w, other change) *Lease {
	own := ix.lease(w.lease)
	if own == nil {
		own = ix.lease(other.lease)
	} else if newer := ix.successor[own.Label]; newer != nil && newer.GrantEvent < w.event {
		return newer
	}
	for i := range ix.holds {
		l := &ix.holds[i]
		if own != nil && l.Lock == own.Lock && l.Client != w.client && ix.lease(l.Label).ReturnEvent < w.event && l.From <= w.at && w.at < l.To {
			return l
		}
	}
	return nil
}

// changeOf describes the operation of which event i is the ok.
func (ix *index) changeOf(i int) change {
	e := ix.Events[i]
	c := change{client: e.Process, lease: e.Lease, invoked: -1, event: i, read: -1, at: e.At, sent: e.At, acknowledgement: i}
	if in, ok := ix.invocation[i]; ok {
		c.invoked = in
		if e.Op == history.Increment {
			c.read = in
		}
	}
	return c
}

// A counting is what became of the increments of the counter of a run.
type counting struct {
	asked, done, skipped, unknown int
	lost                          int // of those that were acknowledged, the ones that are not in the final value
	landed                        int // of those of unknown outcome, the ones that are
	base, final                   int64
	last                          int // the event that gave the counter its final value, or -1
	changes                       []change
	twice                         [2]int // where in changes two wrote the same number though the counter was not lost meanwhile, the first such; -1 if none did
	forgot                        int    // the event by which the resource lost the counter at last, or -1
}

// count follows the counter. It begins with what was there before any client came, or else with what the first client to
// write must have read.
//
// Redis says nothing of a write that changes nothing, such as the second 11: so the numbers that clients wrote are taken from
// what they say. An increment is lost where two have written the same number, for each wrote what it had read and one more.
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
			case known || e.Op == history.Set && e.By != "": // a counter that is not there counts from 0
			case e.By != "":
				c.base = n - 1
			default:
				c.base = n
			}
			known, c.final, c.last = true, n, i
			by[e.By] = append(by[e.By], i)
		case e.Op == history.Increment && e.Kind == history.Invoke:
			c.asked++
			if out, ok := ix.outcome[i]; !ok || ix.Events[out].Kind == history.Info {
				doubt[e.Process] = append(doubt[e.Process], i)
			}
		case e.Op == history.Increment && e.Kind == history.Fail:
			c.skipped++
		case e.Op == history.Increment && e.Kind == history.OK:
			c.done++
			u := ix.changeOf(i)
			if j := last(by[u.client], i); j > u.invoked && ix.Events[j].Value == e.Value {
				u.event, u.at, u.sent = j, ix.at(j), ix.Events[j].Departure()
				claimed[j] = true
			}
			c.changes = append(c.changes, u)
		}
	}
	c.unknown = c.asked - c.done - c.skipped
	wrote := map[string]int{}
	for n, u := range c.changes {
		value := ix.Events[u.acknowledgement].Value
		if first, again := wrote[value]; again && c.twice[0] < 0 && last(losses, c.changes[first].event) == last(losses, u.event) {
			c.twice = [2]int{first, n}
		}
		wrote[value] = n
	}

	unheard := map[int]bool{} // changes by increments of unknown outcome: what a client changed, and was not told of
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

// counted returns what the counter is after a change of it, and whether the change says so.
func counted(e history.Event) (n int64, told bool) {
	switch e.Op {
	case history.Set, history.Over, history.Retime:
		n, _ = strconv.ParseInt(e.Value, 10, 64)
	}
	return n, e.Op != history.Retime || e.Value != ""
}

// survive says which increments are in the final value: whoever sets the counter to a number undoes those that had brought
// it higher, and of two that wrote the same number there is one. Those that are not are what the counter lacks. Only where one
// increment added more than one does the counter lack fewer: that one makes up for others, though never for all.
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
	case b.event == b.acknowledgement: // what changes nothing has no event of its own
		v.What += fmt.Sprintf("; %s wrote %s at %s, and %s was told at %s that it had, too", a.client, value, history.Seconds(a.at), b.client, history.Seconds(b.at))
	default:
		v.What += fmt.Sprintf("; %s wrote %s at %s, and so did %s at %s", a.client, value, history.Seconds(a.at), b.client, history.Seconds(b.at))
	}
	var because []int
	v.Assumption, because = blameLoss(ix, a, b, nil)
	v.Events = proof(append(because, a.invoked, a.event, a.acknowledgement, b.invoked, b.event, b.acknowledgement, c.last)...)
	return v, true
}

// blameLoss says why one change could overwrite another: one that it had not seen, or one that it must not touch any more
// because of a rival. Without leases nobody promised that it could not. Under two leases, it is mostly the older one that did
// something after its time; but not if the newer one went by what it had read before it had the lock, for then the older one
// could have been as early as it liked.
func blameLoss(ix *index, lost, over change, rival *Lease) (Assumption, []int) {
	a, b := ix.holdAt(lost.lease, lost.sent), ix.holdAt(over.lease, over.sent)
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
	return blameLate(ix, lost.at, lost.sent, a, b, max(b.Granted, ix.at(over.read)), nil)
}
