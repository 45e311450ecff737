package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// faultTolerance finds the times in which a client asked for a lock that nobody held, and nobody got it, though no more nodes
// were missing than the lock has to tolerate. A lock on a majority of N nodes has to tolerate a minority; of two nodes neither
// may be missing. A lock on one node cannot tolerate its loss, but the property is checked for it as well, to show what happens
// then.
//
// The limit is half a TTL, but at least a second, because the delays of a lock between its tries do not scale with the TTL.
//
// A node is missing while it, or the replica that replaced it, is crashed, stopped or paused, out of reach of that client, or refuses
// writes because it has too few replicas. A majority of nodes does not help either if it has keys that nobody could have removed, so
// that clients can only wait for them to expire: see stands. If there is only one node, it is not missing while it is up and refuses
// the client for one of these two reasons: then nothing that a lock does can help. Keys that a client could have removed, but did not,
// are no excuse.
//
// The lock itself is at fault, because the faults were those that it should tolerate. There are two exceptions. A client believed that a
// lease was valid although it was over, because the clocks of two clients disagree. Or the owner of a lease believed that it was over,
// because its wall clock had been set forward, and so sent no release. The probe is checked by deadlock freedom.
func faultTolerance(ix *index) (found []Violation) {
	// If several clients wait for the same thing, that is one violation.
	reported := map[string]time.Duration{}
	for _, n := range ix.unserved() {
		if end, known := reported[n.lock]; known && n.From < end {
			reported[n.lock] = max(end, n.To)
			continue
		}
		reported[n.lock] = n.To
		found = append(found, Violation{
			Property:   FaultTolerance,
			At:         n.From + ix.maxWait(),
			What:       n.what(ix) + " and " + n.nodes(ix),
			Assumption: n.broken,
			Missing:    n.missing,
			Events:     proof(append(append(ix.outagesIn(n.Stretch), n.because...), n.first, n.last)...),
		})
	}
	return found
}

// unserved returns all needs, in the order of their beginnings. They are computed only once.
func (ix *index) unserved() []need {
	if ix.needs != nil || ix.Meta.TTL <= 0 || len(ix.Meta.Nodes) == 0 {
		return ix.needs
	}
	ix.needs = []need{}
	var d *dearth
	for _, a := range ix.asks() {
		if a.client == ix.Meta.Probe || a.To-a.From <= ix.maxWait() || ix.owes(a) {
			continue
		}
		if d == nil || d.lock != a.lock {
			d = newDearth(ix, a.lock, "")
		}
		if found := d.needs(a); len(found) > 0 {
			ix.misled(found)
			ix.needs = append(ix.needs, found...)
		}
	}
	slices.SortStableFunc(ix.needs, func(a, b need) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To)) })
	return ix.needs
}

// owes reports whether a client asks for a lock without having released its last lease of it. In a scenario, a client that finds its lease
// over drops it without a Release. In real code a deferred call would release it; until then its own lock may refuse it.
func (ix *index) owes(a ask) bool {
	last := ""
	for _, l := range ix.Leases {
		if l.Client == a.client && l.Lock == a.lock && l.ReturnEvent < a.first {
			last = l.Label
		}
	}
	return last != "" && !slices.ContainsFunc(ix.Releases[last], func(in int) bool { return in < a.first })
}

// maxWait is how long a client may have to wait for a free lock. On real servers, where TTLs are short, the bound of the probe
// extends it.
func (ix *index) maxWait() time.Duration {
	return max(ix.Meta.TTL/2, time.Second) + max(0, ix.Meta.Bound-ix.Meta.TTL)
}

// A need is a stretch of time in which a client asked in vain although it should have got the lock.
type need struct {
	ask
	facts.Stretch
	missing int // the largest number of nodes that were missing at once
	broken  Assumption
	because []int // the events that show broken
}

func (n need) what(ix *index) string {
	return fmt.Sprintf("%s asked for %s, and from %s to %s nobody got it, though nobody held it", n.client, ix.TheLock(n.lock), history.Seconds(n.From), history.Seconds(n.To))
}

