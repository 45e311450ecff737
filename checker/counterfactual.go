package checker

import (
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// An assumption is to blame for a violation if the violation would not have occurred had the environment kept it. What would have
// happened then can be derived from the history. A client that was paused, waited for a late message or slept by a slow clock would
// have reached its next step earlier by that much, unless it slept or waited for an instant of true time anyway. A lease whose keys
// were lost would have kept others out until the keys were due to expire.
//
// Here and in counterfactual_grant.go, kept are the assumptions that the environment is taken to have kept, and "would have" means:
// if it had.

// stillLate reports whether an act under l would still have taken effect too late: after the grant of a newer lease, and
// after the act under the newer lease that took place at after. The act took effect at the instant at; its request was sent at sent.
func (ix *index) stillLate(at, sent time.Duration, l, newer *facts.Lease, after time.Duration, kept []Assumption) bool {
	granted := ix.grantedIf(l, newer, kept)
	if granted == never || slices.Contains(kept, BoundedClockError) && ix.misledByClock(l, sent) {
		return false
	}
	// The older lease may have its majority only because keys that newer already had were gone.
	if broken, _ := ix.succession(newer, l).blame(ix.Enough()); broken != None && slices.Contains(kept, broken) {
		return false
	}
	would := ix.landed(at, sent, l, kept)
	return ix.doneIf(newer, granted, after, kept) <= would && !ix.fencedOff(l, newer, granted, would, kept)
}

// misledByClock reports whether a client sent a request under a lease only because of a wrong clock. Its last check before that passed,
// though a TTL or more had gone by since the client had asked for the lease, or for its extension: either the end that it had been told
// was too late, or that end was past, and the wall clock had been set back since.
func (ix *index) misledByClock(l *facts.Lease, sent time.Duration) bool {
	check, found := time.Duration(0), false
	for i, e := range ix.Events {
		if ix.At(i) > sent {
			break
		}
		if e.Process == l.Client && e.Op == history.Check && e.Kind == history.OK && e.Lease == l.Label {
			check, found = e.At, true
		}
	}
	asked := ix.askedFor(l)
	past := check >= asked.at+asked.ttl && check > l.End && ix.setBack(l.Client, asked.told, check) > 0
	return found && (past || ix.overrated(l, check) >= 0)
}

// landed returns when an act under l would have taken effect. It took effect at the instant at; its request was sent at sent.
func (ix *index) landed(at, sent time.Duration, l *facts.Lease, kept []Assumption) time.Duration {
	would := at - ix.ahead(l, sent, kept)
	if slices.Contains(kept, BoundedDelay) && ix.OutOfReach(at-sent) {
		would -= at - sent
	}
	return would
}

// replaced reports whether a write under a newer lease would have overwritten the change lost before over did. Both lost and over are
// changes under l.
func (ix *index) replaced(lost, over change, l, newer *facts.Lease, kept []Assumption) bool {
	granted := ix.grantedIf(l, newer, kept)
	if granted == never || lost.lease != l.Label {
		return false
	}
	from, to := ix.landed(lost.at, lost.sent, l, kept), ix.landed(over.at, over.sent, l, kept)
	return slices.ContainsFunc(ix.Events, func(e history.Event) bool {
		if e.Kind != history.State || e.Op != history.Accept || e.Lease != newer.Label || e.Word != "" {
			return false
		}
		t := ix.doneIf(newer, granted, e.At, kept)
		return from < t && t < to
	})
}

// doneIf returns when an act at the instant t under the newer lease would have taken place, had the lease been granted at granted.
func (ix *index) doneIf(newer *facts.Lease, granted, t time.Duration, kept []Assumption) time.Duration {
	ahead := newer.Granted - granted
	if t <= newer.From {
		return t - ahead
	}
	return t - ix.follow(newer.Client, newer.ReturnEvent, ix.Events[newer.ReturnEvent], ahead, t, kept, true)
}

// fencedOff reports whether the resource would have rejected a request under l at the instant at, because it had already accepted
// one with a higher token.
func (ix *index) fencedOff(l, newer *facts.Lease, granted, at time.Duration, kept []Assumption) bool {
	if ix.Meta.Resource != "fenced" || newer.Fence <= l.Fence && !slices.Contains(kept, DurableNodes) {
		return false
	}
	for _, e := range ix.Events {
		if e.Kind == history.State && e.Op == history.Accept && e.Lease == newer.Label {
			return ix.doneIf(newer, granted, e.At, kept) < at
		}
	}
	return false
}

// ahead returns how much earlier the client of a lease would have done what it did at the instant t.
func (ix *index) ahead(l *facts.Lease, t time.Duration, kept []Assumption) time.Duration {
	if l.InvokeEvent < 0 {
		return ix.follow(l.Client, l.ReturnEvent, ix.Events[l.ReturnEvent], 0, t, kept, false)
	}
	return ix.follow(l.Client, -1, history.Event{}, 0, t, kept, false)
}

// follow follows a client from the event numbered from, whose outcome was would have come earlier by ahead. It returns how much
// earlier the client would have done what it did at the instant t. A rival would only have been spared its waits for paused servers:
// its other delays are not undone.
func (ix *index) follow(client string, from int, was history.Event, ahead, t time.Duration, kept []Assumption, rival bool) time.Duration {
	own := kept
	if rival {
		own = slices.DeleteFunc(slices.Clone(kept), func(a Assumption) bool { return a != BoundedDelay })
	}
	for in := facts.After(ix.Invokes[client], from); in >= 0 && ix.At(in) <= t; in = facts.After(ix.Invokes[client], in) {
		e := ix.Events[in]
		if e.At < was.At {
			continue // an operation that ran concurrently with another
		}
		ahead = ix.aheadAfter(was, e, ahead, own)
		if e.Op == history.Acquire {
			ahead = ix.vacant(in, ahead)
		}
		was = ix.outcomeBy(in, t)
		s := facts.Stretch{From: e.At, To: was.At}
		ahead = ix.heldUp(client, e.Op, s, ahead, own)
		if taken := ix.excess(client, e.Op, s, own, rival); slices.Contains(own, BoundedDelay) && !slices.Contains(own, BoundedPause) {
			ahead = s.To - ix.worked(client, s.From-ahead, s, taken)
		} else {
			ahead += taken
		}
	}
	if was.At < t && slices.Contains(own, BoundedPause) { // the lock acts between operations, for example to renew
		total, _ := ix.Paused(client, was.At, t)
		ahead += total
	}
	return ahead
}

// worked returns when a client would have ended the operation in s, had it begun it at from and spent taken less on it. Pauses
// between from and that end delay it.
func (ix *index) worked(client string, from time.Duration, s facts.Stretch, taken time.Duration) time.Duration {
	paused, _ := ix.Paused(client, s.From, s.To)
	end := from + s.To - s.From - taken - paused
	for _, p := range ix.struck(client) {
		if from < p.To && p.From < end {
			end += p.To - max(from, p.From)
		}
	}
	return end
}

// vacant returns how much earlier a client could have been granted the lease that it asked for in event in, had it asked earlier by
// ahead: not before the keys of other leases were gone.
func (ix *index) vacant(in int, ahead time.Duration) time.Duration {
	e := ix.Events[in]
	if before := facts.Before(ix.Invokes[e.Process], in); before >= 0 && ix.Events[before].Op == history.Acquire {
		if out, ok := ix.Outcome[before]; ok && ix.Events[out].Kind != history.OK {
			return 0
		}
	}
	out, ok := ix.Outcome[in]
	if !ok {
		return ahead
	}
	label := ix.Events[out].Lease
	for _, n := range ix.LivesOf[label] {
		own := ix.Lives[n]
		for _, k := range ix.Lives {
			if k.Label != label && k.Node == own.Node && k.Key == own.Key && k.From < own.From {
				ahead = min(ahead, max(0, e.At-ix.At(k.To)))
			}
		}
	}
	return ahead
}

// heldUp returns how much earlier a client would have ended an operation, had it begun it earlier by ahead: it may have had to wait
// until another process resumed or a link healed.
func (ix *index) heldUp(client, op string, s facts.Stretch, ahead time.Duration, kept []Assumption) time.Duration {
	if slices.Contains(kept, BoundedDelay) {
		return ahead
	}
	if atResource(op) {
		shut := facts.Merge(slices.Concat(ix.Stretches(ix.Pauses[history.ResourceName]), ix.ShutOff(client, history.ResourceName)))
		return resumed(shut, s.From) - resumed(shut, s.From-ahead)
	}
	for _, i := range ix.Tardy[client] {
		e := ix.Events[i]
		if e.Sent < s.From || e.At > s.To {
			continue
		}
		other := e.By
		if other == client {
			other = e.Process
		}
		for _, b := range facts.Merge(slices.Concat(ix.Stretches(ix.Pauses[other]), ix.Apart(client, other))) {
			if b.From <= e.Sent-ahead && e.Sent < b.To && b.To <= e.At && !ix.OutOfReach(e.At-b.To) {
				return 0
			}
		}
	}
	return ahead
}

// atResource reports whether an operation is one at the resource. During such an operation a client that is not paused waits only for
// messages.
func atResource(op string) bool {
	switch op {
	case history.Write, history.Update, history.Enter, history.Read, history.Increment:
		return true
	}
	return false
}

// outcomeBy returns the outcome of an operation, or an event at the instant t if it had no outcome by then.
func (ix *index) outcomeBy(in int, t time.Duration) history.Event {
	if out, ok := ix.Outcome[in]; ok && ix.At(out) <= t {
		return ix.Events[out]
	}
	return history.Event{At: t}
}

// aheadAfter returns how much earlier a client would have invoked e, had its last outcome, was, come earlier by ahead.
// Between the two it slept by its clock, or waited for an instant of true time. A pause that is a step of the lane moves with the lane;
// any other stays where it is.
func (ix *index) aheadAfter(was, e history.Event, ahead time.Duration, kept []Assumption) time.Duration {
	slept := e.Slept
	if end := facts.When(ix.Clocks[e.Process], was.Clock+e.Slept); e.Slept > 0 && end < history.NoEnd {
		slept = end - was.At
	}
	ready := max(was.At+slept, e.NotBefore)
	paused, _ := ix.Paused(e.Process, was.At, e.At)
	late := min(max(0, e.At-ready), paused)
	rest := e.At - ready - late
	pauses := ix.Stretches(ix.Pauses[e.Process])
	moves := slices.ContainsFunc(pauses, func(p facts.Stretch) bool { return p.From == was.At || p.From == ready })
	if slices.Contains(kept, BoundedClockError) {
		slept = e.Slept
	}
	would := max(was.At-ahead+slept, e.NotBefore)
	switch {
	case slices.Contains(kept, BoundedPause):
	case moves:
		would += late
	default:
		would = resumed(ix.struck(e.Process), would)
	}
	return e.At - (would + rest)
}

// struck returns the pauses of a client that were injected from outside. A pause that is a step of its lane begins right after an
// outcome.
func (ix *index) struck(client string) []facts.Stretch {
	return slices.DeleteFunc(ix.Stretches(ix.Pauses[client]), func(p facts.Stretch) bool {
		return slices.ContainsFunc(ix.Invokes[client], func(in int) bool {
			out, ok := ix.Outcome[in]
			return ok && ix.At(out) == p.From
		})
	})
}

// resumed returns the end of the pause that contains t, or t itself if none does.
func resumed(pauses []facts.Stretch, t time.Duration) time.Duration {
	if p, ok := facts.Touches(pauses, facts.Stretch{From: t, To: t + 1}); ok {
		return p.To
	}
	return t
}

// excess returns how much time a client lost in an operation because the environment broke the assumptions kept: in pauses, except
// while it waited for a message anyway, and by messages that took so long that the other end counts as out of reach. For a rival
// only the time counts in which a server was paused.
func (ix *index) excess(client, op string, s facts.Stretch, kept []Assumption, rival bool) time.Duration {
	within := func(all []facts.Stretch) []facts.Stretch {
		var in []facts.Stretch
		for _, x := range all {
			in = append(in, facts.Stretch{From: max(x.From, s.From), To: min(x.To, s.To)})
		}
		return facts.Merge(in)
	}
	pauses := within(ix.Stretches(ix.Pauses[client]))
	var waits []facts.Stretch
	for _, i := range ix.Tardy[client] {
		e := ix.Events[i]
		to := e.At
		if p, ok := facts.Touches(pauses, facts.Stretch{From: e.At - 1, To: e.At}); ok && p.To == e.At && e.Process == client {
			to = p.From // it had arrived at some time during the pause
		}
		if e.Sent >= s.From {
			waits = append(waits, facts.Stretch{From: e.Sent, To: to})
		}
	}
	waits = within(waits)
	switch {
	case atResource(op):
		if rest := facts.Without([]facts.Stretch{s}, pauses); s.From < s.To && ix.OutOfReach(facts.Length(rest)) {
			waits = facts.Merge(append(waits, rest...))
		}
	case op == history.Acquire || op == history.Extend || op == history.Release:
		waits = facts.Merge(append(waits, facts.Without(within(ix.unconnected(client, s)), pauses)...))
	}
	if rival {
		var stopped []facts.Stretch
		for server, spans := range ix.Pauses {
			if server == history.ResourceName && atResource(op) || ix.Servers[server] && !atResource(op) {
				own := slices.Concat(ix.ShutOff(client, server), ix.KeptBack[facts.Direction{From: client, To: server}], ix.KeptBack[facts.Direction{From: server, To: client}])
				stopped = append(stopped, facts.Without(ix.Stretches(spans), facts.Merge(own))...)
			}
		}
		waits = facts.Without(waits, facts.Without(waits, facts.Merge(stopped)))
	}
	var taken []facts.Stretch
	if slices.Contains(kept, BoundedPause) {
		taken = append(taken, facts.Without(pauses, waits)...)
	}
	if slices.Contains(kept, BoundedDelay) {
		taken = append(taken, facts.Without(waits, pauses)...)
	}
	if len(kept) > 1 && slices.Contains(kept, BoundedPause) && slices.Contains(kept, BoundedDelay) {
		taken = slices.Concat(pauses, waits)
	}
	return facts.Length(facts.Merge(taken))
}

// unconnected returns the times within s in which a client neither sent nor received anything while a lock node was out of its
// reach. As far as the history shows it waited for that node, perhaps for a connection, which leaves no message.
func (ix *index) unconnected(client string, s facts.Stretch) []facts.Stretch {
	var silence []facts.Stretch
	from := s.From
	quiet := func(to time.Duration) {
		if ix.OutOfReach(to - from) {
			silence = append(silence, facts.Stretch{From: from, To: to})
		}
		from = max(from, to)
	}
	for i := facts.After(ix.Invokes[client], -1); i >= 0 && i < len(ix.Events) && ix.At(i) < s.To; i++ {
		switch e := ix.Events[i]; {
		case e.Kind != history.Message || e.At < s.From:
		case e.Process == client:
			quiet(e.At)
		case e.By == client && e.Sent >= s.From:
			quiet(e.Sent)
		}
	}
	quiet(s.To)
	var apart []facts.Stretch
	for _, n := range ix.Meta.Nodes {
		apart = slices.Concat(apart, ix.Apart(client, n), ix.Stretches(ix.Pauses[n]))
	}
	return facts.Without(silence, facts.Without(silence, facts.Merge(apart)))
}

// signs returns the event that shows how the environment broke an assumption between two instants, to the harm of a client:
// the first pause, or the last message that was late.
func (ix *index) signs(broken Assumption, client string, from, to time.Duration) []int {
	switch broken {
	case BoundedPause:
		_, pause := ix.Paused(client, from, to)
		return []int{pause}
	case BoundedDelay:
		tardy := ix.Tardy[client]
		for n := len(tardy) - 1; n >= 0; n-- {
			if e := ix.Events[tardy[n]]; e.Sent >= from && e.At <= to {
				return []int{tardy[n]}
			}
		}
	}
	return nil
}

// subsets returns all subsets of n assumptions, in the order of all.
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
