package facts

import (
	"testing"
	"time"

	"lockstep/sim/history"
)

func TestWhen(t *testing.T) {
	for _, c := range []struct {
		name     string
		readings []history.Clock
		want     time.Duration
		at       time.Duration
	}{
		{"no readings", nil, 5, history.NoEnd},
		{"never", []history.Clock{{Since: 0, Steady: 0}}, history.NoEnd, history.NoEnd},
		{"between two", []history.Clock{{Since: 0, Steady: 0}, {Since: 10, Steady: 10}}, 4, 4},
		{"at a reading", []history.Clock{{Since: 0, Steady: 0}, {Since: 10, Steady: 10}, {Since: 20, Steady: 20}}, 10, 10},
		{"after the last", []history.Clock{{Since: 0, Steady: 0}, {Since: 10, Steady: 10, PPM: 1_000_000}}, 20, 15},
		{"before the first", []history.Clock{{Since: 10, Steady: 10}}, 5, 10},
		{"the clock was ahead all along", []history.Clock{{Since: 10, Steady: 100}}, 105, 15},
		{"two readings at one instant", []history.Clock{{Since: 0, Steady: 0}, {Since: 10, Steady: 10}, {Since: 10, Steady: 10, PPM: 1_000_000}}, 12, 11},
		{"a clock that showed the same twice did so first at the first", []history.Clock{{Since: 5, Steady: 5}, {Since: 7, Steady: 5}}, 5, 5},
		{"a reading is worth more than what its forerunner promised", []history.Clock{{Since: 0, Steady: 0}, {Since: 10, Steady: 12}}, 11, 10},
		{"too late for this century", []history.Clock{{Since: 10, Steady: 10}}, history.NoEnd - 1, history.NoEnd - 1},
		{"later than time can tell", []history.Clock{{Since: 20, Steady: 10}}, history.NoEnd - 1, history.NoEnd},
	} {
		if got := When(c.readings, c.want); got != c.at {
			t.Errorf("%s: %d, want %d", c.name, got, c.at)
		}
	}
}

func TestReading(t *testing.T) {
	const second = time.Second
	slow := []history.Clock{{Since: 0, Steady: 0}, {Since: 2 * second, Steady: 2 * second, PPM: -500000}}
	for _, c := range []struct {
		readings []history.Clock
		at, want time.Duration
	}{{nil, 3 * second, 3 * second}, {slow, second, second}, {slow, 6 * second, 4 * second}, {slow[1:], second, second}} {
		if got := Reading(c.readings, c.at); got != c.want {
			t.Errorf("at %s the clock showed %s, want %s", c.at, got, c.want)
		}
	}
}
