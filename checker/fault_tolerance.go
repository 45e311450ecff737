package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockstep/sim/history"
)

// faultTolerance finds the times in which a client asked for a lock that nobody held, and nobody got it, though no more nodes
// were missing than the lock has to tolerate. A lock on a majority of N nodes has to tolerate a minority; of two nodes neither
// may be missing. A lock on one node cannot tolerate its loss, but the property is checked for it as well, to show what happens
// then.
//
// The limit is half a TTL, but at least a second, because the delays of a lock between its tries do not scale with the TTL.
//
// A node is missing while it, or the replica that replaced it, is crashed, stopped or paused, or out of reach of that client. A
// majority of nodes does not help either if it has keys that nobody could have removed, so that clients can only wait for them to
// expire: see stands. Keys that a client could have removed, but did not, are no excuse.
//
// The lock itself is at fault, because the faults were those that it should tolerate. There is one exception: a client took a
// lease that was over for a valid one, because the clocks of two clients disagree. The probe is checked by deadlock freedom.
func faultTolerance(ix *index) []Violation {
	if ix.Meta.TTL <= 0 || len(ix.Meta.Nodes) == 0 {
		return nil
	}
	var needs []need
	var d *dearth
	for _, a := range ix.asks() {
		if a.client == ix.Meta.Probe || a.to-a.from <= ix.maxWait() {
			continue
		}
		if d == nil {
			d = newDearth(ix, "")
		}
		if found := d.needs(a); len(found) > 0 {
			ix.misled(found)
			needs = append(needs, found...)
		}
	}
	slices.SortStableFunc(needs, func(a, b need) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })

	// If several clients wait for the same thing, that is one violation.
	var found []Violation
	reported := map[string]time.Duration{}
	for _, n := range needs {
		if end, known := reported[n.lock]; known && n.from < end {
			reported[n.lock] = max(end, n.to)
			continue
		}
		reported[n.lock] = n.to
		found = append(found, Violation{
			Property:   FaultTolerance,
			At:         n.from + ix.maxWait(),
			What:       fmt.Sprintf("%s asked for the lock, and from %s to %s nobody got it, though nobody held it and %s", n.client, history.Seconds(n.from), history.Seconds(n.to), n.nodes(ix)),
			Assumption: n.broken,
			Missing:    n.missing,
			Events:     proof(append(append(ix.outagesIn(n.stretch), n.because...), n.first, n.last)...),
		})
	}
	return found
}

// maxWait is how long a client may have to wait for a free lock. On real servers, where TTLs are short, the bound of the probe
// extends it.
func (ix *index) maxWait() time.Duration {
	return max(ix.Meta.TTL/2, time.Second) + max(0, ix.Meta.Bound-ix.Meta.TTL)
}

// A need is a stretch of time in which a client asked in vain although it should have got the lock.
type need struct {
	ask
	stretch
	missing int // the largest number of nodes that were missing at once
	broken  Assumption
	because []int // the events that show broken
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
	primary  map[string][]stretch // by server: when it accepted the writes of its group
	down     map[string][]stretch // by server
	occupied map[string][]stretch // by node: keys that nobody could have removed
	hindered map[direction][]stretch
	astray   map[direction][]int // messages that were dropped, or took so long that the other end counts as out of reach
}

// newDearth makes a dearth from the view of a client, whose clock may mislead it about the end of a lease; if client is empty,
// from that of a client with a right clock.
func newDearth(ix *index, client string) *dearth {
	d := &dearth{ix: ix, primary: ix.primaries(), down: map[string][]stretch{}, occupied: map[string][]stretch{}, hindered: map[direction][]stretch{}, astray: map[direction][]int{}}
	for i, e := range ix.Events {
		if e.Kind == history.Message && (e.Op == history.Drop || ix.outOfReach(e.At-e.Departure())) {
			link := direction{e.By, e.Process}
			d.astray[link] = append(d.astray[link], i)
		}
	}
	for p := range ix.groups {
		d.down[p] = merge(append(ix.stretches(ix.outages[p]), ix.stretches(ix.pauses[p])...))
	}
	for _, k := range ix.lives {
		for _, s := range append(ix.misread(k, client), d.stands(k)) {
			for _, p := range d.primary[k.node] {
				if max(s.from, p.from) < min(s.to, p.to) {
					d.occupied[k.group] = append(d.occupied[k.group], stretch{max(s.from, p.from), min(s.to, p.to)})
				}
			}
		}
	}
	for n := range d.occupied {
		d.occupied[n] = merge(d.occupied[n])
	}
	return d
}

// primaries returns when each server accepted the writes of its group.
func (ix *index) primaries() map[string][]stretch {
	leading := map[string][]stretch{}
	since := map[string]time.Duration{}
	for _, n := range ix.Meta.Nodes {
		since[n] = 0
	}
	for _, e := range ix.Events {
		if e.Kind != history.State || ix.groups[e.Process] == "" {
			continue
		}
		from, leads := since[e.Process]
		switch {
		case e.Op == history.Promoted && !leads:
			since[e.Process] = e.At
		case e.Op == history.Followed && leads:
			leading[e.Process] = append(leading[e.Process], stretch{from, e.At})
			delete(since, e.Process)
		}
	}
	for p := range ix.groups {
		if from, leads := since[p]; leads {
			leading[p] = append(leading[p], stretch{from, never})
		}
		leading[p] = merge(leading[p])
	}
	return leading
}

