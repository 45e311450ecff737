package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// leaseExclusion finds the holds that began while another client held the same lock. A hold that ends at the instant at which the
// next begins does not overlap with it.
//
// It reports each later hold once, against the earlier one that would have lasted longest: the number of pairs is quadratic, and
// the later holds are the mistakes. The sweep keeps two holds, because the one that ends last may belong to the same client,
// which may hold two leases at a time.
func leaseExclusion(ix *index) []Violation {
	var holds []*facts.Lease
	for i := range ix.Holds {
		if l := &ix.Holds[i]; l.Held() {
			holds = append(holds, l)
		}
	}
	slices.SortFunc(holds, func(a, b *facts.Lease) int {
		return cmp.Or(cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.From, b.From), cmp.Compare(a.ReturnEvent, b.ReturnEvent))
	})

	var found []Violation
	var longest, other *facts.Lease // the two holds of different clients that end last
	for _, l := range holds {
		if longest != nil && longest.Lock != l.Lock {
			longest, other = nil, nil
		}
		rival := longest
		if rival != nil && rival.Client == l.Client {
			rival = other
		}
		if rival != nil && l.From < rival.To {
			found = append(found, overlap(ix, rival, l))
		}
		switch {
		case longest == nil:
			longest = l
		case l.Client == longest.Client:
			if l.To > longest.To {
				longest = l
			}
		case l.To > longest.To:
			longest, other = l, longest
		case other == nil || l.To > other.To:
			other = l
		}
	}
	return found
}

// overlap returns the violation that b began while a was held.
func overlap(ix *index, a, b *facts.Lease) Violation {
	broken, because := blame(ix, a, b)
	return Violation{
		Property:   LeaseExclusion,
		At:         b.From,
		What:       fmt.Sprintf("%v, while %v", b, a),
		Assumption: broken,
		Events:     proof(append(because, a.GrantEvent, a.ReturnEvent, a.EndEvent, b.GrantEvent, b.ReturnEvent)...),
	}
}

// blame says why a majority of nodes could grant a second lease before the hold of the first had ended: how did the keys of the
// first disappear where the second has its own? It also returns the events that show it.
//
// A lease may never have had a majority because its nodes dropped keys too early. Then the other lease may have its majority
// because such a key was gone, whichever of the two was granted first.
func blame(ix *index, a, b *facts.Lease) (Assumption, []int) {
	if b.GrantEvent < a.GrantEvent {
		a, b = b, a
	}
	if !a.GrantSeen && len(ix.Votes(a)) < ix.Enough() {
		if set := ix.misdated(a); set >= 0 { // so early that the first of its keys was gone before the last was set
			return BoundedClockError, []int{set}
		}
		if fault := ix.overrated(a, b.From); fault >= 0 && ix.outlived(a, b) {
			return BoundedClockError, []int{fault}
		}
		if a.Renews {
			return ix.untold(a)
		}
		return None, nil
	}
	then := ix.succession(a, b)
	if broken, because := then.blame(ix.Enough()); broken != None {
		return broken, because
	}
	if then.votes >= ix.Enough() && !(a.GrantSeen && b.GrantSeen) {
		if broken, because := ix.succession(b, a).blame(ix.Enough()); broken != None {
			return broken, because
		}
	}
	if fault := ix.overrated(a, b.From); fault >= 0 && (b.GrantSeen || ix.outlived(a, b)) {
		return BoundedClockError, []int{fault}
	}
	if set := ix.misdated(a); set >= 0 {
		return BoundedClockError, []int{set}
	}
	if a.Renews {
		return ix.untold(a)
	}
	return None, nil
}

// A succession describes how keys of one lease gave way to those of another.
type succession struct {
	votes       int   // of the other lease
	lost, early []int // events that ended keys early which would have prevented a vote, one for each node
}

