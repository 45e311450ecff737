package checker

import (
	"slices"
	"strconv"
	"time"

	"lockstep/sim/history"
)

// late reports whether a key lived longer than its TTL, by more than the allowance for drift of Redlock (one percent, and some
// milliseconds for the resolution of Redis). A key that still exists at the end lived until then.
func (ix *index) late(l keyLife) bool {
	return l.promise != history.NoEnd && ix.lifetime(l) > l.promise+l.promise/100+10*time.Millisecond
}

// restarts compares the restarts of the node with the end of the lease that the client had got last before each.
func (m Must) restarts(ix *index, compare func(restart, end time.Duration) bool) bool {
	var current *Lease
	return ix.some(func(_ int, e history.Event) bool {
		if m.ends(e, history.OK) {
			current = ix.lease(e.Lease)
		}
		return current != nil && m.restarted(e) && compare(e.At, current.End)
	})
}

// restartsByWall looks for a restart of the node at which its own wall clock had passed the end of the lease that the client had
// obtained last. A restart that is delayed for a TTL by that clock comes at such a time.
func (m Must) restartsByWall(ix *index) bool {
	var current *Lease
	return ix.some(func(_ int, e history.Event) bool {
		if m.ends(e, history.OK) {
			current = ix.lease(e.Lease)
		}
		return current != nil && m.restarted(e) && e.At+e.Wall > current.End
	})
}

// restarted reports whether e is a restart of the node in the scenario, not one at the healing.
func (m Must) restarted(e history.Event) bool {
	return e.Process == m.nodes && e.Kind == history.Injected && e.ID > 0 && e.Op == "restart"
}

// restartsWith looks for an outage of the node that began while a key of the client was there: was the key lost? A key that
// expired meanwhile is neither lost nor kept.
func (m Must) restartsWith(ix *index, lost bool) bool {
	return slices.ContainsFunc(ix.outages[m.nodes], func(s span) bool {
		if s.to == len(ix.Events) || !m.restarted(ix.Events[s.to]) {
			return false
		}
		return m.someKey(ix, func(l keyLife) bool {
			if l.from > s.from || l.to < s.from {
				return false
			}
			if ix.at(l.to) > ix.at(s.to) || l.to == len(ix.Events) {
				return !lost
			}
			return lost && ix.Events[l.to].Op == history.Lose
		})
	})
}

// promoted looks for a promotion of the node at which has is true.
func (m Must) promoted(ix *index, has func(ix *index, promotion int) bool) bool {
	return ix.some(func(i int, e history.Event) bool {
		return e.Process == m.nodes && e.Kind == history.State && e.Op == history.Promoted && has(ix, i)
	})
}

// hasCopy reports whether a key of the client was on the node when it was promoted, or had been there until the node's own clock
// ended it.
func (m Must) hasCopy(ix *index, promotion int) bool {
	return m.someKey(ix, func(l keyLife) bool {
		return l.from < promotion && (l.to > promotion || ix.early(l))
	})
}

// lacksCopy reports whether a key of the client that should still exist was set on another copy of the node, and was not on this
// one when it was promoted.
func (m Must) lacksCopy(ix *index, promotion int) bool {
	return !m.hasCopy(ix, promotion) && slices.ContainsFunc(ix.lives, func(l keyLife) bool {
		return history.Client(l.label) == m.client && l.vote && l.group == ix.groups[m.nodes] && l.node != m.nodes &&
			l.from < promotion && (l.to > promotion || ix.Events[l.to].By == "") && ix.at(promotion) < l.due()
	})
}

// neverHas looks for a key of the client that was set on another copy of the node, and checks that none ever came to this one.
func (m Must) neverHas(ix *index) bool {
	elsewhere := slices.ContainsFunc(ix.lives, func(l keyLife) bool {
		return history.Client(l.label) == m.client && l.vote && l.group == ix.groups[m.nodes] && l.node != m.nodes
	})
	return elsewhere && !m.someKey(ix, func(keyLife) bool { return true })
}

// lacksFence reports whether another copy of the node had drawn a later fencing token than those that the node knew when it was
// promoted.
func (m Must) lacksFence(ix *index, promotion int) bool {
	known := ix.fenceOn(m.nodes, promotion)
	for p, group := range ix.groups {
		if group == ix.groups[m.nodes] && ix.fenceOn(p, promotion) > known {
			return true
		}
	}
	return false
}

// fenceOn returns the value of the counter of fencing tokens on a server before event i.
func (ix *index) fenceOn(server string, i int) int64 {
	j := last(ix.fences[server], i)
	if j < 0 {
		return 0
	}
	switch e := ix.Events[j]; e.Op {
	case history.Set, history.Over, history.Retime:
		n, _ := strconv.ParseInt(e.Value, 10, 64)
		return n
	}
	return 0
}

// keepsSilent looks for an Acquire of the client during which the node was running and got a request, but no reply of it arrived,
// or none for half a TTL after a request. It ignores nodes that are paused or out of reach.
func (m Must) keepsSilent(ix *index) bool {
	var replies []int
	var instants []time.Duration
	var asked []stretch // instants
	for i, e := range ix.Events {
		switch {
		case e.Kind != history.Message:
		case e.Op == history.Deliver && e.By == m.nodes && e.Process == m.client:
			replies = append(replies, i)
			instants = append(instants, e.At)
		case e.By == m.client && e.Process == m.nodes:
			asked = append(asked, stretch{e.Sent, e.Sent + 1})
		}
	}
	asked = merge(asked)
	away := merge(slices.Concat(ix.stretches(ix.pauses[m.nodes]), ix.apart(m.client, m.nodes)))
	return slices.ContainsFunc(ix.invokes[m.client], func(in int) bool {
		if ix.Events[in].Op != history.Acquire || m.down(ix, in) {
			return false
		}
		out, answered := ix.outcome[in]
		if !answered {
			out = len(ix.Events)
		}
		try := stretch{ix.at(in), ix.at(out) + 1}
		if reply := first(replies, in); reply < 0 || reply >= out {
			_, requested := touches(asked, try)
			_, hindered := touches(away, try)
			return requested || hindered
		}
		for request, found := touches(asked, try); found; request, found = touches(asked, try) {
			n, _ := slices.BinarySearch(instants, request.from+1) // a reply and the next request may have the same time
			if n == len(instants) || instants[n]-request.from > ix.Meta.TTL/2 {
				return true
			}
			try.from = request.to
		}
		return false
	})
}
