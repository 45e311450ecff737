package checker

import (
	"math/bits"
	"sort"
	"time"

	"lockstep/sim"
)

const million = 1_000_000 // parts, of which a rate error counts some

// A reading is what a steady clock showed at an instant of true time, and its rate error from then on.
type reading struct {
	at, clock time.Duration
	ppm       int64
}

// isReading says whether the history vouches for the steady clock of e.Process at e: at the operations of a client, and
// where the rate of the clock changes.
func isReading(e sim.Event) bool {
	switch e.Kind {
	case sim.Invoke, sim.OK, sim.Fail, sim.Info:
		return true
	case sim.Injected:
		return e.Op == "drift"
	}
	return false
}

// when returns the first instant of true time at which a clock with these readings, in order, shows at least want; the
// first reading if it showed that before, and [sim.NoEnd] if it never will.
func when(readings []reading, want time.Duration) time.Duration {
	if len(readings) == 0 || want == sim.NoEnd {
		return sim.NoEnd
	}
	next := sort.Search(len(readings), func(i int) bool { return readings[i].clock >= want })
	if next == 0 {
		return readings[0].at
	}
	last := readings[next-1]
	t := later(last.at, trueTime(want-last.clock, last.ppm))
	if next < len(readings) {
		t = min(t, readings[next].at)
	}
	return t
}

// trueTime returns how much true time passes, rounded up, while a clock with a rate error of ppm advances by d. It is
// exact, because a lease may end at the very instant at which the next begins.
func trueTime(d time.Duration, ppm int64) time.Duration {
	rate := uint64(million + ppm)
	hi, lo := bits.Mul64(uint64(d), million)
	if hi >= rate {
		return sim.NoEnd
	}
	q, r := bits.Div64(hi, lo, rate)
	if r > 0 {
		q++
	}
	return time.Duration(min(q, uint64(sim.NoEnd)))
}

// later returns t+d, or [sim.NoEnd] where that is out of range.
func later(t, d time.Duration) time.Duration {
	if d > sim.NoEnd-t {
		return sim.NoEnd
	}
	return t + d
}