// stands returns when a key was in everybody's way and could not have been removed. An empty stretch means never. The stretch
// begins
//
//   - with the key, if its lease was obtained; it ends when the lease is released, when its owner stops trying to release it
//     although the node was in reach, or when the lease is over and only the key has no end;
//   - when the owner crashed, was paused, or could not reach the node, or the node was down, because the owner may then have
//     missed its chance to remove the key;
//   - if the lease was not obtained, when a message to the node was lost or late that may have been the one to remove the key, or
//     a reply that the client waits for before it sends that message, such as NOSCRIPT;
//   - when the key outlived its time, because the clock of the node was wrong.
func (d *dearth) stands(k keyLife) stretch {
	ix := d.ix
	s := stretch{never, never}
	if k.to < len(ix.Events) {
		s.to = ix.at(k.to)
	}
	begin := ix.at(k.from)
	sent := min(ix.Events[k.from].Departure(), begin)
	asked := stretch{sent, max(s.to, begin)}
	owner := history.Client(k.label)
	if t, ok := touches(d.trouble(owner, k.node), asked); ok {
		s.from = max(t.from, begin)
	}
	s.from = min(s.from, max(begin, k.overdue()))
	if ix.lease(k.label) != nil {
		s.to = min(s.to, ix.forfeited(k))
		if back, ok := d.letGo(k); !ok {
			s.from = begin
		} else if back < s.from { // the lock takes the key to be gone
			return stretch{begin, min(back, s.to)}
		} else {
			s.from = begin
		}
		return s
	}
	request := d.request(k)
	for _, link := range []direction{{owner, k.node}, {k.node, owner}} {
		for _, i := range d.astray[link] {
			if link.from == k.node && ix.Events[i].Word == request {
				continue // not knowing of the key is no excuse for leaving it
			}
			if t := d.gone(i); asked.from <= t && t < asked.to {
				s.from = min(s.from, max(t, begin))
			}
		}
	}
	return s
}

// forfeited returns when a key without an end stops being an excuse because its lease has ended: a lock with such ends, for
// example one that compares timestamps, has to let others take over then. It returns never if the key has an end, or the lease
// has none. Clocks may be a little slow, as in [keyLife.overdue].
func (ix *index) forfeited(k keyLife) time.Duration {
	holds := ix.holdsOf[k.label]
	if k.promise != history.NoEnd || len(holds) == 0 {
		return never
	}
	var end time.Duration
	for _, n := range holds {
		if ix.holds[n].endless {
			return never
		}
		end = max(end, ix.holds[n].End)
	}
	return later(end, ix.Meta.TTL/100+10*time.Millisecond)
}

// misread returns when a client took the lease of a key for a valid one although it was over, because its wall clock was behind
// that of the key's owner.
func (ix *index) misread(k keyLife, client string) []stretch {
	over := ix.forfeited(k)
	if over == never {
		return nil
	}
	var s []stretch
	var owner time.Duration // how far its wall clock was ahead of true time when the key was set
	for i, e := range ix.Events {
		if e.Process == history.Client(k.label) && i <= k.from {
			owner = e.Wall
		}
		if e.Process != client || i < k.from || i > k.to {
			continue
		}
		if last := len(s) - 1; last >= 0 {
			s[last].to = min(s[last].to, e.At)
		}
		s = append(s, stretch{max(over, e.At), later(over, owner-e.Wall)})
	}
	return merge(s)
}

// misled marks the needs of a client that are due to a clock: those that would not exist if its clock were right.
func (ix *index) misled(needs []need) {
	client := needs[0].client
	keys := slices.DeleteFunc(slices.Clone(ix.lives), func(k keyLife) bool { return len(ix.misread(k, client)) == 0 })
	var still []need
	if len(keys) > 0 {
		still = newDearth(ix, client).needs(needs[0].ask)
	}
	for n := range needs {
		needs[n].broken = None
		overlaps := func(o need) bool { return o.from < needs[n].to && needs[n].from < o.to }
		if len(keys) == 0 || slices.ContainsFunc(still, overlaps) {
			continue
		}
		needs[n].broken = BoundedClockError
		for _, k := range keys {
			if ix.at(k.from) < needs[n].to && (k.to == len(ix.Events) || needs[n].from < ix.at(k.to)) {
				needs[n].because = append(needs[n].because, k.from, last(ix.clockFaults[client], k.to), last(ix.clockFaults[history.Client(k.label)], k.from))
			}
		}
	}
}

// request returns the first word of the request that set a key, if the history has it.
func (d *dearth) request(k keyLife) string {
	for i := k.from; i >= 0; i-- {
		if e := d.ix.Events[i]; e.Kind == history.Message && e.Op == history.Deliver && e.Process == k.node && e.By == history.Client(k.label) {
			return e.Word
		}
	}
	return ""
}

