package checker

import (
	"slices"
	"strings"
	"time"

	"lockstep/sim/history"
)

// ends reports whether e is an outcome of an Acquire of the client.
func (m Must) ends(e history.Event, kind history.Kind) bool {
	return e.Process == m.client && e.Kind == kind && e.Op == history.Acquire
}

// answered reports whether e is an outcome of an Acquire of the client other than unknown.
func (m Must) answered(e history.Event) bool { return m.ends(e, history.OK) || m.ends(e, history.Fail) }

// down reports whether all the nodes were crashed at event i.
func (m Must) down(ix *index, i int) bool {
	return m.all(func(node string) []span { return ix.outages[node] }, i)
}

// all reports whether event i falls into one of the spans of each of the nodes.
func (m Must) all(of func(node string) []span, i int) bool {
	for node := range strings.FieldsSeq(m.nodes) {
		if !slices.ContainsFunc(of(node), func(s span) bool { return s.from < i && i < s.to }) {
			return false
		}
	}
	return true
}

// pausesAfterCheck looks for a pause between a check that passed and the release: the point at which, as Kleppmann says, no check
// helps. If a later check fails, there is no danger.
func (m Must) pausesAfterCheck(ix *index) bool {
	passed := false
	return ix.some(func(_ int, e history.Event) bool {
		if e.Process != m.client {
			return false
		}
		switch {
		case e.Op == history.Check && e.Kind != history.Invoke:
			passed = e.Kind == history.OK
		case e.Op == history.Release && e.Kind == history.Invoke:
			passed = false
		case e.Op == "pause" && e.Kind == history.Injected:
			return passed
		}
		return false
	})
}

// resumesAfterLease looks for a pause that begins while the client has a lease, even if a release is in progress, and ends after
// the lease.
func (m Must) resumesAfterLease(ix *index) bool {
	var current, asleep *Lease
	return ix.some(func(_ int, e history.Event) bool {
		if e.Process != m.client {
			return false
		}
		switch {
		case m.ends(e, history.OK):
			current = ix.lease(e.Lease)
		case e.Op == history.Release && e.Kind != history.Invoke:
			current = nil
		case e.Op == "pause" && e.Kind == history.Injected:
			asleep = current
		case e.Op == "resume" && e.Kind == history.Injected:
			return asleep != nil && e.At > asleep.End
		}
		return false
	})
}

// resumesAfterKeys looks for a resume during an operation that had set keys of one lease on a majority, all of which have expired
// since: an Acquire must notice this before it returns.
func (m Must) resumesAfterKeys(ix *index) bool {
	pending := -1
	return ix.some(func(i int, e history.Event) bool {
		if e.Process != m.client {
			return false
		}
		switch {
		case e.Kind == history.Invoke:
			pending = i
		case e.EndsOperation():
			pending = -1
		case e.Op == "resume" && e.Kind == history.Injected && pending >= 0:
			expired := map[string]map[string]bool{} // label → nodes
			for _, l := range ix.lives {
				if history.Client(l.label) != m.client || !l.vote || l.from < pending || l.to >= i || ix.Events[l.to].Op != history.Expire {
					continue
				}
				if expired[l.label] == nil {
					expired[l.label] = map[string]bool{}
				}
				expired[l.label][l.group] = true
				if len(expired[l.label]) >= ix.Meta.Quorum() {
					return true
				}
			}
		}
		return false
	})
}

// holdsExactly looks for a return of Acquire at which these nodes are the only ones with a living key of the lease.
func (m Must) holdsExactly(ix *index) bool {
	wanted := slices.Sorted(strings.FieldsSeq(m.nodes))
	return slices.ContainsFunc(ix.leases, func(l Lease) bool {
		if l.Client != m.client {
			return false
		}
		var nodes []string
		for _, n := range ix.livesOf[l.Label] {
			if k := ix.lives[n]; k.vote && k.from < l.ReturnEvent && l.ReturnEvent < k.to {
				nodes = append(nodes, k.node)
			}
		}
		slices.Sort(nodes)
		return slices.Equal(slices.Compact(nodes), slices.Compact(wanted))
	})
}