// nodes says how many nodes were available.
func (n need) nodes(ix *index) string {
	total := len(ix.Meta.Nodes)
	switch {
	case n.missing == 0 && total == 1:
		return ix.Meta.Nodes[0] + " was up and in reach"
	case n.missing == 0:
		return "all nodes were up and in reach"
	case total == 1:
		return "only " + ix.Meta.Nodes[0] + " had failed"
	}
	return fmt.Sprintf("%d of %d nodes were up and in reach", total-n.missing, total)
}

// A dearth records which nodes were missing when.
type dearth struct {
	ix       *index
	lock     string
	primary  map[string][]facts.Stretch // by server: when it accepted the writes of its group
	down     map[string][]facts.Stretch // by server
	occupied map[string][]facts.Stretch // by node: keys of this lock that nobody could have removed
	refusing map[string][]facts.Stretch // by server
	hindered map[facts.Direction][]facts.Stretch
	astray   map[facts.Direction][]int // messages that were dropped, or took so long that the other end counts as out of reach
}

// newDearth makes the dearth of a lock from the view of a client, whose clock may mislead it about the end of a lease. If client
// is empty, the view is that of a client with a right clock.
func newDearth(ix *index, lock, client string) *dearth {
	d := &dearth{ix: ix, lock: lock, primary: ix.primaries(), down: map[string][]facts.Stretch{}, occupied: map[string][]facts.Stretch{}, refusing: map[string][]facts.Stretch{}, hindered: map[facts.Direction][]facts.Stretch{}, astray: map[facts.Direction][]int{}}
	for i, e := range ix.Events {
		if e.Kind == history.Message && (e.Op == history.Drop || ix.OutOfReach(e.At-e.Departure())) {
			link := facts.Direction{From: e.By, To: e.Process}
			d.astray[link] = append(d.astray[link], i)
		}
	}
	for p := range ix.Groups {
		d.down[p] = facts.Merge(append(ix.Stretches(ix.Outages[p]), ix.Stretches(ix.Pauses[p])...))
		d.refusing[p] = ix.refusing(p)
	}
	for _, k := range ix.Lives {
		if l := ix.Lease(k.Label); l != nil && l.Lock != lock {
			continue // a key of another lock does not matter
		}
		times := []facts.Stretch{d.stands(k)}
		if client != "" {
			remained, _ := ix.takenForOver(k)
			times = slices.Concat(times, ix.misread(k, client), remained)
		}
		for _, s := range times {
			for _, p := range d.primary[k.Node] {
				if max(s.From, p.From) < min(s.To, p.To) {
					d.occupied[k.Group] = append(d.occupied[k.Group], facts.Stretch{From: max(s.From, p.From), To: min(s.To, p.To)})
				}
			}
		}
	}
	for n := range d.occupied {
		d.occupied[n] = facts.Merge(d.occupied[n])
	}
	return d
}

// refusing returns when a server refused writes because it had too few replicas: from a reply that says so until it answers the same command
// otherwise. A fault, or the end of one, may change it: after that, only another such reply tells.
func (ix *index) refusing(server string) (s []facts.Stretch) {
	refuses := func(e history.Event) bool { return strings.HasPrefix(e.Value, "NOREPLICAS") }
	for _, refusal := range ix.Events {
		if refusal.Kind != history.Message || refusal.By != server || !refuses(refusal) {
			continue
		}
		from, to := refusal.Departure(), never
		for _, e := range ix.Events {
			answer := e.Kind == history.Message && e.By == server && e.Word == refusal.Word && !refuses(e)
			if (answer || e.Kind == history.Injected) && e.Departure() > from {
				to = min(to, e.Departure())
			}
		}
		s = append(s, facts.Stretch{From: from, To: to})
	}
	return facts.Merge(s)
}

