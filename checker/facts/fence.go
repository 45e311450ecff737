package facts

import (
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
