package nodes

import "testing"

func TestKeySlot(t *testing.T) {
	for key, want := range map[string]int{"123456789": 12739, "foo": 12182, "{user1000}.following": 3443, "user1000": 3443, "": 0, "{}a": keySlot("{}a")} {
		if got := keySlot(key); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
	for shards := 1; shards <= 7; shards++ {
		g := &Group{cfg: GroupConfig{Shards: shards}}
		next := 0
		for i := range shards {
			first, last := g.slots(i)
			if first != next || g.rangeOf(first) != i || g.rangeOf(last) != i {
				t.Errorf("%d shards: part %d from %d to %d, found in %d and %d", shards, i, first, last, g.rangeOf(first), g.rangeOf(last))
			}
			next = last + 1
		}
		if next != clusterSlots {
			t.Errorf("%d shards have %d slots", shards, next)
		}
	}
}
