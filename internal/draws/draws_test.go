package draws

import (
	"testing"
	"time"
)

// Within as many days as there are parts every draw is made once, and on each day as many.
func TestDue(t *testing.T) {
	const draws, parts = 20, 5
	now := time.Date(2026, 12, 30, 13, 0, 0, 0, time.UTC)
	made := map[uint64]int{}
	for day := range parts {
		n := 0
		for draw := range uint64(draws) {
			if due(draw, parts, now.AddDate(0, 0, day)) {
				made[draw]++
				n++
			}
		}
		if n != draws/parts {
			t.Errorf("on day %d %d draws are made, want %d", day, n, draws/parts)
		}
	}
	for draw := range uint64(draws) {
		if made[draw] != 1 {
			t.Errorf("draw %d is made %d times", draw, made[draw])
		}
	}
}
