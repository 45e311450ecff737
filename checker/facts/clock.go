package facts

import (
	"sort"
	"time"

	"lockstep/sim/history"
)

// isReading reports whether the history has a reliable reading of the steady clock of e.Process at e: at the operations of a
// client, and where the rate of the clock changes.
func isReading(e history.Event) bool {
	switch e.Kind {
	case history.Invoke, history.OK, history.Fail, history.Info:
		return true
	case history.Injected:
		return e.Op == "drift"
	}
	return false
}

// When returns the first instant of true time at which a steady clock shows at least want, according to its readings, which are
// in order. If the clock showed that before the first reading, it returns the instant of that reading; if it never will,
// [history.NoEnd].
func When(readings []history.Clock, want time.Duration) time.Duration {
	if len(readings) == 0 || want == history.NoEnd {
		return history.NoEnd
	}
	next := sort.Search(len(readings), func(i int) bool { return readings[i].Steady >= want })
	if next == 0 {
		return readings[0].Since
	}
	last := readings[next-1]
	t := Later(last.Since, last.Takes(want-last.Steady))
	if next < len(readings) {
		t = min(t, readings[next].Since)
	}
	return t
}

// Reading returns what a steady clock showed at an instant, according to its readings, which are in order. Without readings, it is right.
func Reading(readings []history.Clock, t time.Duration) time.Duration {
	next := sort.Search(len(readings), func(i int) bool { return readings[i].Since > t })
	if next == 0 {
		return t
	}
	return readings[next-1].Reading(t)
}

// Later returns t+d, or [history.NoEnd] if that is out of range.
func Later(t, d time.Duration) time.Duration {
	if d > history.NoEnd-t {
		return history.NoEnd
	}
	return t + d
}
