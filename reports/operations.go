package reports

import (
	"slices"
	"time"

	"lockstep/checker"
	"lockstep/sim"
)

// tellingDelay is how late a message must be for a timeline to say when it was sent.
const tellingDelay = 100 * time.Millisecond

// A deed is an operation of a client: an invocation and, if there was one, its outcome. Attempts to acquire that a client
// makes and is refused, one after the other, are one deed: a client that polls would fill a timeline with nothing.
type deed struct {
	process, op, value, lease, err string
	invoked, returned              time.Duration
	outcome                        sim.Kind      // empty if it never returned
	in, out                        int           // the events of the first invocation and the last outcome, -1 if it never returned
	times                          int           // how many attempts it stands for
	until                          time.Duration // when the client does something else; what a refused attempt left is tidied up by then
}

// deeds joins the events of operations, in order of invocation. Waiting is no deed.
func deeds(h *sim.History) []deed {
	type id struct {
		process string
		n       int
	}
	var ds []deed
	open := map[id]int{}
	for i := range h.Events {
		e := &h.Events[i]
		switch e.Kind {
		case sim.Invoke:
			open[id{e.Process, e.ID}] = len(ds)
			ds = append(ds, deed{process: e.Process, op: e.Op, value: e.Value, lease: e.Lease, invoked: e.At, returned: e.At,
				in: i, out: -1, times: 1, until: sim.NoEnd})
		case sim.OK, sim.Fail, sim.Info:
			if n, found := open[id{e.Process, e.ID}]; found && e.Op == ds[n].op {
				ds[n].returned, ds[n].outcome, ds[n].err, ds[n].out = e.At, e.Kind, e.Error, i
			}
		}
	}
	return joinRefusals(ds)
}

func joinRefusals(ds []deed) []deed {
	var joined []deed
	last := map[string]int{} // process: its latest deed
	for _, d := range ds {
		if d.op == sim.Wait {
			continue
		}
		n, found := last[d.process]
		if found && d.refused() && joined[n].refused() {
			joined[n].returned, joined[n].err, joined[n].out = d.returned, d.err, d.out
			joined[n].times++
			continue
		}
		if found {
			joined[n].until = d.invoked
		}
		last[d.process] = len(joined)
		joined = append(joined, d)
	}
	return joined
}

// refused reports whether d asked for the lock and certainly did not get it.
func (d *deed) refused() bool { return d.op == sim.Acquire && d.outcome == sim.Fail }

// folded reports whether d stands for several attempts, of which only the last outcome is shown.
func (d *deed) folded() bool { return d.times > 1 }

// covers reports whether an event is a part of the attempts that d stands for.
func (d *deed) covers(e *sim.Event) bool {
	if !d.folded() || e.At < d.invoked || e.At >= d.until {
		return false
	}
	switch e.Kind {
	case sim.Invoke, sim.Fail, sim.OK, sim.Info:
		return e.Process == d.process && (e.Op == sim.Acquire || e.Op == sim.Wait)
	case sim.State:
		return e.By == d.process
	case sim.Message:
		return e.By == d.process || e.Process == d.process
	}
	return false
}

// grantEvents returns the indices of the events that granted the leases, ascending.
func grantEvents(leases []checker.Lease) []int {
	var grants []int
	for _, l := range leases {
		if l.GrantSeen {
			grants = append(grants, l.GrantEvent)
		}
	}
	slices.Sort(grants)
	return grants
}

// fenceSeen returns the highest fence that the resource had accepted before event i.
func fenceSeen(h *sim.History, i int) int64 {
	var seen int64
	for j := range h.Events[:i] {
		if e := &h.Events[j]; e.Kind == sim.State && e.Op == sim.Accept {
			seen = max(seen, e.Fence)
		}
	}
	return seen
}
