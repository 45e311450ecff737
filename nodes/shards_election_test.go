package nodes

import (
	"slices"
	"testing"

	"lockstep/sim/history"
)

// TestClusterElects: the replica with more of the data stands first, and the other follows it. Nobody is elected without a majority
// of the primaries, or while none considers the primary down.
func TestClusterElects(t *testing.T) {
	for seed := range uint64(5) {
		h := play{cfg: shards(3, 2), seed: seed, faults: "900ms cut n1->r1\n10s crash n1\n30s heal", lines: `
			c1 1s SET lock ` + token1 + ` -> OK
			c1 28s GET lock -> ` + token1 + `
			c1@r1 40s ROLE -> [slave 10.0.0.3 6379 connected`}.run(t)
		got := states(h, func(e history.Event) bool { return e.Op == history.Promoted || e.Op == history.Followed })
		if want := []string{"r2 promote", "r1 follow r2"}; !slices.Equal(got, want) {
			t.Errorf("seed %d: got %q", seed, got)
		}
	}
	for _, faults := range []string{"2s crash n1\n2s crash p2", "2s cut n1-r1", "2s cut n1-r1\n2s cut n1-p2"} {
		h := play{cfg: shards(3, 1), seed: 1, faults: faults, lines: "c1 60s"}.run(t)
		if len(of(h, history.Promoted)) > 0 {
			t.Errorf("%q: %q", faults, verdicts(h))
		}
	}
}

// TestClusterVotes: a primary votes once in each epoch, for a replica whose primary is down, and not against newer claims.
func TestClusterVotes(t *testing.T) {
	inGroup(t, shards(3, 2), func(g *Group) {
		b := g.nodes[3].bus // p2's
		n1, r1, r2, p3 := b.member("n1"), b.member("r1"), b.member("r2"), b.member("p3")
		slots := "5461-10921"
		ask := func(of *member, epoch, config int64, want bool) {
			t.Helper()
			b.epoch = max(b.epoch, epoch)
			if got := b.votes(of, epoch, config, slots, b.now()); got != want {
				t.Errorf("a vote for %s in %d: %v", of.name(), epoch, got)
			}
		}
		ask(r1, 4, 1, false) // n1 is up
		n1.failed = true
		ask(r1, 2, 1, false) // that epoch is over
		ask(p3, 4, 1, false) // p3 is no replica
		ask(r1, 4, 0, false) // n1 is known to have a newer claim
		ask(r1, 4, 1, true)
		voted := n1.votedAt
		n1.votedAt = 0
		ask(r2, 4, 1, false) // it has voted in this epoch
		n1.votedAt = voted
		ask(r2, 5, 1, false) // it has just voted for a successor of n1
		n1.votedAt = 0
		ask(r2, 6, 1, true)
	})
}