// primaries returns when each server accepted the writes of its group.
func (ix *index) primaries() map[string][]facts.Stretch {
	leading := map[string][]facts.Stretch{}
	since := map[string]time.Duration{}
	for _, n := range ix.Meta.Nodes {
		since[n] = 0
	}
	for _, e := range ix.Events {
		if e.Kind != history.State || ix.Groups[e.Process] == "" {
			continue
		}
		from, leads := since[e.Process]
		switch {
		case e.Op == history.Promoted && !leads:
			since[e.Process] = e.At
		case e.Op == history.Followed && leads:
			leading[e.Process] = append(leading[e.Process], facts.Stretch{From: from, To: e.At})
			delete(since, e.Process)
		}
	}
	for p := range ix.Groups {
		if from, leads := since[p]; leads {
			leading[p] = append(leading[p], facts.Stretch{From: from, To: never})
		}
		leading[p] = facts.Merge(leading[p])
	}
	return leading
}

// stands returns when a key was in everybody's way and could not have been removed. An empty stretch means never. The stretch
// begins
//
//   - with the key, if its lease was obtained while the key was there; it ends when the lease is released, when its owner stops
//     trying to release it although the node was in reach, or when the lease is over but the key has no end, or ends much later than the
//     client asked for;
//   - when the owner crashed, was paused, or could not reach the node, or the node was down, because the owner may then have
//     missed its chance to remove the key;
//   - if the lease was not obtained, or only after the key had gone, when a message to the node that may have been meant to
//     remove the key was lost or late, or a reply that the client waits for before it sends that message, such as NOSCRIPT;
//   - when the key outlived its time, because the clock of the node was wrong.
func (d *dearth) stands(k facts.Life) facts.Stretch {
	ix := d.ix
	s := facts.Stretch{From: never, To: never}
	if k.To < len(ix.Events) {
		s.To = ix.At(k.To)
	}
	begin := ix.At(k.From)
	sent := min(ix.Events[k.From].Departure(), begin)
	asked := facts.Stretch{From: sent, To: max(s.To, begin)}
	owner := history.Client(k.Label)
	if t, ok := facts.Touches(d.trouble(owner, k.Node), asked); ok {
		s.From = max(t.From, begin)
	}
	s.From = min(s.From, max(begin, k.Overdue()))
	if l := ix.Lease(k.Label); l != nil && s.To > l.Granted {
		s.To = min(s.To, ix.forfeited(k), ix.outlasting(k))
		if back, ok := d.letGo(k); !ok {
			s.From = begin
		} else if back < s.From { // the lock takes the key to be gone
			return facts.Stretch{From: begin, To: min(back, s.To)}
		} else {
			s.From = begin
		}
		return s
	}
	request := d.request(k)
	for _, link := range []facts.Direction{{From: owner, To: k.Node}, {From: k.Node, To: owner}} {
		for _, i := range d.astray[link] {
			if link.From == k.Node && ix.Events[i].Word == request {
				continue // not knowing of the key is no excuse for leaving it
			}
			if t := d.gone(i); asked.From <= t && t < asked.To {
				s.From = min(s.From, max(t, begin))
			}
		}
	}
	return s
}

// forfeited returns when a key without an end stops being an excuse because its lease has ended: a lock with such ends, for
// example one that compares timestamps, has to let others take over then. It returns never if the key has an end, or the lease
// has none. Clocks may be a little slow, as in [facts.Life.Overdue]. What the node heard from the client while that held the lease may have been an
// extension that changed an end in the value, and that end may be a time by the clock of the node.
func (ix *index) forfeited(k facts.Life) time.Duration {
	holds := ix.HoldsOf[k.Label]
	if k.Promise != history.NoEnd || len(holds) == 0 {
		return never
	}
	var end time.Duration
	for _, n := range holds {
		if ix.Holds[n].Endless {
			return never
		}
		end = max(end, ix.Holds[n].End)
	}
	// The request that set this key may have been such an extension, too: one that sets the key again.
	if set := ix.Events[k.From]; set.By == "" || set.By == history.Client(k.Label) {
		if h := ix.HoldAt(k.Label, set.Departure()); h.ReturnEvent < k.From && h.From <= set.Departure() && set.Departure() <= h.End {
			end = max(end, facts.Later(set.At, ix.LongestTTL(k.Label)))
		}
	}
	var back time.Duration // by how much the clock of the node was set back
	for _, e := range ix.Events[k.From:min(k.To+1, len(ix.Events))] {
		if e.Process != k.Node {
			continue
		}
		back = max(back, ix.Events[k.From].Wall-e.Wall)
		if e.Op == history.Deliver && e.By == history.Client(k.Label) {
			if h := ix.HoldAt(k.Label, e.Departure()); h != nil && h.From <= e.Departure() && e.Departure() <= h.End {
				end = max(end, facts.Later(e.At, ix.LongestTTL(k.Label)))
			}
		}
	}
	return facts.Later(end, back+ix.Meta.TTL/100+10*time.Millisecond)
}

