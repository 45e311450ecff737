package checker

import (
	"testing"
	"time"

	"lockstep/sim"
)

func TestTrueTime(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		ppm  int64
		want time.Duration
	}{
		{0, 0, 0},
		{10, 0, 10},
		{10, million, 5},
		{11, million, 6}, // rounded up: at 5 the clock shows 10
		{10, -500_000, 20},
		{1, 1, 1},
		{time.Second, -1, time.Second + 1001*time.Nanosecond},
		{time.Hour, 10_000, 3564356435644},
		{sim.NoEnd, 0, sim.NoEnd},
		{sim.NoEnd - 1, -1, sim.NoEnd},
		{sim.NoEnd, 1 - million, sim.NoEnd},
		{1, 1 - million, million},
	} {
		if got := trueTime(c.d, c.ppm); got != c.want {
			t.Errorf("trueTime(%d, %d) = %d, want %d", c.d, c.ppm, got, c.want)
		}
	}
}

func TestWhen(t *testing.T) {
	for _, c := range []struct {
		name     string
		readings []reading
		want     time.Duration
		at       time.Duration
	}{
		{"no readings", nil, 5, sim.NoEnd},
		{"never", []reading{{0, 0, 0}}, sim.NoEnd, sim.NoEnd},
		{"between two", []reading{{0, 0, 0}, {10, 10, 0}}, 4, 4},
		{"at a reading", []reading{{0, 0, 0}, {10, 10, 0}, {20, 20, 0}}, 10, 10},
		{"after the last", []reading{{0, 0, 0}, {10, 10, million}}, 20, 15},
		{"before the first", []reading{{10, 10, 0}}, 5, 10},
		{"the clock was ahead all along", []reading{{10, 100, 0}}, 105, 15},
		{"two readings at one instant", []reading{{0, 0, 0}, {10, 10, 0}, {10, 10, million}}, 12, 11},
		{"a clock that showed the same twice did so first at the first", []reading{{5, 5, 0}, {7, 5, 0}}, 5, 5},
		{"a reading is worth more than what its forerunner promised", []reading{{0, 0, 0}, {10, 12, 0}}, 11, 10},
		{"too late for this century", []reading{{10, 10, 0}}, sim.NoEnd - 1, sim.NoEnd - 1},
		{"later than time can tell", []reading{{20, 10, 0}}, sim.NoEnd - 1, sim.NoEnd},
	} {
		if got := when(c.readings, c.want); got != c.at {
			t.Errorf("%s: %d, want %d", c.name, got, c.at)
		}
	}
}
