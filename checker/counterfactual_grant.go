package checker

import (
	"cmp"
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// grantedIf returns when lease b, which was granted after a, would have been granted; [never] if its client would have given up
// before.
func (ix *index) grantedIf(a, b *facts.Lease, kept []Assumption) time.Duration {
	from, until := ix.asking(b)
	var was, would []time.Duration // when each key of b could be set, and when it could have been
	votes := ix.Votes(b)
	if slices.Contains(kept, BoundedClockError) {
		votes = ix.votesByClock(b)
	}
	if len(votes) == 0 { // it rests on keys that its client had set before, in an attempt whose outcome it did not know
		for n, k := range ix.Lives {
			if k.Vote && k.From < b.ReturnEvent && b.ReturnEvent < k.To && history.Client(k.Label) == b.Client && ix.Lease(k.Label) == nil {
				votes = append(votes, n)
			}
		}
	}
	for _, n := range votes {
		taker := ix.Lives[n]
		w, t := ix.room(a, b, taker, kept)
		if end, waited := ix.stray(b, taker); end > w {
			w = end
			if !waited || !slices.Contains(kept, BoundedDelay) {
				t = max(t, end)
			}
		}
		was, would = append(was, w), append(would, t)
	}
	if len(was) < ix.Enough() {
		return b.Granted
	}
	slices.Sort(was)
	slices.Sort(would)
	before, after := was[ix.Enough()-1], would[ix.Enough()-1]
	granted := b.Granted
	if slices.Contains(kept, BoundedDelay) { // without its waits for servers that were paused
		granted -= ix.excess(b.Client, history.Acquire, facts.Stretch{From: max(before, from), To: b.Granted}, []Assumption{BoundedDelay}, true)
	}
	switch {
	case after > granted && after > until:
		return never
	case after > granted: // it would have tried again
		return after
	case after < before && from < before: // it was waiting already
		return max(from, after)
	}
	return granted
}

// stray looks for an earlier key of the client of l, on the same node and under the same name as taker, for a lease whose acquire did not
// succeed. It returns when the last such key ended, or 0, and whether the key was set late because its node was paused.
func (ix *index) stray(l *facts.Lease, taker facts.Life) (end time.Duration, waited bool) {
	for _, k := range ix.Lives {
		if k.Node != taker.Node || k.Key != taker.Key || k.To > taker.From || history.Client(k.Label) != l.Client || ix.Lease(k.Label) != nil {
			continue
		}
		set := ix.Events[k.From]
		_, paused := facts.Touches(ix.Stretches(ix.Pauses[k.Node]), facts.Stretch{From: set.Departure(), To: set.At})
		end, waited = ix.At(k.To), paused && ix.OutOfReach(set.At-set.Departure())
	}
	return end, waited
}

// room returns when the key of lease a ended that was in the way of taker, a key of b, and when it would have ended.
func (ix *index) room(a, b *facts.Lease, taker facts.Life, kept []Assumption) (was, would time.Duration) {
	key := ix.before(a.Label, taker)
	if key == nil {
		if key = ix.elsewhere(a.Label, taker); key == nil {
			return 0, 0
		}
		if slices.Contains(kept, DurableNodes) {
			return 0, ix.dueIf(a, key, kept)
		}
		return 0, 0
	}
	was = ix.At(key.To)
	cause := ix.Events[ix.Cause(*key)]
	switch {
	case slices.Contains(kept, BoundedClockError) && ix.misdatedKey(a, *key):
		if broken, _ := ix.unrenewed(a); ix.renewing(a) && (broken == None || slices.Contains(kept, broken)) {
			return was, never
		}
		return was, ix.At(key.From) + ix.Meta.TTL
	case cause.Op == history.Lose:
		if slices.Contains(kept, DurableNodes) {
			return was, ix.dueIf(a, key, kept)
		}
	case cause.Op == history.Expire:
		if slices.Contains(kept, BoundedClockError) && key.Promise <= 0 && ix.misdated(a) >= 0 {
			return was, ix.asMeant(a, key.Ordered)
		}
		if broken, _ := ix.unrenewed(a); broken != None && slices.Contains(kept, broken) && ix.Lifetime(*key) >= key.Promise/2 {
			return was, never
		}
		if !ix.Early(*key) {
			if event, due := ix.forgotten(*key, taker); event >= 0 && slices.Contains(kept, DurableNodes) {
				return was, ix.lastsUntil(a, key, due, kept)
			}
			due := was
			if slices.Contains(kept, BoundedClockError) && cause.Process == key.Node && ix.Events[key.From].Wall-cause.Wall > facts.Rounding {
				due = min(due, key.Due()) // by the wrong clock of the node, the key expired too late
			}
			return was, ix.extended(a, key, due-ix.ahead(a, key.Ordered, kept), kept)
		}
		if slices.Contains(kept, BoundedClockError) {
			return was, ix.dueIf(a, key, kept)
		}
	case slices.Contains(kept, BoundedClockError) && ix.hastened(*key):
		return was, max(was, a.End)
	case slices.Contains(kept, BoundedClockError) && cause.Op == history.Delete && cause.By == a.Client && ix.mistimed(ix.Cause(*key), cause.At) >= 0:
		return was, ix.asMeant(a, cause.Departure())
	case cause.By != a.Client && key.Promise == history.NoEnd && was >= a.End: // taken over at an end that is in the value: as good as expired
		return was, ix.extended(a, key, was-ix.ahead(a, key.Ordered, kept), kept)
	case cause.By == a.Client:
		return was, was - ix.ahead(a, cause.Departure(), kept)
	}
	return was, was
}

// asMeant returns when a key of a lease would have ended if the clocks had been right; [never] if the client would have renewed
// it. The client sent the deadline as an instant, at sent.
func (ix *index) asMeant(a *facts.Lease, sent time.Duration) time.Duration {
	if ix.renewing(a) {
		return never
	}
	return facts.Later(sent, ix.Meta.TTL)
}

// extended returns when a key of a lease would have ended that otherwise ended at due: an extension that failed because nodes were
// out of reach would have succeeded.
func (ix *index) extended(a *facts.Lease, key *facts.Life, due time.Duration, kept []Assumption) time.Duration {
	if !slices.Contains(kept, BoundedDelay) {
		return due
	}
	for _, in := range ix.Invokes[a.Client] {
		e := ix.Events[in]
		out, ok := ix.Outcome[in]
		if e.Op != history.Extend || e.Lease != a.Label || !ok || ix.Events[out].Kind == history.OK {
			continue
		}
		if at := e.At - ix.ahead(a, e.At, kept); at < due && ix.excess(a.Client, e.Op, facts.Stretch{From: e.At, To: ix.At(out)}, kept, false) > 0 {
			promise := key.Promise
			if promise == history.NoEnd {
				promise = ix.Meta.TTL
			}
			due = at + cmp.Or(e.TTL, promise)
		}
	}
	return due
}

// dueIf returns when a key of a lease would have ended, had its node kept it: [never] if its client would have renewed it.
func (ix *index) dueIf(a *facts.Lease, key *facts.Life, kept []Assumption) time.Duration {
	return ix.lastsUntil(a, key, key.Due(), kept)
}

// lastsUntil returns when a key of a lease would have ended, had it kept the deadline due: [never] if its client would have renewed it.
func (ix *index) lastsUntil(a *facts.Lease, key *facts.Life, due time.Duration, kept []Assumption) time.Duration {
	if broken, _ := ix.unrenewed(a); ix.renewing(a) && (broken == None || slices.Contains(kept, broken)) {
		return never
	}
	if due == never {
		return never
	}
	return due - ix.ahead(a, key.Ordered, kept)
}

// asking returns when the client of a lease began to ask for it, and until when it would have gone on asking.
func (ix *index) asking(l *facts.Lease) (from, until time.Duration) {
	from, until = l.Invoked, l.From
	if l.InvokeEvent < 0 {
		return from, until
	}
	until = max(until, l.Invoked+ix.Events[l.InvokeEvent].Within)
	for _, a := range ix.asks() {
		if a.last == l.ReturnEvent {
			from = a.From
		}
	}
	for in, out := range ix.Outcome { // a lock that retries by itself does so for as long as in an acquire that failed
		if e := ix.Events[out]; e.Op == history.Acquire && e.Kind != history.OK {
			until = max(until, l.Invoked+e.At-ix.At(in))
		}
	}
	return from, until
}