// outlasting returns when a key stops being an excuse because it was set for longer than the client asked for: when the lease has ended, and the
// longest TTL for which the client acquired or extended the lease has passed since the node heard from the client. What it heard may have been an
// extension that changed an end in the value. It returns never if the key was not set for longer, or if the clock of the client is why. A lock may
// round a TTL up to seconds and add some to it: a key is set for longer if it was to last for more than twice the TTL and a second.
func (ix *index) outlasting(k facts.Life) time.Duration {
	asked := ix.LongestTTL(k.Label)
	if k.Promise <= 2*asked+time.Second || k.Promise == history.NoEnd || ix.postdated(k) < never {
		return never
	}
	var end time.Duration
	for _, n := range ix.HoldsOf[k.Label] {
		end = max(end, ix.Holds[n].End)
	}
	heard := k.Timed
	for _, e := range ix.Events[k.From:min(k.To, len(ix.Events))] {
		if e.Op == history.Deliver && e.Process == k.Node && e.By == history.Client(k.Label) {
			heard = max(heard, e.At)
		}
	}
	return max(facts.Later(heard, asked), end)
}

// postdated returns when a key should have ended whose deadline a client computed from its wall clock, which was ahead; never if that clock does
// not explain by how much the key was to outlast the TTL that was asked for.
func (ix *index) postdated(k facts.Life) time.Duration {
	set := k.Set
	for set >= 0 && ix.Events[set].Process != history.Client(k.Label) {
		set--
	}
	asked := ix.LongestTTL(k.Label)
	if excess := k.Promise - asked; set < 0 || k.Promise == history.NoEnd || excess <= facts.Rounding || excess > ix.Events[set].Wall+facts.Rounding {
		return never
	}
	return facts.Later(k.Timed, asked)
}

// misread returns when a client took the lease of a key for a valid one although it was over, because its wall clock was behind
// that of the key's owner.
func (ix *index) misread(k facts.Life, client string) []facts.Stretch {
	over := ix.forfeited(k)
	if over == never || k.To < len(ix.Events) && ix.At(k.To) <= over { // it was gone by then
		return nil
	}
	var s []facts.Stretch
	var owner time.Duration // how far its wall clock was ahead of true time when the key was set
	for i, e := range ix.Events {
		if e.Process == history.Client(k.Label) && i <= k.From {
			owner = e.Wall
		}
		if e.Process != client || i < k.From || i > k.To {
			continue
		}
		if last := len(s) - 1; last >= 0 {
			s[last].To = min(s[last].To, e.At)
		}
		s = append(s, facts.Stretch{From: max(over, e.At), To: facts.Later(over, owner-e.Wall)})
	}
	return facts.Merge(s)
}