// someKey reports whether has is true for some key of the client on the node.
func (m Must) someKey(ix *index, has func(keyLife) bool) bool {
	return slices.ContainsFunc(ix.lives, func(l keyLife) bool {
		return l.node == m.nodes && history.Client(l.label) == m.client && has(l)
	})
}

// late reports whether a key lived longer than its TTL, by more than the allowance for drift of Redlock (one percent, and some
// milliseconds for the resolution of Redis). A key that still exists at the end lived until then.
func (ix *index) late(l keyLife) bool {
	return l.promise != history.NoEnd && ix.lifetime(l) > l.promise+l.promise/100+10*time.Millisecond
}

// restarts compares the restarts of the node in the scenario, not those at the healing, with the end of the lease that the client
// had obtained last before each.
func (m Must) restarts(ix *index, compare func(restart, end time.Duration) bool) bool {
	var current *Lease
	return ix.some(func(_ int, e history.Event) bool {
		if m.ends(e, history.OK) {
			current = ix.lease(e.Lease)
		}
		return current != nil && e.Process == m.nodes && e.Kind == history.Injected && e.ID > 0 && e.Op == "restart" && compare(e.At, current.End)
	})
}

// waits looks for an Acquire, with a known outcome, that is in progress while another client holds the same lock.
func (ix *index) waits(pair func(client, holder string) bool) bool {
	return ix.some(func(i int, e history.Event) bool {
		if e.Op != history.Acquire || e.Kind != history.OK && e.Kind != history.Fail {
			return false
		}
		invoke, ok := ix.invocation[i]
		return ok && slices.ContainsFunc(ix.holds, func(l Lease) bool {
			return l.Lock == e.Lock && pair(e.Process, l.Client) && ix.at(invoke) < l.To && l.From < e.At
		})
	})
}

// reachesOnly looks for an Acquire of the client, or an extension, during which its messages arrived at these nodes and no
// others.
func (m Must) reachesOnly(ix *index) bool {
	wanted := slices.Compact(slices.Sorted(strings.FieldsSeq(m.nodes)))
	return ix.some(func(i int, e history.Event) bool {
		invoke, ok := ix.invocation[i]
		asks := e.Op == history.Acquire || e.Op == history.Extend
		if !ok || !asks || e.Process != m.client || e.Kind == history.Info {
			return false
		}
		var reached []string
		for _, k := range ix.Events[invoke:i] {
			if k.Kind == history.Message && k.Op == history.Deliver && k.By == m.client && ix.groups[k.Process] != "" {
				reached = append(reached, k.Process)
			}
		}
		slices.Sort(reached)
		return slices.Equal(slices.Compact(reached), wanted)
	})
}

// firstAt reports whether the first key that was set on each of the nodes was the client's.
func (m Must) firstAt(ix *index) bool {
	for node := range strings.FieldsSeq(m.nodes) {
		first := ix.find(func(e history.Event) bool { return e.Kind == history.State && e.Op == history.Set && e.Process == node })
		if first < 0 || ix.Events[first].By != m.client {
			return false
		}
	}
	return true
}

// arrives reports whether e is the arrival of a write, or of an update by a word, at the resource.
func arrives(e history.Event, value string) bool {
	return isArrival(e) && (e.Value == value || e.Word == value)
}

// isArrival reports whether e shows that a write arrived at the resource: accepted, refused, or stored as a version.
func isArrival(e history.Event) bool {
	return e.Kind == history.State && (e.Op == history.Accept || e.Op == history.Reject || e.Op == history.Keep)
}

// dropped reports whether e is the loss of a message in a reset of its connection.
func dropped(e history.Event, from, to string) bool {
	return e.Op == history.Drop && e.By == from && e.Process == to
}

// travelled reports whether e is the arrival of a message, even if its receiver has given up the connection.
func travelled(e history.Event, from, to string) bool {
	return e.Kind == history.Message && e.Op != history.Drop && e.By == from && e.Process == to
}

// find returns the first event for which f is true, or -1.
func (ix *index) find(f func(history.Event) bool) int { return slices.IndexFunc(ix.Events, f) }

// some reports whether f is true for some event. It stops at the first.
func (ix *index) some(f func(int, history.Event) bool) bool {
	for i, e := range ix.Events {
		if f(i, e) {
			return true
		}
	}
	return false
}
