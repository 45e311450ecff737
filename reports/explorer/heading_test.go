package explorer

import (
	"testing"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// The headline of a run without leases counts increments.
func TestWhySafeWithoutLeases(t *testing.T) {
	h := &history.History{Events: []history.Event{
		{Process: "c1", Kind: history.Invoke, Op: history.Increment, ID: 1}, {Process: "c1", Kind: history.OK, Op: history.Increment, ID: 1},
	}}
	if got, want := whySafe(facts.Of(h)), "1 increment, none lost"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
