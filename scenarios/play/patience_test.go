package play

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestPatience: a run with guests may take longer than a native one. Package workers reads that in the field "patience" of its job.
func TestPatience(t *testing.T) {
	s, r := found(t, "pause-after-acquire/single")
	for guests, want := range map[bool]bool{true: true, false: false} {
		c := Case{Scenario: s, Run: r, On: OnSim}
		c.Run.Guests = guests
		data, err := json.Marshal(job{Patience: c.patience()})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(data), `"patience":5`); got != want {
			t.Errorf("with guests %t: %s", guests, data)
		}
	}
}
