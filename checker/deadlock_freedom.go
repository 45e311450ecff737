package checker

import (
	"fmt"
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// deadlockFreedom checks that the probe acquired within its bound. The probe is a fresh client that starts after everything has
// healed and one TTL has passed. If it could not acquire then, there is a key in its way that nothing will remove.
//
// The probe may be refused and try again: only its first invocation counts. A bound of zero means no limit.
//
// If others rightfully held the lock all the time, the probe had to be refused, and the property is unknown.
//
// If a node keeps a key for too long, its clock is the cause. If such keys took at least half of the probe's time, they are to
// blame.
func deadlockFreedom(ix *index) (found []Violation, unknown string) {
	asked := -1
	for _, i := range ix.Invokes[ix.Meta.Probe] {
		if ix.Events[i].Op == history.Acquire {
			asked = i
			break
		}
	}
	if ix.Meta.Probe == "" || asked < 0 {
		return nil, "no probe asked for the lock"
	}
	v := Violation{
		Property:   DeadlockFreedom,
		At:         facts.Later(ix.At(asked), ix.Meta.Bound),
		What:       fmt.Sprintf("%s asked for the lock at %s and never got it", ix.Meta.Probe, history.Seconds(ix.At(asked))),
		Assumption: None,
		Events:     []int{asked},
	}
	for _, l := range ix.Leases {
		if l.Client != ix.Meta.Probe {
			continue
		}
		if ix.Meta.Bound == 0 || l.From <= v.At {
			return nil, ""
		}
		v.What = fmt.Sprintf("%s asked for the lock at %s and got it only at %s, where %s were allowed",
			ix.Meta.Probe, history.Seconds(ix.At(asked)), history.Seconds(l.From), history.Seconds(ix.Meta.Bound))
		v.Events = proof(asked, l.ReturnEvent)
		break
	}
	end := v.At
	if last := ix.At(len(ix.Events) - 1); ix.Meta.Bound == 0 || last < end {
		end = last
	}
	if holder := ix.holdsThrough(ix.Events[asked].Lock, facts.Stretch{From: ix.At(asked), To: end}); holder != "" {
		return nil, fmt.Sprintf("%s held the lock the whole time that %s asked for it", holder, ix.Meta.Probe)
	}
	if keys := ix.overstayed(facts.Stretch{From: ix.At(asked), To: v.At}); len(keys) > 0 {
		v.Assumption, v.Events = BoundedClockError, proof(append(keys, v.Events...)...)
	}
	return []Violation{v}, ""
}

// overstayed returns the events that set the keys which outlived their time and so kept the probe from the lock while it asked
// for it, all through s. It returns none if the probe had more time than such keys took.
func (ix *index) overstayed(s facts.Stretch) []int {
	primary := ix.primaries()
	there, due := map[string][]facts.Stretch{}, map[string][]facts.Stretch{} // by node: when there was a key, and when there was one that was not overdue
	var late []int
	instants := []time.Duration{s.From, s.To}
	for _, k := range ix.Lives {
		if history.Client(k.Label) == ix.Meta.Probe {
			continue
		}
		to := never
		if k.To < len(ix.Events) {
			to = ix.At(k.To)
		}
		for _, p := range primary[k.Node] {
			x := facts.Stretch{From: max(ix.At(k.From), p.From, s.From), To: min(to, p.To, s.To)}
			if x.From >= x.To {
				continue
			}
			right := facts.Stretch{From: x.From, To: min(x.To, k.Overdue())}
			there[k.Group], due[k.Group] = append(there[k.Group], x), append(due[k.Group], right)
			instants = append(instants, x.From, x.To, max(x.From, right.To))
			if right.To < x.To {
				late = append(late, k.From)
			}
		}
	}
	free := func(taken map[string][]facts.Stretch, t time.Duration) bool {
		nodes := 0
		for _, n := range ix.Meta.Nodes {
			if !facts.Covers(facts.Merge(taken[n]), t) {
				nodes++
			}
		}
		return nodes >= ix.Meta.Quorum()
	}
	slices.Sort(instants)
	var lost time.Duration
	for n, t := range instants[:len(instants)-1] {
		if !free(there, t) && free(due, t) {
			lost += instants[n+1] - t
		}
	}
	if lost == 0 || s.To-s.From-lost > lost {
		return nil
	}
	return late
}

// holdsThrough returns who held a lock during all of a time: one client, or several in turn; nobody if it was free for a moment,
// or if the probe held it.
func (ix *index) holdsThrough(lock string, s facts.Stretch) string {
	var held []facts.Stretch
	var holders []string
	for i := range ix.Holds {
		l := &ix.Holds[i]
		if l.Lock != lock || l.Client == ix.Meta.Probe {
			continue
		}
		h := facts.Stretch{From: l.From, To: ix.kept(l)}
		if h.From > s.To || h.To <= s.From || h.From >= h.To {
			continue
		}
		held = append(held, h)
		if !slices.Contains(holders, l.Client) {
			holders = append(holders, l.Client)
		}
	}
	// The last instant counts too.
	if len(held) == 0 || len(facts.Without([]facts.Stretch{{From: s.From, To: facts.Later(s.To, 1)}}, facts.Merge(held))) > 0 {
		return ""
	}
	return history.List(holders)
}

// kept returns when a hold ended for good. If a lease has no end by its lock, it is kept until its client gives it up, although
// the client may rely on it only for as long as its keys were to last.
func (ix *index) kept(l *facts.Lease) time.Duration {
	if !l.Endless {
		return l.To
	}
	end := never
	if i, _ := ix.GivenUp(l.Label, l.Client, l.ReturnEvent); i >= 0 {
		end = ix.At(i)
	}
	for _, i := range slices.Concat(ix.Losses[l.Label], ix.Extensions[l.Label]) { // the lease was lost, or its end changed
		if i > l.ReturnEvent && ix.Events[i].Process == l.Client {
			end = min(end, ix.At(i))
		}
	}
	return end
}
