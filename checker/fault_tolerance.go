package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockstep/sim/history"
)

// faultTolerance finds the times in which a client asked for a lock that nobody held, and nobody got it, though no more nodes
// were missing than the lock has to do without. A lock on a majority of N nodes has to do without the others; of two nodes
// neither can be missing. A lock on one node has none to spare, and is measured by the same question all the same: what if it
// fails?
//
// The limit is half a TTL, but at least a second, since the delays of a lock between its tries do not shrink with the TTL.
//
// A node is missing while it, or whatever has taken its place, is crashed, stopped or paused, or cannot be reached by that
// client. A majority of nodes is no use either where keys stand that nobody could have removed, so that all one can do is
// wait for their end: see stands. Those that a client could have removed, and did not, excuse nothing.
//
// The lock itself is at fault: the faults were those that it is said to tolerate. One is not: that a client took a lease that was
// over for one that lasts, because the clocks of the two disagree. The probe is left to deadlock freedom.
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

	// That several clients wait for the same thing is one violation.
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

// maxWait is how long a client may have to wait for a free lock. On real servers, where a TTL is short, the bound of the probe
// extends it.
func (ix *index) maxWait() time.Duration {
	return max(ix.Meta.TTL/2, time.Second) + max(0, ix.Meta.Bound-ix.Meta.TTL)
}

// A need is a stretch of time in which a client asked in vain although it should have got the lock.
type need struct {
	ask
	stretch
	missing int // the nodes that were missing at once, at most
	broken  Assumption
	because []int // the events that show it
}

// nodes says which nodes there were.
func (n need) nodes(ix *index) string {
	total := len(ix.Meta.Nodes)
	switch {
	case n.missing == 0 && total == 1:
		return ix.Meta.Nodes[0] + " was up and in reach"
	case n.missing == 0:
		return "all nodes were up and in reach"
	case total == 1:
		return ix.Meta.Nodes[0] + " was all that failed"
	}
	return fmt.Sprintf("%d of %d nodes were up and in reach", total-n.missing, total)
}

// A dearth says which nodes were missing when.
type dearth struct {
	ix       *index
	primary  map[string][]stretch // by server: when it was the one of its group that took writes
	down     map[string][]stretch // by server
	occupied map[string][]stretch // by node: keys that nobody could have removed
	hindered map[direction][]stretch
	astray   map[direction][]int // messages that were dropped, or under way for so long that the other end was out of reach
}

// newDearth looks at a history through the eyes of a client, who may misread the end of a lease by its clock; if it is empty, of one
// whose clock is right.
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

// primaries returns for each server when it was the one of its group that took writes.
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

// stands returns when a key stood in everybody's way, and could not have been removed: from the beginning if its lease was
// handed out, until it was given back, or its owner gave up giving it back though nothing kept it from the node, or the lease was
// over and only the key has no end; from when its
// owner had crashed, had been paused, or could not reach the node, or the node was down, so that the owner may have missed its
// chance to remove it; if it was never handed out, from when a message to the node was lost or long under way, which may have been
// the one to remove it, or a reply that is not about the key being set, but what its client waits for before it sends that one, such
// as NOSCRIPT; and when it outlived its time, because the clock of the node was wrong. A stretch that is empty is none.
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
		} else if back < s.from { // the lock thinks that it is gone
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
				continue // that nobody knew of the key is no reason to leave it
			}
			if t := d.gone(i); asked.from <= t && t < asked.to {
				s.from = min(s.from, max(t, begin))
			}
		}
	}
	return s
}

// forfeited returns from when on a key that has no end is no excuse any more, because its lease had one: a lock that says so, such
// as one that compares a timestamp, has to let others take it then. Never if the key has an end, or the lease has none. Clocks may
// be a little slow, as in [keyLife.overdue].
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

// misread returns when a client took a key for one whose lease lasts, though it did not, since its wall clock was behind the one of the
// key's owner.
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

// misled finds out which needs of a client were due to a clock: those that it would not have if what its clock told it were true.
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

// request is the first word of the request that has set a key, as far as the history knows it.
func (d *dearth) request(k keyLife) string {
	for i := k.from; i >= 0; i-- {
		if e := d.ix.Events[i]; e.Kind == history.Message && e.Op == history.Deliver && e.Process == k.node && e.By == history.Client(k.label) {
			return e.Word
		}
	}
	return ""
}

// letGo returns when a Release of the lease of a key returned, whatever it said, although its client, the node and the link
// between them had been in order all the while, and no message on it was lost or long under way: it was not the world that
// kept the key there.
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

// lost reports whether a message did not arrive from one process at another while an operation of one of them was in progress:
// it was dropped, or had left before the outcome and was as good as gone, or a chosen one was still being kept.
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

// gone returns when a message that did not arrive, or late, was lost: when it was dropped, or had left.
func (d *dearth) gone(i int) time.Duration {
	if e := d.ix.Events[i]; e.Op != history.Drop {
		return e.Departure()
	}
	return d.ix.at(i)
}

// trouble returns when a client may have missed its chance to remove a key from a server.
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
	missing := map[string][]stretch{} // by node
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
	most := spare // that may be missing
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

// holds returns when somebody could rely on a lock: from the grant until a Release of the lease returned, whatever it said, or
// else the lease had ended. Keys that are left all the same may still stand in the way.
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

// missing returns when no copy of a node that takes writes was up and in reach of a client.
func (d *dearth) missing(client, node string) []stretch {
	var there []stretch
	for p, group := range d.ix.groups {
		if group == node {
			there = append(there, without(without(d.primary[p], d.down[p]), d.ix.apart(client, p))...)
		}
	}
	return without([]stretch{{0, never}}, merge(there))
}

// outagesIn returns the faults by which lock nodes were down in a stretch of time.
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
