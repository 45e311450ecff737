package nodes

import "testing"

// TestClusterGuides: a client that a node refuses asks another node who has the slot.
func TestClusterGuides(t *testing.T) {
	play{cfg: shards(3, 1), seed: 1, faults: isolate("2s", []string{"n1"}, []string{"r1", "p2", "p3"}), lines: `
		c1 1s SET lock 1 -> OK
		c1 20s GET lock -> CLUSTERDOWN
		c1 21s GET lock -> 1`}.run(t)
}
