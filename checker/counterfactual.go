package checker

import (
	"slices"
	"time"

	"lockstep/sim/history"
)

// An assumption is to blame for a violation if the violation would not have occurred had the environment kept it. The history shows
// what would have happened then. A client that was paused, waited for a late message or slept by a slow clock would have reached its
// next step earlier by that much, unless it slept or waited for an instant of true time anyway. A lease whose keys were lost would
// have kept others out for as long as the keys were promised to live.

// stillLate reports whether something done under l would still have taken effect too late had the environment kept some assumptions:
// after the grant of a newer lease, and after what was done under the newer lease at the instant after. It took effect at the
// instant at, and its request left at the instant sent.
func (ix *index) stillLate(at, sent time.Duration, l, newer *Lease, after time.Duration, kept []Assumption) bool {
	ahead := ix.ahead(l, sent, kept)
	if slices.Contains(kept, BoundedDelay) && ix.outOfReach(at-sent) {
		ahead += at - sent
	}
	granted := ix.grantedBut(l, newer, kept)
	return granted < never && after+granted-newer.Granted <= at-ahead
}

// ahead returns how much earlier the client of a lease would have done what it did at the instant t, had the environment kept some
// assumptions since the client asked for the lease.
func (ix *index) ahead(l *Lease, t time.Duration, kept []Assumption) time.Duration {
	var ahead time.Duration
	from := l.InvokeEvent
	if from < 0 {
		from = l.ReturnEvent
	}
	was := ix.Events[from]
	if l.InvokeEvent >= 0 {
		was = ix.outcomeBy(from, t)
		ahead = ix.excess(l.Client, ix.Events[from].Op, stretch{l.Invoked, was.At}, kept)
	}
	for in := first(ix.invokes[l.Client], from); in >= 0 && ix.at(in) <= t; in = first(ix.invokes[l.Client], in) {
		e := ix.Events[in]
		if e.At < was.At {
			continue // an operation beside another
		}
		ahead = ix.aheadAfter(was, e, ahead, kept)
		was = ix.outcomeBy(in, t)
		if !slices.Contains(kept, BoundedDelay) {
			ahead = ix.stopped(l.Client, stretch{e.At, was.At}, ahead)
		}
		ahead += ix.excess(l.Client, e.Op, stretch{e.At, was.At}, kept)
	}
	if was.At < t && slices.Contains(kept, BoundedPause) { // what the lock does by itself
		total, _ := ix.paused(l.Client, was.At, t)
		ahead += total
	}
	return ahead
}

// stopped returns how much earlier a client would have ended an operation if it had begun it earlier by ahead. The result is 0 if it
// waited for another process to be resumed or for a link to be mended, and would have waited for that in any case.
func (ix *index) stopped(client string, op stretch, ahead time.Duration) time.Duration {
	for _, i := range ix.tardy[client] {
		e := ix.Events[i]
		if e.Sent < op.from || e.At > op.to {
			continue
		}
		other := e.By
		if other == client {
			other = e.Process
		}
		for _, s := range merge(slices.Concat(ix.stretches(ix.pauses[other]), ix.apart(client, other))) {
			if s.from <= e.Sent-ahead && e.Sent < s.to && s.to <= e.At && !ix.outOfReach(e.At-s.to) {
				return 0
			}
		}
	}
	return ahead
}

// outcomeBy returns the outcome of an operation, or an event at the instant t if it had no outcome by then.
func (ix *index) outcomeBy(in int, t time.Duration) history.Event {
	if out, ok := ix.outcome[in]; ok && ix.at(out) <= t {
		return ix.Events[out]
	}
	return history.Event{At: t}
}

// aheadAfter returns how much earlier a client would have invoked e if its last outcome, was, had come earlier by ahead.
// Between the two it slept for some time by its clock, or waited for a true time.
func (ix *index) aheadAfter(was, e history.Event, ahead time.Duration, kept []Assumption) time.Duration {
	slept := e.Slept
	if end := when(ix.clocks[e.Process], was.Clock+e.Slept); e.Slept > 0 && end < history.NoEnd {
		slept = end - was.At
	}
	paused, _ := ix.paused(e.Process, was.At, e.At)
	late := min(max(0, e.At-max(was.At+slept, e.NotBefore)), paused)
	rest := e.At - max(was.At+slept, e.NotBefore) - late
	if slices.Contains(kept, BoundedPause) {
		late = 0
	}
	if slices.Contains(kept, BoundedClockError) {
		slept = e.Slept
	}
	return e.At - (max(was.At-ahead+slept, e.NotBefore) + late + rest)
}

