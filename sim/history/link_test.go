package history_test

import (
	"testing"

	"lockstep/sim/history"
)

func TestLinkCovers(t *testing.T) {
	both, one := history.Link{From: "c1", To: "n1", Both: true}, history.Link{From: "c1", To: "n1"}
	for _, c := range []struct {
		link     history.Link
		from, to string
		want     bool
	}{
		{history.Link{}, "c1", "n1", true},
		{both, "c1", "n1", true},
		{both, "n1", "c1", true},
		{both, "c1", "n2", false},
		{both, "c2", "n1", false},
		{one, "c1", "n1", true},
		{one, "n1", "c1", false},
	} {
		if got := c.link.Covers(c.from, c.to); got != c.want {
			t.Errorf("link %q covers a message from %s to %s: %v, want %v", c.link, c.from, c.to, got, c.want)
		}
	}
}