// succession returns how the keys of lease a gave way to those of b.
func (ix *index) succession(a, b *facts.Lease) succession {
	votes := ix.votesByClock(b)
	s := succession{votes: len(votes)}
	for _, n := range ix.LivesOf[b.Label] {
		taker := ix.Lives[n]
		voted := slices.Contains(votes, n)
		key := ix.before(a.Label, taker)
		if key == nil {
			if key = ix.elsewhere(a.Label, taker); key != nil && voted && ix.At(taker.From) < key.Due() {
				s.lost = append(s.lost, ix.promoted(taker))
			}
			continue
		}
		if ix.At(key.To) >= a.To {
			continue
		}
		// A key that would have ended by then anyway prevented nothing.
		missed := voted && ix.At(taker.From) < key.Due()
		cause := ix.Cause(*key)
		switch op := ix.Events[cause].Op; {
		case op == history.Lose && missed:
			s.lost = append(s.lost, cause)
		case op == history.Expire && missed && ix.Early(*key):
			s.early = append(s.early, cause)
		case op == history.Expire && voted && !missed:
			if event, _ := ix.forgotten(*key, taker); event >= 0 {
				s.lost = append(s.lost, event)
			}
		case op == history.Over && voted && ix.MissedExtension(*key, taker.From) >= 0:
			s.lost = append(s.lost, ix.MissedExtension(*key, taker.From))
		case missed && ix.hastened(*key),
			missed && op == history.Delete && ix.Events[cause].By == a.Client && ix.mistimed(cause, ix.At(cause)) >= 0:
			s.early = append(s.early, cause)
		}
	}
	return s
}

// blame returns the cause without which the other lease would have had too few votes. If either of two causes would have been
// enough by itself, neither was necessary, but both together were. If the lease never had enough votes, no cause is to blame.
func (s succession) blame(enough int) (Assumption, []int) {
	needed := func(nodes int) bool { return s.votes >= enough && s.votes-nodes < enough }
	switch {
	case needed(len(s.lost)):
		return DurableNodes, s.lost[len(s.lost)-1:]
	case needed(len(s.early)):
		return BoundedClockError, s.early[len(s.early)-1:]
	case needed(len(s.lost) + len(s.early)):
		return DurableNodes, []int{s.lost[len(s.lost)-1], s.early[len(s.early)-1]}
	}
	return None, nil
}

// outlived reports whether a lease had keys, and all of them had expired when another was granted. If a lock grants a lease with
// too few nodes, keys that still existed show that the other lease needed no other cause.
func (ix *index) outlived(a, b *facts.Lease) bool {
	some := false
	for _, n := range ix.LivesOf[a.Label] {
		k := ix.Lives[n]
		if !k.Vote || k.From > a.ReturnEvent {
			continue
		}
		if b.GrantEvent < k.To || ix.Events[k.To].Op != history.Expire {
			return false
		}
		some = true
	}
	return some
}

// misdated returns the event that set a key of a lease which got less than the TTL because a clock is wrong, that of its node or that
// of its client; -1 if there is none. A lock that sends a duration gets that duration on any node. This lock sent a deadline that is a
// TTL away by the wall clock of its client; up to a twentieth of the TTL may have passed before the key was set.
//
// A real server never shows a key whose deadline has passed when it is set. If a lease had no key there at all, and the client's
// wall clock was behind by a TTL or more, misdated returns the fault of that clock.
func (ix *index) misdated(l *facts.Lease) int {
	told := ix.Events[l.ReturnEvent]
	if len(ix.LivesOf[l.Label]) == 0 && ix.Meta.On == history.OnReal && told.Wall <= -ix.TTL(told) {
		return facts.Before(ix.ClockFaults[l.Client], l.ReturnEvent)
	}
	for _, n := range ix.LivesOf[l.Label] {
		if k := ix.Lives[n]; ix.misdatedKey(l, k) {
			return k.From
		}
	}
	return -1
}

func (ix *index) misdatedKey(l *facts.Lease, k facts.Life) bool {
	e, told := ix.Events[k.From], ix.Events[l.ReturnEvent]
	ttl, ahead := ix.TTL(told), told.Wall // ahead of true time, by the wall clock of the client
	left := e.Until - e.At - ahead
	return k.Vote && (wallIsOff(e) || ahead < -facts.Rounding) && k.Promise < ttl-facts.Rounding && left <= ttl && left > ttl-ttl/20
}

// votesByClock returns the keys that count for a lease. If the lease never had a majority at one instant, it adds the keys that
// were gone at once because a clock was wrong. With right clocks these keys would have lasted, or would have been refused where
// another lease still had its key.
func (ix *index) votesByClock(l *facts.Lease) []int {
	votes := ix.Votes(l)
	if l.GrantSeen {
		return votes
	}
	for _, n := range ix.LivesOf[l.Label] {
		k := ix.Lives[n]
		again := func(m int) bool { return ix.Lives[m].Group == k.Group && ix.Lives[m].Key == k.Key }
		if k.From < l.ReturnEvent && ix.misdatedKey(l, k) && !slices.ContainsFunc(votes, again) {
			votes = append(votes, n)
		}
	}
	return votes
}

