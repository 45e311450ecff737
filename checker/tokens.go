package checker

import (
	"fmt"
	"maps"
	"slices"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// tokens finds the leases whose fencing token is not greater than those of all leases on the same lock that were granted before.
// A resource that compares tokens can distinguish an old holder from a new one only if tokens grow with every grant (Kleppmann,
// "How to do distributed locking", 2016, "Making the lock safe with fencing").
func tokens(ix *index) []Violation {
	var found []Violation
	locks := ix.ByGrant()
	for _, lock := range slices.Sorted(maps.Keys(locks)) {
		var top *facts.Lease // the one with the highest token so far
		for _, l := range locks[lock] {
			if l.Fence == 0 {
				continue // the lock has no fencing tokens
			}
			if top == nil || l.Fence > top.Fence {
				top = l
				continue
			}
			what := fmt.Sprintf("%s was granted %s with token %d at %s, below the %d of %s", l.Client, l.Label, l.Fence, history.Seconds(l.Granted), top.Fence, top.Label)
			if l.Fence == top.Fence {
				what = fmt.Sprintf("%s was granted %s with token %d at %s, which was that of %s", l.Client, l.Label, l.Fence, history.Seconds(l.Granted), top.Label)
			}
			broken, because := blameToken(ix, top, l)
			found = append(found, Violation{
				Property:   Tokens,
				At:         l.Granted,
				What:       what,
				Assumption: broken,
				Events:     proof(append(because, top.GrantEvent, top.ReturnEvent, l.GrantEvent, l.ReturnEvent)...),
			})
		}
	}
	return found
}

// blameToken says why the token of b is not greater than that of a, which was granted before it: did the node lose its counter,
// was it replaced by another that only knew an older number, or is the token the time of a clock that was set back? A lock may draw its
// token from counters on several nodes. So a node that knew the token of a, and lost it, is to blame even if another granted b.
func blameToken(ix *index, a, b *facts.Lease) (Assumption, []int) {
	if !a.GrantSeen || !b.GrantSeen {
		return None, nil
	}
	if fault := ix.TimeSetBack(a, b); fault >= 0 {
		return BoundedClockError, []int{fault}
	}
	node := ix.Events[b.GrantEvent].Process
	for _, n := range slices.Sorted(maps.Keys(ix.Fences)) {
		for i := facts.After(ix.Fences[n], a.GrantEvent); i >= 0 && i < b.GrantEvent; i = facts.After(ix.Fences[n], i) {
			e := ix.Events[i]
			forgot := ix.fenceOn(n, i) >= a.Fence && e.By == "" && ix.fenceOn(n, i+1) < a.Fence // lost, or back with an older number
			if forgot || n == node && e.Op == history.Lose {
				return DurableNodes, []int{i}
			}
		}
	}
	if i := ix.HiddenCounterLost(a, b); i >= 0 {
		return DurableNodes, []int{i}
	}
	p := facts.Before(ix.Promotions[ix.Groups[node]], b.GrantEvent)
	if p >= 0 && ix.Events[p].Process == node && ix.Events[a.GrantEvent].Process != node && ix.fenceOn(node, p) < a.Fence {
		return DurableNodes, []int{p}
	}
	return None, nil
}
