package checker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// acquiresOn looks for a lease of the client that was granted with a key on the node.
func (m Must) acquiresOn(ix *index) bool {
	return slices.ContainsFunc(ix.Leases, func(l facts.Lease) bool {
		return l.Client == m.client && l.GrantSeen && slices.ContainsFunc(ix.LivesOf[l.Label], func(n int) bool {
			k := ix.Lives[n]
			return k.Node == m.nodes && k.Vote && k.From <= l.GrantEvent && l.GrantEvent < k.To
		})
	})
}

// severalWait looks for an instant at which that many clients ask for a lock that is held.
func (m Must) severalWait(ix *index) bool {
	type change struct {
		at            time.Duration
		asking, holds int
	}
	locks := map[string][]change{}
	for _, a := range ix.asks() {
		if a.client != ix.Meta.Probe {
			locks[a.lock] = append(locks[a.lock], change{a.From, 1, 0}, change{a.To, -1, 0})
		}
	}
	for _, l := range ix.Holds {
		if l.Held() {
			locks[l.Lock] = append(locks[l.Lock], change{l.From, 0, 1}, change{l.To, 0, -1})
		}
	}
	for _, changes := range locks {
		// At one instant, ends come before beginnings.
		slices.SortFunc(changes, func(a, b change) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.asking+a.holds, b.asking+b.holds))
		})
		asking, holds := 0, 0
		for _, c := range changes {
			asking, holds = asking+c.asking, holds+c.holds
			if holds > 0 && asking >= m.count {
				return true
			}
		}
	}
	return false
}

// atOnce looks for operations of the two clients that are in progress at the same time.
func (m Must) atOnce(ix *index, op string) bool {
	busy := map[string]bool{}
	return ix.some(func(_ int, e history.Event) bool {
		if e.Op != op || e.Process != m.client && e.Process != m.rival {
			return false
		}
		busy[e.Process] = e.Kind == history.Invoke
		return m.client != m.rival && busy[m.client] && busy[m.rival]
	})
}

// drawSameToken looks for the same value in a SET, or SETNX, of both clients. A known token has the name of the client that sent
// it first.
func (m Must) drawSameToken(ix *index) bool {
	sent := map[[2]string]bool{} // client and value
	return m.client != m.rival && ix.some(func(_ int, e history.Event) bool {
		if e.Kind != history.Message || e.By != m.client && e.By != m.rival {
			return false
		}
		words := strings.Fields(e.Value)
		if len(words) < 3 || words[0] != "SET" && words[0] != "SETNX" {
			return false
		}
		sent[[2]string{e.By, words[2]}] = true
		return sent[[2]string{m.client, words[2]}] && sent[[2]string{m.rival, words[2]}]
	})
}

// acquiresInRelease looks for an Acquire of the client that returns while a Release of the other is in progress.
func (m Must) acquiresInRelease(ix *index) bool {
	releasing := false
	return ix.some(func(_ int, e history.Event) bool {
		if e.Process == m.rival && e.Op == history.Release {
			releasing = e.Kind == history.Invoke
		}
		return releasing && m.ends(e, history.OK)
	})
}

// jumpsInAcquire looks for a jump or a slew of the client's wall clock while its Acquire is in progress.
func (m Must) jumpsInAcquire(ix *index) bool {
	asking := false
	return ix.some(func(_ int, e history.Event) bool {
		if e.Process != m.client {
			return false
		}
		if e.Op == history.Acquire {
			asking = e.Kind == history.Invoke
		}
		return asking && e.Kind == history.Injected && (e.Op == "jump" || e.Op == "slew")
	})
}

// seesNoTTL looks for a reply of -1 to a request for the TTL of a key: the key exists, but has no deadline.
func (m Must) seesNoTTL(ix *index) bool {
	asked := map[string]bool{} // node → whether the last request to it was such a request
	return ix.some(func(_ int, e history.Event) bool {
		if e.Kind != history.Message || e.Op != history.Deliver {
			return false
		}
		if e.By == m.client {
			word, _, _ := strings.Cut(e.Value, " ")
			asked[e.Process] = word == "TTL" || word == "PTTL"
		}
		return e.Process == m.client && asked[e.By] && e.Value == "-1"
	})
}

// crashesAcquiring looks for a crash during an Acquire that has set a key.
func (m Must) crashesAcquiring(ix *index) bool {
	asking := -1
	return ix.some(func(i int, e history.Event) bool {
		if e.Process != m.client {
			return false
		}
		switch {
		case e.Kind == history.Injected && e.Op == "crash":
			return asking >= 0 && slices.ContainsFunc(ix.Lives, func(l facts.Life) bool {
				return history.Client(l.Label) == m.client && l.From > asking && l.From < i && i < l.To
			})
		case e.Op == history.Acquire:
			asking = -1
			if e.Kind == history.Invoke {
				asking = i
			}
		}
		return false
	})
}

// cutOffHolding looks for an instant of a hold at which no majority of the lock nodes is in reach of the client.
func (m Must) cutOffHolding(ix *index) bool {
	for _, l := range ix.Holds {
		if l.Client != m.client || !l.Held() {
			continue
		}
		starts := []time.Duration{l.From}
		for _, n := range ix.Meta.Nodes {
			for _, s := range ix.Apart(m.client, n) {
				if l.From < s.From && s.From < l.To {
					starts = append(starts, s.From)
				}
			}
		}
		for _, t := range starts {
			inReach := 0
			for _, n := range ix.Meta.Nodes {
				if !facts.Covers(ix.Apart(m.client, n), t) {
					inReach++
				}
			}
			if inReach < ix.Meta.Quorum() {
				return true
			}
		}
	}
	return false
}