// overrated returns the fault of a client's clocks without which its hold would have been over by the instant t, or -1. If the
// clocks had been right, a TTL or more would have gone by since the client asked for the lease.
func (ix *index) overrated(l *facts.Lease, t time.Duration) int {
	asked := ix.askedFor(l)
	fault := clockFault(ix, l)
	if fault < 0 || t < asked.at+asked.ttl {
		return -1
	}
	end := facts.Later(asked.at, asked.until-asked.clock)
	if slices.Contains(ix.neverBit(), fault) { // the lock took the end from package time, which was right
		end = asked.until
	}
	// A wall clock that was set back while the client asked makes the time that this took too short, by as much.
	if end-ix.setBack(l.Client, asked.since, asked.told) <= t {
		return fault
	}
	return -1
}

// setBack returns by how much the wall clock of a client was set back between two instants.
func (ix *index) setBack(client string, from, to time.Duration) (by time.Duration) {
	for _, i := range ix.ClockFaults[client] {
		if e := ix.Events[i]; from <= e.At && e.At <= to {
			switch f := e.Fault().(type) {
			case history.Jump:
				by += max(0, -f.By)
			case history.Slew:
				by += max(0, -f.By)
			}
		}
	}
	return by
}

// An asking is how a client got the end of a lease: by an Acquire, an Extend, or a renewal, which the history shows when it is over.
type asking struct {
	at, told     time.Duration // when the client asked, and when it was told the end
	since        time.Duration // when it asked, at the earliest
	clock, until time.Duration // by its clock: when it asked, and the end
	ttl          time.Duration // for how long it asked
}

// askedFor returns how a client got the end of a lease that it relied on last.
func (ix *index) askedFor(l *facts.Lease) asking {
	set, since := l.ReturnEvent, l.Invoked
	for _, j := range ix.Extensions[l.Label] {
		if e := ix.Events[j]; j > l.ReturnEvent && e.Process == l.Client && e.At < l.To {
			set, since = j, ix.At(set)
		}
	}
	told := ix.Events[set]
	asked := told
	if in, ok := ix.Invocation[set]; ok {
		asked = ix.Events[in]
		since = asked.At
	}
	until := told.Until
	if until == history.NoEnd {
		asked, until = told, told.Clock+ix.TTL(told)
	}
	return asking{asked.At, told.At, since, asked.Clock, until, ix.TTL(told)}
}

// untold says why a lock that renews its leases let one end before another was granted, without reporting it. Since its key was
// last renewed, its client was paused, or its node was out of its reach, for most of the time: there was no interval of 0.55 TTLs
// in which the client could have renewed it, or learned that it was over. (Half a TTL is for the renewal, and a twentieth for the
// reply to the last one.) A lock that measures the time since its last renewal would have known. The verdict does not take that
// into account.
func (ix *index) untold(a *facts.Lease) (Assumption, []int) {
	for _, n := range ix.LivesOf[a.Label] {
		k := ix.Lives[n]
		life := facts.Stretch{From: k.Timed, To: k.Due()}
		if k.To == len(ix.Events) || ix.Events[k.To].Op != history.Expire || life.To <= life.From {
			continue // nothing prevented the renewal of a key whose deadline had passed when it was set
		}
		prevents := func(s []facts.Stretch) bool {
			free := facts.Without([]facts.Stretch{life}, facts.Merge(s))
			most := (life.To - life.From) / 2 * 11 / 10
			return !slices.ContainsFunc(free, func(f facts.Stretch) bool { return f.To-f.From >= most })
		}
		pauses := ix.Stretches(ix.Pauses[a.Client])
		if prevents(pauses) && facts.Covers(pauses, life.To-1) { // a renewal that came due in an earlier pause took place after that pause
			_, pause := ix.Paused(a.Client, life.From, life.To)
			return BoundedPause, []int{pause}
		}
		if prevents(slices.Concat(ix.ShutOff(a.Client, k.Node), ix.Stretches(ix.Pauses[k.Node]))) {
			return BoundedDelay, []int{k.To}
		}
		if prevents(ix.Stretches(ix.Outages[k.Node])) {
			return DurableNodes, []int{facts.Before(ix.Crashes[k.Node], k.To)}
		}
		var waits []facts.Stretch
		late := -1
		for _, i := range ix.Tardy[a.Client] {
			if e := ix.Events[i]; e.Sent < life.To && life.From <= e.At && (e.By == k.Node || e.Process == k.Node) {
				waits, late = append(waits, facts.Stretch{From: e.Sent, To: e.At}), i
			}
		}
		waits = facts.Merge(waits)
		if slices.ContainsFunc(waits, func(w facts.Stretch) bool {
			return w.To-w.From >= (life.To-life.From)/2 && prevents([]facts.Stretch{w})
		}) {
			return BoundedDelay, []int{late}
		}
		if k.Timed > ix.At(k.From) && slices.ContainsFunc(waits, func(w facts.Stretch) bool { return w.To == k.Timed }) { // it had given up renewal
			return BoundedDelay, []int{late}
		}
	}
	return None, nil
}

