package checker

import (
	"fmt"
	"slices"
	"time"

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
	for _, i := range ix.invokes[ix.Meta.Probe] {
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
		At:         later(ix.at(asked), ix.Meta.Bound),
		What:       fmt.Sprintf("%s asked for the lock at %s and never got it", ix.Meta.Probe, history.Seconds(ix.at(asked))),
		Assumption: None,
		Events:     []int{asked},
	}
	for _, l := range ix.leases {
		if l.Client != ix.Meta.Probe {
			continue
		}
		if ix.Meta.Bound == 0 || l.From <= v.At {
			return nil, ""
		}
		v.What = fmt.Sprintf("%s asked for the lock at %s and got it only at %s, where %s were allowed",
			ix.Meta.Probe, history.Seconds(ix.at(asked)), history.Seconds(l.From), history.Seconds(ix.Meta.Bound))
		v.Events = proof(asked, l.ReturnEvent)
		break
	}
	end := v.At
	if last := ix.at(len(ix.Events) - 1); ix.Meta.Bound == 0 || last < end {
		end = last
	}
	if holder := ix.holdsThrough(ix.Events[asked].Lock, stretch{ix.at(asked), end}); holder != "" {
		return nil, fmt.Sprintf("%s held the lock the whole time that %s asked for it", holder, ix.Meta.Probe)
	}
	if keys := ix.overstayed(stretch{ix.at(asked), v.At}); len(keys) > 0 {
		v.Assumption, v.Events = BoundedClockError, proof(append(keys, v.Events...)...)
	}
	return []Violation{v}, ""
}

// overstayed returns the events that set the keys which outlived their time and so kept the probe from the lock while it asked
// for it, all through s. It returns none if the probe had more time than such keys took.
func (ix *index) overstayed(s stretch) []int {
	primary := ix.primaries()
	there, due := map[string][]stretch{}, map[string][]stretch{} // by node: when there was a key, and when there was one that was not overdue
	var late []int
	instants := []time.Duration{s.from, s.to}
	for _, k := range ix.lives {
		if history.Client(k.label) == ix.Meta.Probe {
			continue
		}
		to := never
		if k.to < len(ix.Events) {
			to = ix.at(k.to)
		}
		for _, p := range primary[k.node] {
			x := stretch{max(ix.at(k.from), p.from, s.from), min(to, p.to, s.to)}
			if x.from >= x.to {
				continue
			}
			right := stretch{x.from, min(x.to, k.overdue())}
			there[k.group], due[k.group] = append(there[k.group], x), append(due[k.group], right)
			instants = append(instants, x.from, x.to, max(x.from, right.to))
			if right.to < x.to {
				late = append(late, k.from)
			}
		}
	}
	free := func(taken map[string][]stretch, t time.Duration) bool {
		nodes := 0
		for _, n := range ix.Meta.Nodes {
			if !covers(merge(taken[n]), t) {
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
	if lost == 0 || s.to-s.from-lost > lost {
		return nil
	}
	return late
}

// holdsThrough returns who held a lock during all of a time: one client, or several in turn; nobody if it was free for a moment,
// or if the probe held it.
func (ix *index) holdsThrough(lock string, s stretch) string {
	var held []stretch
	var holders []string
	for i := range ix.holds {
		l := &ix.holds[i]
		if l.Lock != lock || l.Client == ix.Meta.Probe {
			continue
		}
		h := stretch{l.From, ix.kept(l)}
		if h.from > s.to || h.to <= s.from || h.from >= h.to {
			continue
		}
		held = append(held, h)
		if !slices.Contains(holders, l.Client) {
			holders = append(holders, l.Client)
		}
	}
	// The last instant counts too.
	if len(held) == 0 || len(without([]stretch{{s.from, later(s.to, 1)}}, merge(held))) > 0 {
		return ""
	}
	return history.List(holders)
}

// kept returns when a hold ended for good. If a lease has no end by its lock, it is kept until its client gives it up, although
// the client may rely on it only for as long as its keys were to last.
func (ix *index) kept(l *Lease) time.Duration {
	if !l.endless {
		return l.To
	}
	end := never
	if i, _ := ix.givenUp(l.Label, l.Client, l.ReturnEvent); i >= 0 {
		end = ix.at(i)
	}
	for _, i := range ix.losses[l.Label] {
		if i > l.ReturnEvent && ix.Events[i].Process == l.Client {
			end = min(end, ix.at(i))
		}
	}
	for _, n := range ix.holdsOf[l.Label] {
		if next := &ix.holds[n]; next.ReturnEvent > l.ReturnEvent {
			end = min(end, next.From)
		}
	}
	return end
}
