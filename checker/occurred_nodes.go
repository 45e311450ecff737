package checker

import (
	"slices"
	"strconv"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// late reports whether a key lived longer than its TTL, by more than the allowance for drift of Redlock (one percent, and some
// milliseconds for the resolution of Redis). A key that still exists at the end lived until then.
func (ix *index) late(l facts.Life) bool {
	return l.Promise != history.NoEnd && ix.Lifetime(l) > l.Promise+l.Promise/100+10*time.Millisecond
}

// restarts compares the restarts of the node with the end of the lease that the client had got last before each.
func (m Must) restarts(ix *index, compare func(restart, end time.Duration) bool) bool {
	var current *facts.Lease
	return ix.some(func(_ int, e history.Event) bool {
		if m.ends(e, history.OK) {
			current = ix.Lease(e.Lease)
		}
		return current != nil && m.restarted(e) && compare(e.At, current.End)
	})
}

// restartsByWall looks for a restart of the node at which its own wall clock had passed the end of the lease that the client had
// obtained last. A restart that is delayed for a TTL by that clock comes at such a time.
func (m Must) restartsByWall(ix *index) bool {
	var current *facts.Lease
	return ix.some(func(_ int, e history.Event) bool {
		if m.ends(e, history.OK) {
			current = ix.Lease(e.Lease)
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
	return slices.ContainsFunc(ix.Outages[m.nodes], func(s facts.Span) bool {
		if s.To == len(ix.Events) || !m.restarted(ix.Events[s.To]) {
			return false
		}
		return m.someKey(ix, func(l facts.Life) bool {
			if l.From > s.From || l.To < s.From {
				return false
			}
			if ix.At(l.To) > ix.At(s.To) || l.To == len(ix.Events) {
				return !lost
			}
			return lost && ix.Events[l.To].Op == history.Lose
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
	return m.someKey(ix, func(l facts.Life) bool {
		return l.From < promotion && (l.To > promotion || ix.Early(l))
	})
}

// lacksCopy reports whether a key of the client that should still exist was set on another copy of the node, and was not on this
// one when it was promoted.
func (m Must) lacksCopy(ix *index, promotion int) bool {
	return !m.hasCopy(ix, promotion) && slices.ContainsFunc(ix.Lives, func(l facts.Life) bool {
		return history.Client(l.Label) == m.client && l.Vote && l.Group == ix.Groups[m.nodes] && l.Node != m.nodes &&
			l.From < promotion && (l.To > promotion || ix.Events[l.To].By == "") && ix.At(promotion) < l.Due()
	})
}

// neverHas looks for a key of the client that was set on another copy of the node, and checks that none ever came to this one.
func (m Must) neverHas(ix *index) bool {
	elsewhere := slices.ContainsFunc(ix.Lives, func(l facts.Life) bool {
		return history.Client(l.Label) == m.client && l.Vote && l.Group == ix.Groups[m.nodes] && l.Node != m.nodes
	})
	return elsewhere && !m.someKey(ix, func(facts.Life) bool { return true })
}

// lacksFence reports whether another copy of the node had drawn a later fencing token than those that the node knew when it was
// promoted.
func (m Must) lacksFence(ix *index, promotion int) bool {
	known := ix.fenceOn(m.nodes, promotion)
	for p, group := range ix.Groups {
		if group == ix.Groups[m.nodes] && ix.fenceOn(p, promotion) > known {
			return true
		}
	}
	return false
}

// fenceOn returns the value of the counter of fencing tokens on a server before event i.
func (ix *index) fenceOn(server string, i int) int64 {
	j := facts.Before(ix.Fences[server], i)
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
	var asked []facts.Stretch // instants
	for i, e := range ix.Events {
		switch {
		case e.Kind != history.Message:
		case e.Op == history.Deliver && e.By == m.nodes && e.Process == m.client:
			replies = append(replies, i)
			instants = append(instants, e.At)
		case e.By == m.client && e.Process == m.nodes:
			asked = append(asked, facts.Stretch{From: e.Sent, To: e.Sent + 1})
		}
	}
	asked = facts.Merge(asked)
	away := facts.Merge(slices.Concat(ix.Stretches(ix.Pauses[m.nodes]), ix.Apart(m.client, m.nodes)))
	return slices.ContainsFunc(ix.Invokes[m.client], func(in int) bool {
		if ix.Events[in].Op != history.Acquire || m.down(ix, in) {
			return false
		}
		out, answered := ix.Outcome[in]
		if !answered {
			out = len(ix.Events)
		}
		try := facts.Stretch{From: ix.At(in), To: ix.At(out) + 1}
		if reply := facts.After(replies, in); reply < 0 || reply >= out {
			_, requested := facts.Touches(asked, try)
			_, hindered := facts.Touches(away, try)
			return requested || hindered
		}
		for request, found := facts.Touches(asked, try); found; request, found = facts.Touches(asked, try) {
			n, _ := slices.BinarySearch(instants, request.From+1) // a reply and the next request may have the same time
			if n == len(instants) || instants[n]-request.From > ix.Meta.TTL/2 {
				return true
			}
			try.From = request.To
		}
		return false
	})
}