// renewing reports whether a lock renews a lease by itself: it says so, or it has done so.
func (ix *index) renewing(l *facts.Lease) bool {
	return ix.Events[l.ReturnEvent].Renews || l.Renewed
}

// unrenewed says why a lock that renewed a lease, and never reports one as lost, stopped renewing it.
func (ix *index) unrenewed(l *facts.Lease) (Assumption, []int) {
	if !ix.renewing(l) {
		return None, nil
	}
	if broken, because := ix.untold(l); broken != None {
		return broken, because
	}
	if fault := clockFault(ix, l); fault >= 0 {
		return BoundedClockError, []int{fault}
	}
	return None, nil
}

// before returns the last key of a lease that ended before taker was set, on the same node and under the same name, or nil.
func (ix *index) before(label string, taker facts.Life) *facts.Life {
	var key *facts.Life
	for _, n := range ix.LivesOf[label] {
		if l := &ix.Lives[n]; l.Node == taker.Node && l.Key == taker.Key && l.To <= taker.From {
			key = l
		}
	}
	return key
}

// elsewhere returns a key of a lease that would have prevented taker, but was on another copy of the same node: a client had set
// it there before, and no client removed it. A primary had acknowledged it, and the node that has replaced the primary never
// received it, or not its last deadline; the old primary may have lost it since, as the replica of its successor. It returns nil if there is none.
func (ix *index) elsewhere(label string, taker facts.Life) *facts.Life {
	var key *facts.Life
	for _, n := range ix.LivesOf[label] {
		l := &ix.Lives[n]
		if !l.Vote || l.Group != taker.Group || l.Node == taker.Node || l.Key != taker.Key || l.From > taker.From {
			continue
		}
		if l.To < taker.From && ix.Events[l.To].By != "" && !ix.Servers[ix.Events[l.To].By] {
			continue
		}
		key = l
	}
	return key
}

// forgotten returns the event because of which a key expired although an extension of it would have prevented taker, and the deadline that the
// extension had given it: the node forgot the extension in a crash, or a node was promoted that had not received it. The event is -1 if there
// is none.
func (ix *index) forgotten(key, taker facts.Life) (event int, due time.Duration) {
	if k := ix.elsewhere(key.Label, taker); k != nil {
		set, again := ix.Commanded(*k, taker.From), ix.Commanded(key, taker.From)
		overridden := set < again && !ix.Servers[ix.Events[again].By] // a later command has set the deadline again
		if due := ix.Dues[set]; !overridden && due-facts.Rounding > key.Due() && ix.At(taker.From) < due {
			return ix.promoted(taker), due
		}
	}
	if event, due := ix.Forgot(key); ix.At(taker.From) < due {
		return event, due
	}
	return -1, 0
}

// promoted returns the promotion after which taker could be set although another key existed elsewhere; the setting itself if no
// promotion was seen.
func (ix *index) promoted(taker facts.Life) int {
	if i := facts.Before(ix.Promotions[taker.Group], taker.From); i >= 0 {
		return i
	}
	return taker.From
}

func wallIsOff(e history.Event) bool { return e.Wall > facts.Rounding || e.Wall < -facts.Rounding }

// clockFault returns the fault that made the clocks of a client wrong while it asked for a lease or held it, or -1. A drift lasts
// until the next; a jump or a slew matters only if it happened in that time, because only differences count.
func clockFault(ix *index, l *facts.Lease) int {
	fault := -1
	for _, i := range ix.ClockFaults[l.Client] {
		e := ix.Events[i]
		if e.At >= l.To {
			break
		}
		corrects := e.Op == "drift" && e.PPM == 0
		switch {
		case i < l.InvokeEvent && corrects:
			fault = -1
		case i < l.InvokeEvent && e.Op == "drift":
			fault = i
		case i > l.InvokeEvent && fault < 0 && !corrects:
			fault = i
		}
	}
	return fault
}
