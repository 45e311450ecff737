package explain

import (
	"fmt"
	"strconv"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// tellTokens tells how a fencing token came to be no greater than that of an earlier lease.
func (n *narrator) tellTokens() {
	leases := n.accused()
	if len(leases) < 2 {
		return
	}
	b := leases[len(leases)-1]
	a := leases[len(leases)-2]
	for _, l := range leases[:len(leases)-1] {
		if l.Fence >= b.Fence && l.Fence > a.Fence {
			a = l
		}
	}
	n.grant(a, "")
	n.renewals(a, b.GrantEvent)
	n.counters(a, b)
	n.delays(a)
	if fault := n.f.TimeSetBack(a, b); fault >= 0 {
		n.fault(step, fault)
		n.say(step, b.ReturnEvent, []int{a.ReturnEvent}, "Fences %d and %d are times of a clock, which went back in between.", a.Fence, b.Fence)
		n.cause = append(n.cause, fault)
	}
	n.grant(b, n.successions(a, b))
	n.lostCounters(a, b)
	relation := "less than"
	if a.Fence == b.Fence {
		relation = "the same as"
	}
	n.say(step, b.ReturnEvent, []int{a.ReturnEvent}, "Fence %d of %s was %s fence %d of %s, though the lease is newer.",
		b.Fence, b.Label, relation, a.Fence, a.Label)
}

// lostCounters tells of counters of fencing tokens that nodes lost between two leases.
func (n *narrator) lostCounters(a, b *facts.Lease) {
	for i := a.GrantEvent; i < b.ReturnEvent; i++ {
		e := n.event(i)
		if e.Owner == "" && e.Lease == "" && e.Key != "" && (e.Op == history.Lose || e.Op == history.Expire || e.Op == history.Delete) {
			n.say(step, i, nil, "The key %s was gone from %s at %s.", e.Key, e.Process, n.time(i))
			n.cause = append(n.cause, i)
			n.fault(step, n.before(i, func(o history.Event) bool {
				return o.Kind == history.Injected && o.Process == e.Process && (o.Op == "crash" || o.Op == "stop" || o.Op == "follow")
			}))
		}
	}
	if i := n.f.HiddenCounterLost(a, b); i >= 0 {
		n.say(step, i, nil, "%s came back with an empty disk at %s, and so without the counter of fencing tokens.", n.event(i).Process, n.time(i))
	}
}

// counters tells of a client that set the counter of fencing tokens back between two leases, and of leases that were given another number than
// the counter had when their key was set.
func (n *narrator) counters(a, b *facts.Lease) {
	if i := n.f.CounterSetBack(a, b); i >= 0 {
		e, last := n.event(i), n.f.CounterBefore(i)
		how := ""
		if op := n.event(n.during(i)); op.Op == history.Release {
			how = ", in the release of " + op.Lease
		}
		n.say(step, i, []int{last, n.during(i)}, "%s set the counter %s on %s back from %s to %s at %s%s.", e.By, e.Key, e.Process, n.event(last).Value, e.Value, n.time(i), how)
	}
	for _, l := range []*facts.Lease{a, b} {
		if i := n.f.CountedWithKey(l); i >= 0 && n.event(i).Value != strconv.FormatInt(l.Fence, 10) {
			n.say(step, i, []int{l.ReturnEvent}, "When the key of %s was set at %s, the counter %s became %s, but %s was given fence %s.", l.Label, n.time(i), n.event(i).Key, n.event(i).Value, l.Client, fmt.Sprint(l.Fence))
		}
	}
}
