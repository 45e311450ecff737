package explorer

import (
	"cmp"
	"slices"

	"lockstep/reports"
	"lockstep/sim/history"
)

// dropIdle drops the lanes of the lock nodes if nothing happened on any of them, for example if clients use no lock.
func (t *teller) dropIdle() {
	idle := func(l Lane) bool {
		return l.Kind == NodeLane && len(l.Bars) == 0 && len(l.Marks) == 0 && len(l.Shades) == 0
	}
	if t.resourceName() != "" && !slices.ContainsFunc(t.s.Lanes, func(l Lane) bool { return l.Kind == NodeLane && !idle(l) }) {
		t.s.Lanes = slices.DeleteFunc(t.s.Lanes, idle)
	}
}

// atResource reports whether e is the effect of a request at the resource.
func atResource(e *history.Event) bool {
	if e.Kind != history.State {
		return false
	}
	switch e.Op {
	case history.Accept, history.Reject, history.Keep, history.Mark:
		return true
	case history.Set, history.Over:
		return e.Process == history.ResourceName && e.Lease == ""
	}
	return false
}

// resourceName is the name of the process that accepts or rejects writes.
func (t *teller) resourceName() string {
	for i := range t.f.Events {
		if e := &t.f.Events[i]; atResource(e) {
			return e.Process
		}
	}
	return ""
}

func (t *teller) addLanes() {
	add := func(name string, kind LaneKind) { t.s.Lanes = append(t.s.Lanes, Lane{Name: name, Kind: kind, Rows: 1}) }
	for _, c := range t.f.Meta.Clients {
		add(c, ClientLane)
	}
	if t.probing {
		add(t.f.Meta.Probe, ClientLane)
	}
	add("network", NetworkLane)
	watchers := t.watchers()
	for _, n := range t.servers {
		switch {
		case !slices.Contains(t.f.Meta.Others, n):
			add(n, NodeLane)
		case len(watchers) > 1 && slices.Contains(watchers, n):
			t.shared[n] = reports.Ranges(watchers, t.servers)
			if n == watchers[0] {
				add(t.shared[n], OtherLane)
			}
		case t.notable(n):
			add(n, OtherLane)
		}
	}
	if name := t.resourceName(); name != "" {
		add(name, ResourceLane)
	}
}

// notable reports whether a server that is neither a lock node nor a replica has a part in the story. Merely answering is none.
func (t *teller) notable(name string) bool {
	for i := range t.f.Events {
		if e := &t.f.Events[i]; e.Process == name && e.At <= t.s.End && (e.Kind == history.State || e.Kind == history.Injected) {
			return true
		}
	}
	return false
}

// watchers returns the servers that only watch others, and to which nothing happens. They share a lane.
func (t *teller) watchers() []string {
	var watchers []string
	for _, n := range t.f.Meta.Others {
		watches, more := false, false
		for i := range t.f.Events {
			switch e := &t.f.Events[i]; {
			case e.Process != n || e.At > t.s.End:
			case e.Kind == history.State && (e.Op == history.Sdown || e.Op == history.Odown || e.Op == history.Leader):
				watches = true
			case e.Kind == history.State || e.Kind == history.Injected:
				more = true
			}
		}
		if watches && !more {
			watchers = append(watchers, n)
		}
	}
	return watchers
}

func (t *teller) lane(process string) *Lane { return t.s.Lane(cmp.Or(t.shared[process], process)) }
