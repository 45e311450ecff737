package pictures

import (
	"fmt"
	"testing"

	"lockstep/reports/explorer"
	"lockstep/sim/history"
)

// No two of the first thirty clients look the same, and neighbours share neither colour nor pattern.
func TestLooksDiffer(t *testing.T) {
	h := &history.History{}
	for i := range 30 {
		h.Meta.Clients = append(h.Meta.Clients, fmt.Sprintf("c%d", i+1))
	}
	c := cast(explorer.CastOf(h))
	seen := map[look]string{}
	for i, client := range h.Meta.Clients {
		l := c.look(client)
		if other, found := seen[l]; found {
			t.Errorf("%s looks like %s", client, other)
		}
		seen[l] = client
		if i > 0 {
			if before := c.look(h.Meta.Clients[i-1]); before.ink == l.ink || before.pattern == l.pattern {
				t.Errorf("%s looks much like its neighbour", client)
			}
		}
		if l.ink == red {
			t.Errorf("%s has the colour of violations", client)
		}
	}
}