// misled marks the needs of a client that are due to a clock: those that would not exist if its clock, and that of the key's owner, were
// right.
func (ix *index) misled(needs []need) {
	client := needs[0].client
	var keys []facts.Life
	for _, k := range ix.Lives {
		if l := ix.Lease(k.Label); l != nil && l.Lock != needs[0].lock {
			continue // a key of another lock does not matter
		}
		if remained, _ := ix.takenForOver(k); len(remained) > 0 || len(ix.misread(k, client)) > 0 {
			keys = append(keys, k)
		}
	}
	var still []need
	if len(keys) > 0 {
		still = newDearth(ix, needs[0].lock, client).needs(needs[0].ask)
	}
	for n := range needs {
		needs[n].broken = None
		overlaps := func(o need) bool { return o.From < needs[n].To && needs[n].From < o.To }
		if len(keys) == 0 || slices.ContainsFunc(still, overlaps) {
			continue
		}
		needs[n].broken = BoundedClockError
		for _, k := range keys {
			if ix.At(k.From) < needs[n].To && (k.To == len(ix.Events) || needs[n].From < ix.At(k.To)) {
				_, faults := ix.takenForOver(k)
				needs[n].because = append(append(needs[n].because, faults...), k.From, facts.Before(ix.ClockFaults[client], k.To), facts.Before(ix.ClockFaults[history.Client(k.Label)], k.From))
			}
		}
	}
}

// request returns the first word of the request that set a key, if the history has it.
func (d *dearth) request(k facts.Life) string {
	for i := k.From; i >= 0; i-- {
		if e := d.ix.Events[i]; e.Kind == history.Message && e.Op == history.Deliver && e.Process == k.Node && e.By == history.Client(k.Label) {
			return e.Word
		}
	}
	return ""
}

// letGo returns when a Release of the lease of a key returned, whatever its outcome, or an extension that found the lease lost, if its client,
// the node and the link between them had worked all the time, and no message was lost or late: the environment did not keep the key there. A Release that began
// before a late request set the key does not count, because its own request may have overtaken that one. It does count if the key had
// been there before: then the lock asked for it twice. An extension always counts if it sent a request, got no answer, and still reported the
// lease as lost before its end: the lock could not know that.
func (d *dearth) letGo(k facts.Life) (time.Duration, bool) {
	ix := d.ix
	owner := history.Client(k.Label)
	late := ix.OutOfReach(ix.At(k.From)-ix.Events[k.From].Departure()) && !slices.ContainsFunc(ix.LivesOf[k.Label], func(n int) bool {
		return ix.Lives[n].Node == k.Node && ix.Lives[n].From < k.From
	})
	for _, in := range ix.givenUp(k.Label) {
		out, ok := ix.Outcome[in]
		if !ok || late && in < k.From {
			continue
		}
		_, hindered := facts.Touches(d.trouble(owner, k.Node), facts.Stretch{From: ix.At(in), To: ix.At(out) + 1})
		if !hindered && !d.lost(owner, k.Node, in, out) && !d.lost(k.Node, owner, in, out) || ix.guessed(k.Label, in, out) {
			return ix.At(out), true
		}
	}
	return 0, false
}

// guessed reports whether an extension found a lease lost before its end, although its request had not been answered.
func (ix *index) guessed(label string, in, out int) bool {
	hold := ix.HoldAt(label, ix.At(in))
	return ix.Events[in].Op == history.Extend && hold != nil && hold.From <= ix.At(in) && ix.At(out) < hold.End && ix.Unanswered(history.Client(label), in, out)
}

// givenUp returns, in order, the calls after which a lock no longer keeps a lease: the releases of that lease, and the extensions that
// found it lost.
func (ix *index) givenUp(label string) []int {
	calls := slices.Clone(ix.Releases[label])
	for _, out := range ix.Losses[label] {
		if in, ok := ix.Invocation[out]; ok {
			calls = append(calls, in)
		}
	}
	slices.Sort(calls)
	return calls
}

