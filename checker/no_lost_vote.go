package checker

import (
	"cmp"
	"fmt"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// noLostVote finds the commands by which a client deleted or overwrote a key of its own lease, or shortened the life of that key, while
// the client relied on the lease. The lease may still have a majority, but it survives the failure of fewer nodes. [ownerOnly] judges
// what other clients do to the key. A node that drops a key because the key has expired by the node's clock, or because the node loses
// its data, carries out no command of a client.
//
// The usual cause is one token for several attempts: the clean-up of a failed attempt is late, and deletes the key of the next one.
// Before Acquire returns, a command counts only if it had left before the last command that set the deadline of the key. A command that
// left later belongs to the same attempt, which may clean up a node that was slow to answer and not count its vote. Nor does it count if
// the client asked the node for its vote again before Acquire returned: then the lease stands on the newer answer. An attempt may be
// refused by a majority, and its clean-up be sent, before a connection to another node is open and its request leaves.
//
// A command that compares the token of its own attempt is harmless however late it is. So no pause and no delay is to blame. A wrong
// clock is to blame if a deadline was sent as an instant and the clock made that deadline too early.
func noLostVote(ix *index) []Violation {
	type place struct{ node, key string }
	type key struct {
		life  int           // in lives
		asked time.Duration // when the last command that gave it a deadline left its client
		due   time.Duration
	}
	living := map[place]key{}
	next := 0 // in lives
	var found []Violation
	for i, e := range ix.Events {
		if e.Kind != history.State || ix.Groups[e.Process] == "" {
			continue
		}
		p := place{e.Process, e.Key}
		was, known := living[p]
		now := was
		switch {
		case next < len(ix.Lives) && ix.Lives[next].From == i:
			now = key{life: next}
			next++
		case e.Op != history.Retime || !known:
			now.life = -1
		}
		if e.Op == history.Delete && ix.setAgain(i) {
			continue // only the state of the key after the command counts
		}
		delete(living, p)
		if now.life >= 0 {
			now.due = ix.Dues[i]
			if ix.owns(e.By, now.life) {
				now.asked = e.Departure()
			}
			living[p] = now
		}
		if !known || !ix.owns(e.By, was.life) || e.Op == history.Expire || e.Op == history.Lose {
			continue
		}
		label := ix.Lives[was.life].Label
		l := ix.HoldAt(label, e.At)
		if l == nil || e.At >= l.To || ix.pastEnd(label, i) {
			continue // nobody ever relied on the lease, or its client no longer does, or does so only because its clock is wrong
		}
		granted := ix.Lease(label)
		if from := ix.Lives[was.life].From; from > granted.ReturnEvent && ix.Events[from].Departure() < granted.From {
			continue // a late request of the acquire set the key, which was no vote for the lease when it returned
		}
		stray := e.Departure() < was.asked
		if !stray && e.Departure() < granted.From || ix.triedAgain(i, was.life, granted) {
			continue
		}
		verb, fault := "deleted", -1
		switch end := ix.told(l, i); {
		case e.Op == history.Delete:
			fault = ix.mistimed(i, e.At)
		case now.life < 0 || !ix.owns(e.By, now.life):
			verb = "overwrote"
		case now.due < was.due-facts.Rounding && now.due < end-facts.Rounding:
			verb = "shortened the life of"
			fault = ix.mistimed(i, min(was.due, end))
			// The key lasts for as long as the client asked for and was told, but the client counts this time with a slow clock.
			if in := ix.invokedBy(e.By, i, e.Departure()); fault < 0 && in >= 0 {
				if left := facts.Reading(ix.Clocks[e.By], end) - ix.Events[in].Clock; now.due >= facts.Later(ix.At(in), left)-facts.Rounding {
					fault = clockFault(ix, l)
				}
			}
		default:
			continue
		}
		v := Violation{
			Property:   NoLostVote,
			At:         e.At,
			What:       fmt.Sprintf("%s %s its own key of %s on %s at %s", e.By, verb, label, e.Process, history.Seconds(e.At)),
			Assumption: None,
			Events:     proof(ix.Lives[was.life].From, l.ReturnEvent, fault, i),
		}
		if stray {
			v.What += ", by a late command that had left before the one that set the key or its deadline"
		}
		if fault >= 0 {
			v.Assumption = BoundedClockError
		}
		found = append(found, v)
	}
	return found
}

// setAgain reports whether the command that deleted a key by event i also set it again.
func (ix *index) setAgain(i int) bool {
	e := ix.Events[i]
	for _, f := range ix.Events[i+1:] {
		if f.Kind != history.State || f.Process != e.Process || f.By != e.By || f.Sent != e.Sent || f.At != e.At {
			return false
		}
		if f.Key == e.Key {
			return f.Op == history.Set || f.Op == history.Over
		}
	}
	return false
}

// triedAgain reports whether, after event i and before the lease was granted, its client sent the node of that event a request like the
// one that had set the key, whatever the answer was.
func (ix *index) triedAgain(i, life int, granted *facts.Lease) bool {
	e, from := ix.Events[i], ix.Lives[life].From
	set, word := ix.Events[from], ""
	for _, f := range ix.Events[:from] {
		if f.Kind == history.Message && f.Process == e.Process && f.By == e.By && f.At == set.At && f.Departure() == set.Departure() {
			word = f.Word
		}
	}
	for j := i + 1; j < granted.ReturnEvent; j++ {
		f := ix.Events[j]
		switch {
		case f.Process != e.Process || f.By != e.By || f.Departure() < e.Departure():
		case f.Kind == history.State && f.Key == e.Key && (f.Op == history.Set || f.Op == history.Over) && f.Lease == set.Lease,
			f.Kind == history.Message && word != "" && f.Word == word:
			return true
		}
	}
	return false
}

// owns reports whether a key stands for a lease of a client.
func (ix *index) owns(client string, life int) bool {
	return client == history.Client(ix.Lives[life].Label)
}

// told returns the end of a hold, as far as its client has been told by event i. If the client is told an earlier end next, or that the
// lease is over, that end counts, because event i may belong to the extension that asks for it. If an extension tells no end, the
// client knows for how long it asked, and when. If the lock renews the lease, or gave its keys no end, the client has been told no
// instant, and told returns 0.
func (ix *index) told(l *facts.Lease, i int) time.Duration {
	end := func(j int) time.Duration {
		e := ix.Events[j]
		asked, extends := ix.Invocation[j]
		switch {
		case e.Kind == history.Fail && e.Until <= e.Clock && extends: // it is over; and while the client asked, it relied on no more than it asked for
			return facts.When(ix.Clocks[l.Client], min(e.Until, facts.Later(ix.Events[asked].Clock, ix.TTL(e))))
		case e.Until < history.NoEnd:
			return facts.When(ix.Clocks[l.Client], e.Until)
		case l.Lasts:
			return 0
		case extends && e.Op == history.Extend:
			return facts.When(ix.Clocks[l.Client], facts.Later(ix.Events[asked].Clock, ix.TTL(e)))
		}
		return l.End
	}
	told := end(ix.Lease(l.Label).ReturnEvent)
	if j := facts.Before(ix.Extensions[l.Label], i); j >= 0 {
		told = end(j)
	}
	next := facts.After(ix.Extensions[l.Label], i)
	if j := facts.After(ix.Losses[l.Label], i); j >= 0 && ix.Events[j].Op == history.Extend && (next < 0 || j < next) {
		next = j
	}
	if next >= 0 {
		told = min(told, end(next))
	}
	return told
}

// mistimed returns the fault of a clock because of which event i gave a key a deadline before limit, or -1. The client must have
// sent the deadline as an instant, at most one TTL ahead by its own wall clock, and that clock or the node's must be wrong. The TTL
// is that of the run, or a longer one that the client asked for. A deletion may be the effect of such a command: a node deletes a
// key whose new deadline has passed by the node's clock. Only an extension or a silent renewal gives an existing key a new deadline;
// any other deletion is deliberate.
func (ix *index) mistimed(i int, limit time.Duration) int {
	e := ix.Events[i]
	if l := ix.Lease(e.Owner); e.Op == history.Delete && (l == nil || !ix.renewing(l)) {
		if in := ix.invokedBy(e.By, i, e.Departure()); in < 0 || ix.Events[in].Op != history.Extend {
			return -1
		}
	}
	var client history.Event // the last by which the client's wall clock is known
	for j := i; j >= 0 && client.Process == ""; j-- {
		if ix.Events[j].Process == e.By {
			client = ix.Events[j]
		}
	}
	meant, ttl := e.Until-client.Wall, max(ix.Meta.TTL, ix.LongestTTL(cmp.Or(e.Owner, e.Lease)))
	if e.Op == history.Delete {
		if j := ix.deadlineBefore(i); j >= 0 && e.Until > 0 && e.Until <= e.At+e.Wall {
			return ix.mistimed(j, e.At) // the client sent the key's old deadline again, which had just passed
		}
		meant = facts.Later(e.Departure(), ttl)
		if meant+client.Wall > e.At+e.Wall {
			return -1
		}
	}
	if !wallIsOff(e) && !wallIsOff(client) || meant < limit-facts.Rounding || meant > facts.Later(e.Departure(), ttl+facts.Rounding) {
		return -1
	}
	return max(facts.Before(ix.ClockFaults[e.By], i), facts.Before(ix.ClockFaults[e.Process], i))
}

// deadlineBefore returns the event that gave a key the deadline that it had when its own client deleted it by event i, or -1.
func (ix *index) deadlineBefore(i int) int {
	e := ix.Events[i]
	for j := i - 1; j >= 0; j-- {
		f := ix.Events[j]
		if f.Kind != history.State || f.Process != e.Process || f.Key != e.Key {
			continue
		}
		if f.By == e.By && f.Op != history.Delete && f.Until == e.Until {
			return j
		}
		return -1
	}
	return -1
}