// letGo returns when a Release of the lease of a key returned, whatever its outcome, if its client, the node and the link between
// them had worked all the time, and no message was lost or late: the environment did not keep the key there.
func (d *dearth) letGo(k keyLife) (time.Duration, bool) {
	ix := d.ix
	owner := history.Client(k.label)
	for _, in := range ix.releases[k.label] {
		out, ok := ix.outcome[in]
		if !ok {
			continue
		}
		_, hindered := touches(d.trouble(owner, k.node), stretch{ix.at(in), ix.at(out) + 1})
		if !hindered && !d.lost(owner, k.node, in, out) && !d.lost(k.node, owner, in, out) {
			return ix.at(out), true
		}
	}
	return 0, false
}

// lost reports whether a message from one process to another did not arrive during an operation of one of them: it was dropped,
// it left before the outcome and counts as lost, or a fault was still holding it.
func (d *dearth) lost(from, to string, in, out int) bool {
	link := direction{from, to}
	return covers(d.ix.keptBack()[link], d.ix.at(out)) || slices.ContainsFunc(d.astray[link], func(i int) bool {
		e := d.ix.Events[i]
		if i < out {
			return i > in && e.Op == history.Drop
		}
		return d.ix.at(in) <= e.Departure() && e.Departure() < d.ix.at(out)
	})
}

// gone returns when a message that did not arrive, or arrived late, was lost: when it was dropped, or sent.
func (d *dearth) gone(i int) time.Duration {
	if e := d.ix.Events[i]; e.Op != history.Drop {
		return e.Departure()
	}
	return d.ix.at(i)
}

// trouble returns the times in which a client may have missed its chance to remove a key from a server.
func (d *dearth) trouble(client, server string) []stretch {
	link := direction{client, server}
	s, known := d.hindered[link]
	if !known {
		s = merge(slices.Concat(
			d.ix.stretches(d.ix.outages[client]), d.ix.stretches(d.ix.pauses[client]), d.ix.apart(client, server), d.down[server]))
		d.hindered[link] = s
	}
	return s
}

// needs returns the parts of an ask in which somebody should have got the lock.
func (d *dearth) needs(a ask) []need {
	ix := d.ix
	blocked := merge(append(d.holds(a.lock), ix.stretches(ix.pauses[a.client])...))
	missing := map[string][]stretch{} // missing nodes, by node
	for _, n := range ix.Meta.Nodes {
		missing[n] = d.missing(a.client, n)
	}
	instants := []time.Duration{a.from}
	note := func(s []stretch) {
		for _, x := range s {
			for _, t := range []time.Duration{x.from, x.to} {
				if a.from < t && t < a.to {
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
	instants = append(slices.Compact(instants), a.to)

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
			case covers(missing[node], t):
				gone++
			case covers(d.occupied[node], t):
				taken++
			}
		}
		if covers(blocked, t) || gone > most || taken > 0 && gone+taken > spare {
			continue
		}
		if last := len(found) - 1; last >= 0 && found[last].to == t {
			found[last].to = instants[n+1]
			found[last].missing = max(found[last].missing, gone)
		} else {
			found = append(found, need{ask: a, stretch: stretch{t, instants[n+1]}, missing: gone})
		}
	}
	return slices.DeleteFunc(found, func(n need) bool { return n.to-n.from <= ix.maxWait() })
}

// holds returns the times in which somebody could rely on a lock: from the grant until a Release of the lease returned, whatever
// its outcome, or the lease had ended. Keys that are left after that may still be in the way.
func (d *dearth) holds(lock string) []stretch {
	var held []stretch
	for _, l := range d.ix.holds {
		if l.Lock != lock {
			continue
		}
		s := stretch{l.From, l.End}
		if d.ix.lease(l.Label).ReturnEvent == l.ReturnEvent {
			s.from = l.Granted
		}
		for _, in := range d.ix.releases[l.Label] {
			if out, ok := d.ix.outcome[in]; ok {
				s.to = min(s.to, d.ix.at(out))
			}
		}
		held = append(held, s)
	}
	return held
}

// missing returns when no copy of a node that accepts writes was up and in reach of a client.
func (d *dearth) missing(client, node string) []stretch {
	var there []stretch
	for p, group := range d.ix.groups {
		if group == node {
			there = append(there, without(without(d.primary[p], d.down[p]), d.ix.apart(client, p))...)
		}
	}
	return without([]stretch{{0, never}}, merge(there))
}

// outagesIn returns the faults that had lock nodes down in a stretch of time.
func (ix *index) outagesIn(s stretch) []int {
	var events []int
	for _, n := range ix.Meta.Nodes {
		for _, x := range slices.Concat(ix.outages[n], ix.pauses[n]) {
			if ix.at(x.from) < s.to && (x.to == len(ix.Events) || s.from < ix.at(x.to)) {
				events = append(events, x.from)
			}
		}
	}
	return events
}