// takenForOver returns the times in which a key remained because its owner gave the lease up without a request, in the belief that the lease
// was over. The owner may have believed so if its wall clock had gained at least the rest of the lease since the call began in which the lock
// last said when the lease ends, and if the call took less than a millisecond: then the owner has looked at nothing but that clock.
// takenForOver also returns the clock faults that explain this.
func (ix *index) takenForOver(k facts.Life) (remained []facts.Stretch, faults []int) {
	calls := ix.givenUp(k.Label)
	end := min(ix.forfeited(k), ix.outlasting(k))
	if k.To < len(ix.Events) {
		end = min(end, ix.At(k.To))
	}
	for n, in := range calls {
		out, returned := ix.Outcome[in]
		hold := ix.HoldAt(k.Label, ix.At(in))
		if hold == nil || !returned || in < k.From || in > k.To || ix.At(out)-ix.At(in) >= time.Millisecond || ix.Asked(hold.Client, in, out) {
			continue
		}
		left := hold.End - ix.At(in)
		told := hold.ReturnEvent // when the lock last said when the lease ends
		for i := told + 1; i < in; i++ {
			if e := ix.Events[i]; e.Lease == k.Label && e.Process == hold.Client && e.Until != 0 {
				told = i
			}
		}
		since := told
		if call, ok := ix.Invocation[told]; ok {
			since = call // in which the lock may have read the clock
		}
		gained := ix.Events[in].Wall - ix.Events[since].Wall
		if left <= 0 || gained < left {
			continue
		}
		until := end
		if n+1 < len(calls) {
			until = min(until, ix.At(calls[n+1])) // the next call is judged by itself
		}
		remained = append(remained, facts.Stretch{From: ix.At(out), To: until})
		faults = append(faults, facts.Before(ix.ClockFaults[hold.Client], in))
	}
	return remained, faults
}

// lost reports whether a message from one process to another did not arrive during an operation of one of them: it was dropped,
// it left before the outcome and counts as lost, or a fault was still holding it. A message that a fault held for no longer than a node may
// take to answer is in reach.
func (d *dearth) lost(from, to string, in, out int) bool {
	link := facts.Direction{From: from, To: to}
	end := d.ix.At(out)
	held := slices.ContainsFunc(d.ix.KeptBack[link], func(s facts.Stretch) bool { return s.From <= end && end < s.To && d.ix.OutOfReach(s.To-s.From) })
	return held || slices.ContainsFunc(d.astray[link], func(i int) bool {
		e := d.ix.Events[i]
		if i < out {
			return i > in && e.Op == history.Drop
		}
		return d.ix.At(in) <= e.Departure() && e.Departure() < d.ix.At(out)
	})
}

// gone returns when a message that did not arrive, or arrived late, was lost: when it was dropped, or sent.
func (d *dearth) gone(i int) time.Duration {
	if e := d.ix.Events[i]; e.Op != history.Drop {
		return e.Departure()
	}
	return d.ix.At(i)
}

// trouble returns the times in which a client may have missed its chance to remove a key from a server.
func (d *dearth) trouble(client, server string) []facts.Stretch {
	link := facts.Direction{From: client, To: server}
	s, known := d.hindered[link]
	if !known {
		s = facts.Merge(slices.Concat(
			d.ix.Stretches(d.ix.Outages[client]), d.ix.Stretches(d.ix.Pauses[client]), d.ix.Apart(client, server), d.down[server]))
		d.hindered[link] = s
	}
	return s
}

