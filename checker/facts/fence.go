package facts

import (
	"slices"
	"strconv"
	"time"

	"lockstep/sim/history"
)

// TimeSetBack returns the fault because of which the token of b is less than that of a, which was granted before, if both tokens are the
// time of a clock: that of the node, or those of the clients. It returns -1 otherwise. A token may count seconds, or any smaller unit.
func (f *Facts) TimeSetBack(a, b *Lease) int {
	for _, clock := range []struct{ a, b history.Event }{
		{f.Events[a.GrantEvent], f.Events[b.GrantEvent]},
		{f.Events[a.ReturnEvent], f.Events[b.ReturnEvent]},
	} {
		read := func(e history.Event) time.Duration { return e.At + e.Wall }
		back := read(clock.a) - read(clock.b)
		fault := max(Before(f.ClockFaults[clock.a.Process], b.ReturnEvent), Before(f.ClockFaults[clock.b.Process], b.ReturnEvent))
		for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
			off := time.Duration(a.Fence-b.Fence)*unit - back
			// Between reading the clock and the event some time passes, and a token is rounded.
			if fault >= 0 && back >= 50*time.Millisecond && off.Abs() <= back/4 {
				return fault
			}
		}
	}
	return -1
}

// HiddenCounterLost returns the restart with an empty disk after which the node that granted b had no counter of fencing tokens, if a was
// granted before it. It is for a counter that the history does not show, such as a field of a hash. It returns -1 if there was none.
func (f *Facts) HiddenCounterLost(a, b *Lease) int {
	node := f.Events[b.GrantEvent].Process
	if !f.hidden {
		return -1
	}
	for i := a.GrantEvent; i < b.GrantEvent; i++ {
		if r, ok := f.Events[i].Fault().(history.Restart); ok && r.Process == node && r.Empty {
			return i
		}
	}
	return -1
}

// CounterBefore returns the last change before event i of the counter that event i changed, by which it had a value; -1 if there is none.
func (f *Facts) CounterBefore(i int) int {
	e := f.Events[i]
	for _, j := range slices.Backward(f.Fences[e.Process]) {
		if o := f.Events[j]; j < i && o.Key == e.Key {
			if o.Op != history.Set && o.Op != history.Over {
				return -1
			}
			return j
		}
	}
	return -1
}

// CounterSetBack returns the last event, from the grant of one lease to that of another, by which a client gave a counter of fencing tokens a
// lower value than it had; -1 if there is none.
func (f *Facts) CounterSetBack(a, b *Lease) int {
	found := -1
	for _, events := range f.Fences {
		for _, i := range events {
			e := f.Events[i]
			if f.hidden || i < a.GrantEvent || i > b.ReturnEvent || e.Op != history.Over || e.Lease != "" || f.Servers[e.By] {
				continue
			}
			now, err := strconv.ParseInt(e.Value, 10, 64)
			if j := f.CounterBefore(i); j >= 0 && err == nil {
				if had, err := strconv.ParseInt(f.Events[j].Value, 10, 64); err == nil && now < had {
					found = max(found, i)
				}
			}
		}
	}
	return found
}

// CountedWithKey returns the event by which the command that set the key of a lease on a node also gave a counter of fencing tokens there a value;
// -1 if there is none.
func (f *Facts) CountedWithKey(l *Lease) int {
	for _, n := range slices.Backward(f.LivesOf[l.Label]) {
		k := f.Lives[n]
		set := f.Events[k.From]
		for _, i := range f.Fences[k.Node] {
			if e := f.Events[i]; !f.hidden && e.Lease == "" && k.From < l.ReturnEvent && e.By == l.Client && e.At == set.At && e.Sent == set.Sent && (e.Op == history.Set || e.Op == history.Over) {
				return i
			}
		}
	}
	return -1
}
