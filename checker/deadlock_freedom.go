package checker

import (
	"fmt"
	"slices"
	"time"

	"lockstep/sim/history"
)

// deadlockFreedom reports whether the probe, a fresh client that comes after everything has healed and one TTL has passed,
// acquired within its bound. Whoever still stands in its way then is a key that nothing will remove.
//
// The probe may be refused and try again: only its first invocation counts. A bound of zero is none.
//
// If others rightfully held the lock all the while, it had to be refused, and nothing can be said of what would have come
// after them.
//
// A key that a node keeps for longer than it promised is the doing of its clock. If such keys took half of the probe's time, or
// more, they are to blame.
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

// overstayed returns the events that set the keys which outlived their time and so kept the lock from the probe, when it asked for
// it all through s. None if it had more time than it lost to them.
func (ix *index) overstayed(s stretch) []int {
	primary := ix.primaries()
	there, due := map[string][]stretch{}, map[string][]stretch{} // by node: when any key was there, and when one was there rightly
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

// holdsThrough returns who held a lock all through a time: one client, or several in turn; nobody if it was free for a moment,
// or the probe's.
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
	// The last instant counts as well.
	if len(held) == 0 || len(without([]stretch{{s.from, later(s.to, 1)}}, merge(held))) > 0 {
		return ""
	}
	return history.List(holders)
}

// kept returns when a hold ended for good. A lease to which the lock gave no end is kept until its client gives it up, though its
// client may rely on it only for as long as its keys were to live.
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