// needs returns the parts of an ask in which somebody should have got the lock.
func (d *dearth) needs(a ask) []need {
	ix := d.ix
	blocked := facts.Merge(append(d.holds(a.lock), ix.Stretches(ix.Pauses[a.client])...))
	missing := map[string][]facts.Stretch{} // missing nodes, by node
	for _, n := range ix.Meta.Nodes {
		missing[n] = d.missing(a.client, n)
		if len(ix.Meta.Nodes) == 1 { // not while it is up and would refuse the client even if its messages arrived in time
			refuses := facts.Without(facts.Merge(slices.Concat(d.occupied[n], d.missing("", n))), d.allDown(n))
			missing[n] = facts.Without(missing[n], refuses)
			blocked = facts.Merge(append(blocked, refuses...))
		}
	}
	instants := []time.Duration{a.From}
	note := func(s []facts.Stretch) {
		for _, x := range s {
			for _, t := range []time.Duration{x.From, x.To} {
				if a.From < t && t < a.To {
					instants = append(instants, t)
				}
			}
		}
	}
	note(blocked)
	for _, n := range ix.Meta.Nodes {
		note(missing[n])
		note(d.occupied[n])
	}
	slices.Sort(instants)
	instants = append(slices.Compact(instants), a.To)

	var found []need
	total := len(ix.Meta.Nodes)
	spare := total - ix.Meta.Quorum()
	most := spare // the most nodes that may be missing
	if total == 1 {
		most = 1
	}
	for n, t := range instants[:len(instants)-1] {
		gone, taken := 0, 0
		for _, node := range ix.Meta.Nodes {
			switch {
			case facts.Covers(missing[node], t):
				gone++
			case facts.Covers(d.occupied[node], t):
				taken++
			}
		}
		if facts.Covers(blocked, t) || gone > most || taken > 0 && gone+taken > spare {
			continue
		}
		if last := len(found) - 1; last >= 0 && found[last].To == t {
			found[last].To = instants[n+1]
			found[last].missing = max(found[last].missing, gone)
		} else {
			found = append(found, need{ask: a, Stretch: facts.Stretch{From: t, To: instants[n+1]}, missing: gone})
		}
	}
	return slices.DeleteFunc(found, func(n need) bool { return n.To-n.From <= ix.maxWait() })
}

// holds returns the times in which somebody could rely on a lock: from the grant until a Release of the lease returned, whatever
// its outcome, an extension found it lost, or the lease had ended. Keys that are left after that may still be in the way.
func (d *dearth) holds(lock string) []facts.Stretch {
	var held []facts.Stretch
	for _, l := range d.ix.Holds {
		if l.Lock != lock {
			continue
		}
		s := facts.Stretch{From: l.From, To: l.End}
		if d.ix.Lease(l.Label).ReturnEvent == l.ReturnEvent {
			s.From = l.Granted
		}
		for _, in := range d.ix.Releases[l.Label] {
			if out, ok := d.ix.Outcome[in]; ok {
				s.To = min(s.To, d.ix.At(out))
			}
		}
		for _, out := range d.ix.Losses[l.Label] {
			if _, ok := d.ix.Invocation[out]; ok {
				s.To = min(s.To, d.ix.At(out))
			}
		}
		held = append(held, s)
	}
	return held
}

// missing returns when no copy of a node that is to accept writes was up, did accept them, and was in reach of a client. If client is empty, it
// returns when none was up and accepted them.
func (d *dearth) missing(client, node string) []facts.Stretch {
	return d.whileAll(node, func(p string) []facts.Stretch {
		return facts.Merge(slices.Concat(d.down[p], d.refusing[p], d.ix.Apart(client, p)))
	})
}

// allDown returns when no copy of a node that is to accept writes was up.
func (d *dearth) allDown(node string) []facts.Stretch {
	return d.whileAll(node, func(p string) []facts.Stretch { return d.down[p] })
}

// whileAll returns when something was so for all copies of a node that were to accept writes, given when it was so for one.
func (d *dearth) whileAll(node string, one func(server string) []facts.Stretch) []facts.Stretch {
	var not []facts.Stretch
	for p, group := range d.ix.Groups {
		if group == node {
			not = append(not, facts.Without(d.primary[p], one(p))...)
		}
	}
	return facts.Without([]facts.Stretch{{From: 0, To: never}}, facts.Merge(not))
}

// outagesIn returns the faults that had lock nodes down in a stretch of time.
func (ix *index) outagesIn(s facts.Stretch) []int {
	var events []int
	for _, n := range ix.Meta.Nodes {
		for _, x := range slices.Concat(ix.Outages[n], ix.Pauses[n]) {
			if ix.At(x.From) < s.To && (x.To == len(ix.Events) || s.From < ix.At(x.To)) {
				events = append(events, x.From)
			}
		}
	}
	return events
}
