package explain

import "lockstep/sim/history"

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
	n.delays(a)
	if i := n.f.HiddenCounterLost(a, b); i >= 0 {
		n.say(step, i, nil, "%s came back with an empty disk at %s, and so without the counter of fencing tokens.", n.event(i).Process, n.time(i))
	}
	if fault := n.f.TimeSetBack(a, b); fault >= 0 {
		n.fault(step, fault)
		n.say(step, b.ReturnEvent, []int{a.ReturnEvent}, "Fences %d and %d are times of a clock, which went back in between.", a.Fence, b.Fence)
		n.cause = append(n.cause, fault)
	}
	n.grant(b, n.successions(a, b))
	relation := "less than"
	if a.Fence == b.Fence {
		relation = "the same as"
	}
	n.say(step, b.ReturnEvent, []int{a.ReturnEvent}, "Fence %d of %s was %s fence %d of %s, though the lease is newer.",
		b.Fence, b.Label, relation, a.Fence, a.Label)
}
