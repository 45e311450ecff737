package history

import (
	"math"
	"math/bits"
	"time"
)

// A Clock determines what the two clocks of a process show since their last fault: the steady clock, whose rate may be wrong, and
// the wall clock, which is ahead of it by an offset that jumps and slews. Instants are true time since the start of the run. The
// zero Clock is right.
//
// The same value is used for simulated processes, for processes on real servers, and for pictures. Its arithmetic is on integers,
// so that every machine gets the same nanoseconds.
type Clock struct {
	Since  time.Duration `json:"since"`  // the rate has not changed since this instant,
	Steady time.Duration `json:"steady"` // at which the steady clock showed this
	PPM    int64         `json:"ppm"`    // error of the rate
	Set    time.Duration `json:"set"`    // the wall clock was last set at this instant,
	Ahead  time.Duration `json:"ahead"`  // at which it was this far ahead of the steady one
	Slew   time.Duration `json:"slew"`   // a correction in addition to that,
	Over   time.Duration `json:"over"`   // spread evenly over this long; at once if 0
}

// Reading returns what the steady clock shows at an instant.
func (c Clock) Reading(t time.Duration) time.Duration {
	return c.Steady + (t - c.Since) + partsPerMillion(t-c.Since, c.PPM)
}

// When returns the first instant, since the rate last changed, at which the steady clock shows at least r.
func (c Clock) When(r time.Duration) time.Duration {
	d, rate := r-c.Steady, time.Duration(1e6+c.PPM)
	if d <= 0 {
		return c.Since
	}
	if c.PPM < 0 {
		d-- // readings are rounded up: r appears right after the last instant at which the exact reading is less
	}
	t := c.Since + min(never, scale(d, 1e6, rate))
	if c.Reading(t) < r {
		t++
	}
	return t
}

// Takes returns how much true time passes, rounded up, while the steady clock advances by d; [NoEnd] if that is out of range.
// Unlike [Clock.When] it ignores that readings are rounded: a lease may end at the very instant at which the next begins.
func (c Clock) Takes(d time.Duration) time.Duration {
	rate := uint64(1e6 + c.PPM)
	hi, lo := bits.Mul64(uint64(d), 1e6)
	if hi >= rate {
		return NoEnd
	}
	q, r := bits.Div64(hi, lo, rate)
	if r > 0 {
		q++
	}
	return time.Duration(min(q, uint64(NoEnd)))
}

// Offset returns how far the wall clock is ahead of the steady one at an instant.
func (c Clock) Offset(t time.Duration) time.Duration {
	passed := t - c.Set
	if passed >= c.Over {
		return c.Ahead + c.Slew
	}
	return c.Ahead + scale(c.Slew, passed, c.Over)
}

// Wall returns what the wall clock shows at an instant.
func (c Clock) Wall(t time.Duration) time.Duration { return c.Reading(t) + c.Offset(t) }

// WallWhen returns the first instant, not before now, at which the wall clock shows at least r.
func (c Clock) WallWhen(now, r time.Duration) time.Duration {
	if c.Wall(now) >= r {
		return now
	}
	after := c.Set + c.Over // the slew is over, and the offset stays
	if now >= after || c.Wall(after) < r {
		return max(now, c.When(r-c.Ahead-c.Slew))
	}
	lo, hi := now, after // bisect: a clock that is being slewed never goes back
	for lo+1 < hi {
		if mid := lo + (hi-lo)/2; c.Wall(mid) >= r {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// After returns the clock after a fault: a [Jump] or a [Slew], either of which ends a slew in progress, or a [Drift]. It panics
// at a rate at which the clock would stand still or run backwards.
func (c Clock) After(f Fault, now time.Duration) Clock {
	switch f := f.(type) {
	case Jump:
		c.Set, c.Ahead, c.Slew, c.Over = now, c.Offset(now), f.By, 0
	case Slew:
		c.Set, c.Ahead, c.Slew, c.Over = now, c.Offset(now), f.By, f.Over
	case Drift:
		if f.PPM < -MaxDriftPPM || f.PPM > MaxDriftPPM {
			panic("sim: a clock that stands still, or runs back, cannot have timers")
		}
		c.Since, c.Steady, c.PPM = now, c.Reading(now), f.PPM
	}
	return c
}

// never is later than the end of any run, and can be added to without overflow.
const never = time.Duration(1 << 60)

func partsPerMillion(d time.Duration, ppm int64) time.Duration {
	return d/1e6*time.Duration(ppm) + d%1e6*time.Duration(ppm)/1e6
}

// scale returns d*n/by, rounded towards zero. The product may take 128 bits; a result that is out of range becomes the nearest
// number that is not. Only d may be negative.
func scale(d, n, by time.Duration) time.Duration {
	hi, lo := bits.Mul64(uint64(d.Abs()), uint64(n))
	q := uint64(math.MaxInt64)
	if hi < uint64(by) {
		q, _ = bits.Div64(hi, lo, uint64(by))
		q = min(q, math.MaxInt64)
	}
	if d < 0 {
		return -time.Duration(q)
	}
	return time.Duration(q)
}
