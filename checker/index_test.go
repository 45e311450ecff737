package checker

import (
	"testing"
	"time"

	"lockstep/sim/history"
)

// TestBoundsOfDelay: half a TTL is not late yet, and a four hundredth of it is out of reach already.
func TestBoundsOfDelay(t *testing.T) {
	ix := newIndex(&history.History{Meta: history.Meta{TTL: 10 * time.Second}})
	for d, want := range map[time.Duration][2]bool{
		0: {}, 25*time.Millisecond - 1: {}, 25 * time.Millisecond: {true, false}, 5 * time.Second: {true, false}, 5*time.Second + 1: {true, true},
	} {
		if got := [2]bool{ix.outOfReach(d), ix.tookLong(d)}; got != want {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	}
	if ix := newIndex(&history.History{}); ix.outOfReach(0) || ix.tookLong(time.Hour) {
		t.Error("late without a TTL")
	}
}
