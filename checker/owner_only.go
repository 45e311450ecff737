package checker

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// ownerOnly finds the commands of one client that deleted, overwrote or re-timed a living key of another client's lease. A
// command that compares before it acts, in one step, is not affected by a pause or a delay. So these are never to blame. A wrong clock
// of a client is to blame if the value of the key is a date that clients write and read by their clocks. A command that asks the node for the
// time can find that a lease is over because the node's clock is wrong: then the key has gone as if it had expired, and it is for lease
// exclusion to say what comes of that. Two leases have the same fencing token if a node has lost its counter; then a lock whose key has
// the token for a value cannot tell them apart.
//
// A key whose lease is over by the clock of its owner, or would be if that clock were right, belongs to nobody, even if it still
// exists: a lock without a TTL has to take it over. Neither does a key belong to anybody once its client has asked to release the
// lease. A key whose lease was never obtained belongs to nobody one TTL after the request for it: its value may be the time of its
// end, which the history does not show. Effects that a server replicates from its primary belong to no client. A key that is not the
// key of any lease, such as a list of waiters, belongs to nobody either: any client may remove a waiter that no longer waits.
func ownerOnly(ix *index) []Violation {
	verbs := map[string]string{history.Over: "overwrote", history.Retime: "re-timed", history.Delete: "deleted"}
	var found []Violation
	held := ix.heldKeys()
	for i, e := range ix.Events {
		verb, touches := verbs[e.Op]
		if e.Kind != history.State || !touches || e.Owner == "" || e.By == "" || ix.Servers[e.By] || len(held) > 0 && !held[e.Key] {
			continue
		}
		set, lease := -1, e.Owner // the event that set the value, and the lease that it has stood for since
		broken, fault := None, -1
		if k := ix.LifeAt(e.Process, e.Key, i); k != nil {
			set, lease = k.From, k.Label
			if ix.Advances(k.From) && ix.Lease(lease) == nil && !ix.holding(history.Client(lease), e.At) {
				continue // a client that waits in a queue owns nothing yet
			}
			if k.To == i && ix.hastenedByNode(*k) {
				continue // the command asked the node for the time, by which the lease was over
			}
			if k.To == i && ix.MissedExtension(*k, i) >= 0 {
				continue // by the value that the node had, the lease was over
			}
			if k.To == i {
				if fault = ix.hastenedByClients(*k); fault >= 0 {
					broken = BoundedClockError
				}
			}
			if ix.unclaimed(lease, ix.Events[k.From].Departure(), e.At) {
				continue
			}
		}
		if history.Client(lease) == e.By || ix.over(lease, e.At) || ix.pastEnd(lease, i) || ix.released(lease, i) {
			continue
		}
		because := []int{fault}
		if broken == None {
			broken, because = ix.sameToken(lease, e)
		}
		marked := ""
		if history.Client(lease) != history.Client(e.Owner) {
			marked = ", which had the token of " + e.Owner + ","
		}
		found = append(found, Violation{
			Property:   OwnerOnly,
			At:         e.At,
			What:       fmt.Sprintf("%s %s the key of %s%s on %s at %s", e.By, verb, lease, marked, e.Process, history.Seconds(e.At)),
			Assumption: broken,
			Events:     proof(append(because, set, i)...),
		})
	}
	return found
}

// LikeLeaseExclusion reports whether a violation has the same effect as one of lease exclusion with the same broken assumption. If a wrong clock ends
// a lease too early, the node removes the key of a lock with a TTL, and other clients overwrite or delete that of a lock with dates.
func LikeLeaseExclusion(p Property, broken Assumption) bool {
	return p == OwnerOnly && broken == BoundedClockError
}

// sameToken says why the client that sent a command has a lease with the same fencing token as the lease of another client. If that token is the value of the key, no
// comparison can tell the two leases apart.
func (ix *index) sameToken(label string, e history.Event) (Assumption, []int) {
	owner := ix.Lease(label)
	if owner == nil || owner.Fence == 0 {
		return None, nil
	}
	for n := range ix.Holds {
		if l := &ix.Holds[n]; l.Client == e.By && l.Lock == owner.Lock && l.Fence == owner.Fence {
			first, second := owner, l
			if l.Granted < owner.Granted {
				first, second = l, owner
			}
			if broken, because := blameToken(ix, first, second); broken != None {
				return broken, because
			}
		}
	}
	return None, nil
}

