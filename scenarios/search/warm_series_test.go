package search

import (
	"testing"

	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// What a series keeps of clients with warm pools does not show in any run, whatever happened to them in the one before. That is
// tried with every perturbation of calm runs, one after the other.
func TestWarmSeriesIsLikeRunsAlone(t *testing.T) {
	draws.Seldom(t, 2, 4)
	play.QuietRedis()
	for _, lock := range []string{"redlock", "redlock-sequential", "single", "watchdog", "watch"} {
		build := findLock(t, lock)
		calm, err := Shape{Lock: lock, Nodes: 3, Pool: script.Warm, Extend: lock == "watchdog"}.Calm()
		if err != nil {
			t.Fatal(err)
		}
		o, err := play.Simulate(calm, calm.Runs[0], build, 1)
		if err != nil {
			t.Fatal(err)
		}
		plans := Sites(calm, o, Constants{TTL: o.Run.TTL, Retry: RetryDelay(o)}, script.Kinds())
		every := max(1, len(plans)/150)
		again := 0
		err = play.Series(func(replayed play.Player) {
			for i := 0; i < len(plans); i += every {
				s := Perturbed(calm, plans[i:i+1])
				alone, err := play.Simulate(s, s.Runs[0], build, 1)
				if err != nil {
					t.Fatal(err)
				}
				got := replayed(s, s.Runs[0], build, 1)
				if alone.History.Meta.Checksum != got.History.Meta.Checksum {
					t.Fatalf("%s, %v: %s", lock, plans[i], traceDifference(alone.History, got.History))
				}
				again++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d of %d plans", lock, again, len(plans))
	}
}
