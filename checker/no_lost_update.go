package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/sim"
)

// noLostUpdate finds the increments and the updates that were acknowledged, and are not in the final value: somebody read the
// value before them and wrote after them. One that failed was skipped, which is no loss; of one whose outcome is unknown
// nobody was promised anything.
//
// A version that is kept beside the others overwrites nothing, so a word in it is not lost.
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
		case e.Kind == sim.State && e.Op == sim.Keep:
			for w := range strings.FieldsSeq(e.Value + " " + e.Word) {
				kept[w] = true
			}
		case e.Kind == sim.State && e.Op == sim.Accept:
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
		case e.Kind == sim.OK && e.Op == sim.Update:
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
				What:       fmt.Sprintf("%s was told at %s that its update %s was done, and the resource never got it", u.client, seconds(u.at), w),
				Assumption: None,
				Events:     proof(u.invoked, u.event),
			})
			continue
		}
		if j := written[w]; ix.Events[j].By == u.client {
			u.event, u.at, u.sent = j, ix.at(j), departure(ix.Events[j])
		}
		e := ix.Events[i]
		over := change{client: e.By, lease: e.Lease, invoked: ix.writing(i), event: i, at: e.At, sent: departure(e), acknowledgement: -1}
		what := e.Word
		if what == "" {
			what = e.Value
		}
		broken, because := blameLoss(ix, u, over)
		found = append(found, Violation{
			Property: NoLostUpdate,
			At:       e.At,
			What: fmt.Sprintf("the update %s of %s at %s is lost: %s overwrote it with %s at %s",
				w, u.client, seconds(u.at), over.client, what, seconds(e.At)),
			Assumption: broken,
			Events:     proof(append(because, u.event, u.acknowledgement, last(ix.reads[over.client], over.event), i)...),
		})
	}
	return found
}

// changeOf describes the operation of which event i is the ok.
func (ix *index) changeOf(i int) change {
	e := ix.Events[i]
	c := change{client: e.Process, lease: e.Lease, invoked: -1, event: i, at: e.At, sent: e.At, acknowledgement: i}
	if in, ok := ix.invocation[i]; ok {
		c.invoked = in
	}
	return c
}

// A counting is what became of the increments of the counter of a run.
type counting struct {
	asked, done, skipped, unknown int
	base, final                   int64
	last                          int // the event that gave the counter its final value, or -1
	changes                       []change
	twice                         [2]int // where in changes two wrote the same number, the first such; -1 if none did
}

// lost returns how many of the increments that were acknowledged are not in the final value, at least: one of unknown
// outcome may have taken the place of one that is lost.
func (c counting) lost() int { return max(0, c.done-int(c.final-c.base)) }

// count follows the counter. It begins with what was there before any client came, or else with what the first client to
// write must have read.
//
// Redis says nothing of a write that changes nothing, such as the second 11: so the numbers that clients wrote are taken from
// what they say. An increment is lost where two have written the same number, for each wrote what it had read and one more.
func (ix *index) count() counting {
	c := counting{last: -1, twice: [2]int{-1, -1}}
	known := false
	by := map[string][]int{} // changes of the counter, by client
	for i, e := range ix.Events {
		switch {
		case e.Kind == sim.State && e.Process == resourceName && e.Key == counterKey:
			var n int64
			switch e.Op {
			case sim.Set, sim.Over, sim.Retime:
				n, _ = strconv.ParseInt(e.Value, 10, 64)
			}
			if e.Op == sim.Retime && e.Value == "" {
				continue
			}
			switch {
			case known || e.Op == sim.Set && e.By != "": // a counter that is not there counts from 0
			case e.By != "":
				c.base = n - 1
			default:
				c.base = n
			}
			known, c.final, c.last = true, n, i
			by[e.By] = append(by[e.By], i)
		case e.Op == sim.Increment && e.Kind == sim.Invoke:
			c.asked++
		case e.Op == sim.Increment && e.Kind == sim.Fail:
			c.skipped++
		case e.Op == sim.Increment && e.Kind == sim.OK:
			c.done++
			u := ix.changeOf(i)
			if j := last(by[u.client], i); j > u.invoked && ix.Events[j].Value == e.Value {
				u.event, u.at, u.sent = j, ix.at(j), departure(ix.Events[j])
			}
			c.changes = append(c.changes, u)
		}
	}
	c.unknown = c.asked - c.done - c.skipped
	wrote := map[string]int{}
	for n, u := range c.changes {
		value := ix.Events[u.acknowledgement].Value
		if first, again := wrote[value]; again && c.twice[0] < 0 {
			c.twice = [2]int{first, n}
		}
		wrote[value] = n
	}
	return c
}

// The process that the lock protects, and the name of the key there that clients increment.
const (
	resourceName = "resource"
	counterKey   = "counter"
)

// lostIncrements compares the final value of the counter with the increments that were acknowledged.
func lostIncrements(ix *index) (Violation, bool) {
	c := ix.count()
	lost := c.lost()
	if lost == 0 {
		return Violation{}, false
	}
	v := Violation{
		Property: NoLostUpdate,
		At:       c.changes[len(c.changes)-1].at,
		What: fmt.Sprintf("%d of %d acknowledged increments are lost: the counter went from %d to %d",
			lost, c.done, c.base, c.final),
		Assumption: None,
		Events:     proof(c.changes[len(c.changes)-1].acknowledgement, c.last),
	}
	if c.twice[0] < 0 {
		return v, true
	}
	a, b := c.changes[c.twice[0]], c.changes[c.twice[1]]
	if b.event < a.event {
		a, b = b, a
	}
	value := ix.Events[b.acknowledgement].Value
	v.At = b.at
	if a.client == b.client {
		v.What += fmt.Sprintf("; %s wrote %s twice, at %s and at %s", a.client, value, seconds(a.at), seconds(b.at))
	} else {
		v.What += fmt.Sprintf("; %s wrote %s at %s, and so did %s at %s", a.client, value, seconds(a.at), b.client, seconds(b.at))
	}
	var because []int
	v.Assumption, because = blameLoss(ix, a, b)
	v.Events = proof(append(because, a.invoked, a.event, a.acknowledgement, b.invoked, b.event, b.acknowledgement, c.last)...)
	return v, true
}

// blameLoss says why one change could overwrite another that it had not seen. Without leases nobody promised that it could
// not. Under two leases, it is the older one that did something after its time.
func blameLoss(ix *index, lost, over change) (Assumption, []int) {
	a, b := ix.holdAt(lost.lease, lost.sent), ix.holdAt(over.lease, over.sent)
	if a == nil || b == nil || a.Label == b.Label {
		return None, nil
	}
	if b.GrantEvent < a.GrantEvent {
		return blameLate(ix, over.sent, over.invoked, b, a)
	}
	return blameLate(ix, lost.sent, lost.invoked, a, b)
}
