package checker

import (
	"testing"
	"time"

	"lockstep/sim"
)

func TestWhen(t *testing.T) {
	for _, c := range []struct {
		name     string
		readings []sim.Clock
		want     time.Duration
		at       time.Duration
	}{
		{"no readings", nil, 5, sim.NoEnd},
		{"never", []sim.Clock{{Since: 0, Steady: 0}}, sim.NoEnd, sim.NoEnd},
		{"between two", []sim.Clock{{Since: 0, Steady: 0}, {Since: 10, Steady: 10}}, 4, 4},
		{"at a reading", []sim.Clock{{Since: 0, Steady: 0}, {Since: 10, Steady: 10}, {Since: 20, Steady: 20}}, 10, 10},
		{"after the last", []sim.Clock{{Since: 0, Steady: 0}, {Since: 10, Steady: 10, PPM: million}}, 20, 15},
		{"before the first", []sim.Clock{{Since: 10, Steady: 10}}, 5, 10},
		{"the clock was ahead all along", []sim.Clock{{Since: 10, Steady: 100}}, 105, 15},
		{"two readings at one instant", []sim.Clock{{Since: 0, Steady: 0}, {Since: 10, Steady: 10}, {Since: 10, Steady: 10, PPM: million}}, 12, 11},
		{"a clock that showed the same twice did so first at the first", []sim.Clock{{Since: 5, Steady: 5}, {Since: 7, Steady: 5}}, 5, 5},
		{"a reading is worth more than what its forerunner promised", []sim.Clock{{Since: 0, Steady: 0}, {Since: 10, Steady: 12}}, 11, 10},
		{"too late for this century", []sim.Clock{{Since: 10, Steady: 10}}, sim.NoEnd - 1, sim.NoEnd - 1},
		{"later than time can tell", []sim.Clock{{Since: 20, Steady: 10}}, sim.NoEnd - 1, sim.NoEnd},
	} {
		if got := when(c.readings, c.want); got != c.at {
			t.Errorf("%s: %d, want %d", c.name, got, c.at)
		}
	}
}
