package history

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestReadingAndWhen: When is the inverse of Reading, at every rate that a fault can set and for as long as a run can last. Both
// agree with arithmetic that cannot overflow.
func TestReadingAndWhen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const year = 365 * 24 * time.Hour
		span := func(label string, least time.Duration) time.Duration {
			// Draw uniformly on a logarithmic scale: errors hide near zero and near the limits.
			limit := rapid.SampledFrom([]time.Duration{1, time.Microsecond, time.Second, time.Hour, 30 * 24 * time.Hour, year}).Draw(t, label+" up to")
			return time.Duration(rapid.Int64Range(int64(least), int64(limit)).Draw(t, label))
		}
		c := Clock{Since: span("t0", 0), Steady: span("r0", 0)}
		c.PPM = rapid.OneOf(rapid.Int64Range(-500, 500), rapid.Int64Range(-900_000, 900_000), rapid.SampledFrom([]int64{-MaxDriftPPM, MaxDriftPPM, 0})).Draw(t, "ppm")

		d := span("passed", 0)
		exact := new(big.Int).Mul(big.NewInt(int64(d)), big.NewInt(c.PPM))
		exact.Quo(exact, big.NewInt(1e6))
		if got, want := c.Reading(c.Since+d)-c.Steady-d, time.Duration(exact.Int64()); got != want {
			t.Fatalf("gained %v, want %v", got, want)
		}

		r := c.Steady + span("until", 1)
		at := c.When(r)
		if at >= c.Since+never && c.Reading(c.Since+never-1) < r {
			return // later than any time can be
		}
		if at <= c.Since || c.Reading(at) < r || c.Reading(at-1) >= r {
			t.Fatalf("shows %v first at %v; then %v, before that %v", r, at, c.Reading(at), c.Reading(at-1))
		}
		if c.Reading(c.When(c.Reading(c.Since+d))) != c.Reading(c.Since+d) {
			t.Fatal("a reading that is shown is not shown at its time")
		}
	})
}

func TestTakes(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		ppm  int64
		want time.Duration
	}{
		{0, 0, 0},
		{10, 0, 10},
		{10, 1_000_000, 5},
		{11, 1_000_000, 6}, // rounded up: at 5 the clock shows 10
		{10, -500_000, 20},
		{1, 1, 1},
		{time.Second, -1, time.Second + 1001*time.Nanosecond},
		{time.Hour, 10_000, 3564356435644},
		{NoEnd, 0, NoEnd},
		{NoEnd - 1, -1, NoEnd},
		{NoEnd, 1 - 1_000_000, NoEnd},
		{1, 1 - 1_000_000, 1_000_000},
	} {
		if got := (Clock{PPM: c.ppm}).Takes(c.d); got != c.want {
			t.Errorf("at %d ppm %d takes %d, want %d", c.ppm, c.d, got, c.want)
		}
	}
}

func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Int64().Draw(t, "d")
		n := rapid.Int64Range(0, 1<<62).Draw(t, "n")
		by := rapid.Int64Range(1, 1<<62).Draw(t, "by")
		want := new(big.Int).Mul(big.NewInt(d), big.NewInt(n))
		want.Quo(want, big.NewInt(by))
		if limit := big.NewInt(1<<63 - 1); want.CmpAbs(limit) > 0 {
			want.Mul(limit, big.NewInt(int64(want.Sign())))
		}
		if d == -1<<63 {
			return // its absolute value is one less
		}
		if got := scale(time.Duration(d), time.Duration(n), time.Duration(by)); int64(got) != want.Int64() {
			t.Fatalf("scale(%d, %d, %d) = %d, want %v", d, n, by, got, want)
		}
	})
}

// TestWallWhen: WallWhen finds the first instant of a reading during drift, offset and slew.
func TestWallWhen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day := int64(24 * time.Hour)
		span := func(label string, lo, hi int64) time.Duration {
			return time.Duration(rapid.Int64Range(lo, hi).Draw(t, label))
		}
		w := Clock{PPM: rapid.Int64Range(-900_000, 900_000).Draw(t, "ppm")}
		w.Ahead, w.Set = span("offset", -day, day), span("since", 0, day)
		w.Over = span("over", 0, 10*day)
		if w.Over > 0 {
			// A slew never turns the clock back. The remaining rate decides how steep it can be.
			limit := int64(scale(w.Over, time.Duration(1e6-max(w.PPM, -w.PPM)), 1e6)) * 9 / 10
			w.Slew = span("by", -limit, limit)
		}
		now := w.Set + span("now", 0, 10*day)
		r := w.Wall(now) + span("ahead", -day, 30*day)
		at := w.WallWhen(now, r)
		if w.Wall(at) < r || at < now || at > now && w.Wall(at-1) >= r {
			t.Fatalf("from %v, %v is shown at %v: %v, and before that %v", now, r, at, w.Wall(at), w.Wall(at-1))
		}
	})
}

// TestSlewInASlew: a slew that begins during another one ends it, and starts from the offset that it has reached.
func TestSlewInASlew(t *testing.T) {
	c := Clock{}.After(Slew{By: 10 * time.Second, Over: 10 * time.Second}, 0).After(Slew{By: 2 * time.Second, Over: 2 * time.Second}, 5*time.Second)
	for at, want := range map[time.Duration]time.Duration{5: 5, 6: 6, 7: 7, 20: 7} {
		if got := c.Offset(at * time.Second); got != want*time.Second {
			t.Errorf("after %d s the offset is %v, want %d s", at, got, want)
		}
	}
}

// TestSlew: a slew is spread evenly, ends exactly, and can be of any size. Its arithmetic once overflowed at ten seconds over
// twenty minutes.
func TestSlew(t *testing.T) {
	for _, tt := range []struct{ by, over time.Duration }{
		{50 * time.Millisecond, time.Second}, {-50 * time.Millisecond, time.Second}, {1, 3}, {10 * time.Second, 20 * time.Minute}, {-300 * 24 * time.Hour, 365 * 24 * time.Hour},
	} {
		w := Clock{}.After(Slew{By: tt.by, Over: tt.over}, time.Hour)
		for i := range time.Duration(10) {
			got := w.Offset(time.Hour + tt.over*i/10)
			if want := tt.by * i / 10; (got - want).Abs() > 1 {
				t.Errorf("%v over %v: after %d tenths the offset is %v, want %v", tt.by, tt.over, i, got, want)
			}
		}
		for _, after := range []time.Duration{tt.over, tt.over + 1, tt.over + time.Hour} {
			if got := w.Offset(time.Hour + after); got != tt.by {
				t.Errorf("%v over %v: the offset is %v at the end", tt.by, tt.over, got)
			}
		}
		w = w.After(Jump{}, time.Hour+tt.over/2) // another correction begins with the offset reached so far
		if got := w.Offset(time.Hour + 2*tt.over); (got - tt.by/2).Abs() > 1 {
			t.Errorf("%v over %v: the offset is %v if it was ended half way", tt.by, tt.over, got)
		}
	}
}