// heldKeys returns the names of the keys that the leases of a lock had when they were obtained: those that all of them had, if there are any. A
// key that only some had is one by which clients wait, for example a list in which a client that had left was still there. A key that
// releases leave behind, such as one that names the last holder, does not count either.
func (ix *index) heldKeys() map[string]bool {
	had := map[string]map[string]map[string]bool{} // lock → key → label
	leases := map[string]map[string]bool{}         // lock → label
	for _, k := range ix.Lives {
		l := ix.Lease(k.Label)
		if l == nil || k.From > l.ReturnEvent || l.ReturnEvent > k.To {
			continue
		}
		if had[l.Lock] == nil {
			had[l.Lock], leases[l.Lock] = map[string]map[string]bool{}, map[string]bool{}
		}
		if had[l.Lock][k.Key] == nil {
			had[l.Lock][k.Key] = map[string]bool{}
		}
		had[l.Lock][k.Key][l.Label], leases[l.Lock][l.Label] = true, true
	}
	held := map[string]bool{}
	for lock, keys := range had {
		all := func(labels map[string]bool) bool { return len(labels) == len(leases[lock]) }
		maps.DeleteFunc(keys, func(key string, _ map[string]bool) bool {
			return ix.leftBehind(key, keys)
		})
		some := slices.ContainsFunc(slices.Collect(maps.Values(keys)), all)
		for key, labels := range keys {
			if !some || all(labels) {
				held[key] = true
			}
		}
	}
	return held
}

// leftBehind reports whether the clients of a lock never delete a key of theirs, though one of them deleted another key of the same lease on the
// same node, and such keys were there when leases were obtained. So the key does not say who has the lock, and the next client may overwrite it.
func (ix *index) leftBehind(key string, obtained map[string]map[string]bool) bool {
	deleted := func(k facts.Life) bool {
		if k.To == len(ix.Events) {
			return false
		}
		e := ix.Events[k.To]
		return e.Op == history.Delete && e.By == history.Client(k.Label)
	}
	left := false
	for _, k := range ix.Lives {
		if k.Key != key {
			continue
		}
		if deleted(k) {
			return false
		}
		for _, n := range ix.LivesOf[k.Label] {
			o := ix.Lives[n]
			left = left || o.Key != key && o.Node == k.Node && obtained[o.Key] != nil && deleted(o) && k.From < o.To && o.To < k.To
		}
	}
	return left
}

// unclaimed reports whether a key that a client asked for at the instant asked belongs to nobody by t, because the lease was never obtained. One that
// will be obtained later may still have an owner. If the request came late, the end in the value may have passed when it came.
func (ix *index) unclaimed(label string, asked, t time.Duration) bool {
	return ix.Lease(label) == nil && ix.Meta.TTL > 0 && t >= facts.Later(asked, ix.Meta.TTL-facts.Rounding)
}

// holding reports whether a client holds any lease at t.
func (ix *index) holding(client string, t time.Duration) bool {
	return slices.ContainsFunc(ix.Holds, func(h facts.Lease) bool { return h.Client == client && h.From <= t && t < h.End })
}

// over reports whether a lease has ended for good by t: its client cannot rely on it any more. A lease that was never obtained,
// or not yet, is not over.
func (ix *index) over(label string, t time.Duration) bool {
	ended := false
	for _, n := range ix.HoldsOf[label] {
		if l := &ix.Holds[n]; l.From <= t {
			ended = t >= l.End && !l.Lasts // its keys may expire at the same instant, but later
		}
	}
	return ended
}

// released reports whether the client of a lease has asked to release it by event i. It does not matter whether the client got an answer: some
// locks write into the key that it is free, and leave it there. A reentrant lock has one key for several leases of a client. If one of these,
// which has no key of its own, still lasts, the lease with the key does not count as released.
func (ix *index) released(label string, i int) bool {
	client, t := history.Client(label), ix.At(i)
	shared := slices.ContainsFunc(ix.Holds, func(h facts.Lease) bool {
		return h.Client == client && h.From <= t && t < h.To && len(ix.LivesOf[h.Label]) == 0
	})
	return !shared && facts.Before(ix.Releases[label], i) >= 0
}

// pastEnd reports whether a lease would be over by event i if the clock of its client had been right since it was told when the lease ends, or since
// it asked for the lease. The client may still rely on it.
func (ix *index) pastEnd(label string, i int) bool {
	l := ix.Lease(label)
	if l == nil {
		return false
	}
	j := l.ReturnEvent // it may come after event i: the answer was still on its way
	if k := facts.Before(ix.Extensions[label], i); k >= 0 {
		j = k
	}
	e := ix.Events[j]
	behind := e.At - e.Clock
	if in, ok := ix.Invocation[j]; ok {
		asked := ix.At(in) - ix.Events[in].Clock
		if behind = min(behind, asked); i < j {
			behind = asked
		}
	}
	return e.Until > 0 && e.Until < history.NoEnd && ix.At(i) >= e.Until+behind
}