// resumesAfterRival looks for an Acquire of the other client that returned while this client was paused, which has resumed since.
func (m Must) resumesAfterRival(ix *index) bool {
	return slices.ContainsFunc(ix.Pauses[m.client], func(s facts.Span) bool {
		return s.To < len(ix.Events) && slices.ContainsFunc(ix.Leases, func(l facts.Lease) bool {
			return l.Client == m.rival && s.From < l.ReturnEvent && l.ReturnEvent < s.To
		})
	})
}

// beyond compares the invocations of an operation under a lease with the end that the lease had then.
func (m Must) beyond(ix *index, op string, compare func(at, end time.Duration) bool) bool {
	return ix.some(func(_ int, e history.Event) bool {
		if e.Process != m.client || e.Kind != history.Invoke || e.Op != op {
			return false
		}
		l := ix.HoldAt(e.Lease, e.At)
		return l != nil && compare(e.At, l.End)
	})
}

// writesOvertaken looks for a write of the client that arrives at the resource after one of the other client, though the client's
// last read was before that.
func (m Must) writesOvertaken(ix *index) bool {
	read, overtaken := false, false
	return ix.some(func(_ int, e history.Event) bool {
		switch {
		case e.Process == m.client && e.Kind == history.OK && e.Op == history.Read:
			read, overtaken = true, false
		case isArrival(e) && e.By == m.rival:
			overtaken = read
		case isArrival(e) && e.By == m.client:
			return overtaken
		}
		return false
	})
}

// entersAfter looks for a mark that the client set at the resource after one of the other.
func (m Must) entersAfter(ix *index) bool {
	entered := false
	return ix.some(func(_ int, e history.Event) bool {
		if e.Kind != history.State || e.Op != history.Mark {
			return false
		}
		entered = entered || e.By == m.rival
		return entered && e.By == m.client && m.client != m.rival
	})
}

// clockOff looks for an event of the process, before the probe starts, at which one of its clocks was wrong.
func (m Must) clockOff(ix *index, off func(history.Event) time.Duration) bool {
	end := len(ix.Events)
	if asked := ix.Invokes[ix.Meta.Probe]; ix.Meta.Probe != m.nodes && len(asked) > 0 {
		end = asked[0]
	}
	return ix.some(func(i int, e history.Event) bool { return i < end && e.Process == m.nodes && off(e).Abs() > m.limit })
}

// pausesAfterCheck looks for a pause between a check that passed and the release: the point at which, as Kleppmann says, no check
// helps. If a later check fails, there is no danger.
func (m Must) pausesAfterCheck(ix *index) bool {
	passed, checked := false, ""
	return ix.some(func(_ int, e history.Event) bool {
		if e.Process != m.client {
			return false
		}
		switch {
		case e.Op == history.Check && e.Kind != history.Invoke:
			passed, checked = e.Kind == history.OK, e.Lease
		case e.Op == history.Release && e.Kind == history.Invoke:
			passed = passed && e.Lease != checked
		case e.Op == "pause" && e.Kind == history.Injected:
			return passed
		}
		return false
	})
}

// resumesAfterLease looks for a pause that begins while the client has a lease, even if a release is in progress, and ends after
// the lease.
func (m Must) resumesAfterLease(ix *index) bool {
	var current, asleep *facts.Lease
	return ix.some(func(_ int, e history.Event) bool {
		if e.Process != m.client {
			return false
		}
		switch {
		case m.ends(e, history.OK):
			current = ix.Lease(e.Lease)
		case e.Op == history.Release && e.Kind != history.Invoke:
			if current != nil && e.Lease == current.Label {
				current = nil
			}
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
			for _, l := range ix.Lives {
				if history.Client(l.Label) != m.client || !l.Vote || l.From < pending || l.To >= i || ix.Events[l.To].Op != history.Expire {
					continue
				}
				if expired[l.Label] == nil {
					expired[l.Label] = map[string]bool{}
				}
				expired[l.Label][l.Group] = true
				if len(expired[l.Label]) >= ix.Meta.Quorum() {
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
	return slices.ContainsFunc(ix.Leases, func(l facts.Lease) bool {
		if l.Client != m.client {
			return false
		}
		var nodes []string
		for _, n := range ix.LivesOf[l.Label] {
			if k := ix.Lives[n]; k.Vote && k.From < l.ReturnEvent && l.ReturnEvent < k.To {
				nodes = append(nodes, k.Node)
			}
		}
		slices.Sort(nodes)
		return slices.Equal(slices.Compact(nodes), slices.Compact(wanted))
	})
}

// reachesOnly looks for an Acquire of the client, or an extension, during which its messages arrived at these nodes and no
// others.
func (m Must) reachesOnly(ix *index) bool {
	wanted := slices.Compact(slices.Sorted(strings.FieldsSeq(m.nodes)))
	return ix.some(func(i int, e history.Event) bool {
		invoke, ok := ix.Invocation[i]
		asks := e.Op == history.Acquire || e.Op == history.Extend
		if !ok || !asks || e.Process != m.client {
			return false
		}
		var reached []string
		for _, k := range ix.Events[invoke:i] {
			if k.Kind == history.Message && k.Op == history.Deliver && k.By == m.client && ix.Groups[k.Process] != "" {
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