// excess returns how much time a client lost in an operation because the environment broke some assumptions: in pauses, except
// while it waited for a message anyway, and by messages that took so long that the other end counts as out of reach. At the
// resource, a client that is not paused only waits for messages.
func (ix *index) excess(client, op string, s stretch, kept []Assumption) time.Duration {
	within := func(all []stretch) []stretch {
		var in []stretch
		for _, x := range all {
			in = append(in, stretch{max(x.from, s.from), min(x.to, s.to)})
		}
		return merge(in)
	}
	pauses := within(ix.stretches(ix.pauses[client]))
	var waits []stretch
	for _, i := range ix.tardy[client] {
		e := ix.Events[i]
		to := e.At
		if p, ok := touches(pauses, stretch{e.At - 1, e.At}); ok && p.to == e.At && e.Process == client {
			to = p.from // it had arrived at some time in the pause
		}
		if e.Sent >= s.from {
			waits = append(waits, stretch{e.Sent, to})
		}
	}
	waits = within(waits)
	switch op {
	case history.Write, history.Update, history.Enter, history.Read, history.Increment:
		if rest := without([]stretch{s}, pauses); s.from < s.to && ix.outOfReach(length(rest)) {
			waits = merge(append(waits, rest...))
		}
	case history.Acquire, history.Extend, history.Release:
		waits = merge(append(waits, without(within(ix.unconnected(client, s)), pauses)...))
	}
	var taken []stretch
	if slices.Contains(kept, BoundedPause) {
		taken = append(taken, without(pauses, waits)...)
	}
	if slices.Contains(kept, BoundedDelay) {
		taken = append(taken, without(waits, pauses)...)
	}
	if len(kept) > 1 && slices.Contains(kept, BoundedPause) && slices.Contains(kept, BoundedDelay) {
		taken = slices.Concat(pauses, waits)
	}
	return length(merge(taken))
}

// unconnected returns when a client neither sent nor received anything in a stretch, while a lock node was out of its reach: as far as
// the history shows, it waited for that node, perhaps for a connection, of which there is no message.
func (ix *index) unconnected(client string, s stretch) []stretch {
	var silence []stretch
	from := s.from
	quiet := func(to time.Duration) {
		if ix.outOfReach(to - from) {
			silence = append(silence, stretch{from, to})
		}
		from = max(from, to)
	}
	for i := first(ix.invokes[client], -1); i >= 0 && i < len(ix.Events) && ix.at(i) < s.to; i++ {
		switch e := ix.Events[i]; {
		case e.Kind != history.Message || e.At < s.from:
		case e.Process == client:
			quiet(e.At)
		case e.By == client && e.Sent >= s.from:
			quiet(e.Sent)
		}
	}
	quiet(s.to)
	var apart []stretch
	for _, n := range ix.Meta.Nodes {
		apart = slices.Concat(apart, ix.apart(client, n), ix.stretches(ix.pauses[n]))
	}
	return without(silence, without(silence, merge(apart)))
}

// grantedBut returns when a lease would have been granted, had the environment kept some assumptions, after one that was granted
// before it; [never] if its client would have given up before.
func (ix *index) grantedBut(a, b *Lease, kept []Assumption) time.Duration {
	from, until, every := ix.asking(b)
	var was, would []time.Duration // when there was room for each vote, and when there would have been
	for _, n := range ix.votes(b) {
		taker := ix.lives[n]
		w, t := ix.room(a, b, taker, kept)
		was, would = append(was, w), append(would, t)
	}
	if len(was) < ix.enough() {
		return b.Granted
	}
	slices.Sort(was)
	slices.Sort(would)
	switch before, after := was[ix.enough()-1], would[ix.enough()-1]; {
	case after > b.Granted && after > until:
		return never
	case after > b.Granted && every > 0: // it would have tried again
		return b.Granted + (after-b.Granted+every-1)/every*every
	case after > b.Granted:
		return after
	case after < before && from < before: // it had been waiting
		return max(from, after, b.Granted-(before-after))
	}
	return b.Granted
}

// room returns when the key of a lease made room for that of another, and when it would have, had the environment kept some
// assumptions.
func (ix *index) room(a, b *Lease, taker life, kept []Assumption) (was, would time.Duration) {
	key := ix.before(a.Label, taker)
	if key == nil {
		if key = ix.elsewhere(a.Label, taker); key == nil {
			return 0, 0
		}
		if slices.Contains(kept, DurableNodes) {
			return 0, ix.dueBut(a, key, kept)
		}
		return 0, 0
	}
	was = ix.at(key.to)
	cause := ix.Events[ix.cause(*key)]
	switch {
	case cause.Op == history.Lose:
		if slices.Contains(kept, DurableNodes) {
			return was, ix.dueBut(a, key, kept)
		}
	case cause.Op == history.Expire && ix.early(*key):
		if slices.Contains(kept, BoundedClockError) {
			return was, ix.dueBut(a, key, kept)
		}
	case cause.Op == history.Expire:
		if broken, _ := ix.unrenewed(a); broken != None && slices.Contains(kept, broken) {
			return was, never
		}
		return was, was - ix.ahead(a, key.timed, kept)
	case cause.Op == history.Over && cause.By != a.Client && slices.Contains(kept, BoundedClockError):
		if wallIsOff(ix.Events[a.ReturnEvent]) || wallIsOff(ix.Events[b.ReturnEvent]) {
			return was, max(was, a.End) // the clients compare their clocks, as GETSET on a timestamp does
		}
	case cause.By == a.Client:
		return was, was - ix.ahead(a, departure(cause), kept)
	}
	return was, was
}

// dueBut returns when a key of a lease would have ended if its node had kept it, and the environment some assumptions: never if its
// client was there to renew it.
func (ix *index) dueBut(a *Lease, key *life, kept []Assumption) time.Duration {
	if broken, _ := ix.unrenewed(a); ix.renewing(a) && (broken == None || slices.Contains(kept, broken)) {
		return never
	}
	if key.due() == never {
		return never
	}
	return key.due() - ix.ahead(a, key.timed, kept)
}

// asking returns from when on the client of a lease had been asking for it, until when it would have gone on, and how far apart the
// last of its tries were; 0 if it tried once.
func (ix *index) asking(l *Lease) (from, until, every time.Duration) {
	from, until = l.Invoked, l.From
	if l.InvokeEvent < 0 {
		return from, until, 0
	}
	until = max(until, l.Invoked+ix.Events[l.InvokeEvent].Within)
	for _, a := range ix.asks() {
		if a.last == l.ReturnEvent {
			from = a.from
		}
	}
	for _, n := range ix.votes(l) {
		if tried := ix.triedBefore(ix.lives[n], from); tried >= 0 {
			every = max(every, departure(ix.Events[ix.lives[n].from])-tried)
		}
	}
	if before := last(ix.invokes[l.Client], l.InvokeEvent); every == 0 && from < l.Invoked && before >= 0 {
		every = l.Invoked - ix.at(before)
	}
	return from, until, every
}

// triedBefore returns when a client last sent a node the like of the request that set a key there, from an instant on; -1 if it did not.
func (ix *index) triedBefore(key life, from time.Duration) time.Duration {
	set, word := ix.Events[key.from], ""
	for i := key.from; i >= 0 && ix.at(i) >= from; i-- {
		e := ix.Events[i]
		if e.Kind != history.Message || e.By != set.By || e.Process != key.node {
			continue
		}
		switch {
		case word == "" && e.Sent == set.Sent:
			word = e.Word
		case word != "" && e.Word == word && from <= e.Sent && e.Sent < set.Sent:
			return e.Sent
		}
	}
	return -1
}

// signs returns the events that show how the environment broke an assumption between an instant and another, to the harm of a client:
// the first pause, or the last message that was late.
func (ix *index) signs(broken Assumption, client string, from, to time.Duration) []int {
	switch broken {
	case BoundedPause:
		_, pause := ix.paused(client, from, to)
		return []int{pause}
	case BoundedDelay:
		tardy := ix.tardy[client]
		for n := len(tardy) - 1; n >= 0; n-- {
			if e := ix.Events[tardy[n]]; e.Sent >= from && e.At <= to {
				return []int{tardy[n]}
			}
		}
	}
	return nil
}

// subsets returns the selections of n out of some assumptions, in their order.
func subsets(all []Assumption, n int) [][]Assumption {
	if n == 0 {
		return [][]Assumption{nil}
	}
	var found [][]Assumption
	for i, a := range all {
		for _, rest := range subsets(all[i+1:], n-1) {
			found = append(found, append([]Assumption{a}, rest...))
		}
	}
	return found
}
