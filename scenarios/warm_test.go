package scenarios

import (
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/sim"
)

// twoClients take turns.
const twoClients = `# Two clients take turns.

client c1
  acquire
  write A
  release
client c2
  until 1s
  acquire
  write B
  release
must c2 acquires

-- redlock nodes=5 --
`

// A client with a warm pool neither connects nor says hello in the run; the probe does not, either. Its first request leaves at the
// instant of its first operation, and everything else is as in any run.
func TestWarmPool(t *testing.T) {
	for _, pool := range []string{"", " pool=warm"} {
		s, err := Parse("warm.txtar", []byte(strings.Replace(twoClients, "nodes=5", "nodes=5"+pool, 1)))
		if err != nil {
			t.Fatal(err)
		}
		o, err := Simulate(s, s.Runs[0], clients.NewRedlock, 1)
		if err != nil {
			t.Fatal(err)
		}
		hellos, first := 0, sim.NoEnd
		for _, e := range o.History.Events {
			if e.Kind == sim.Message && e.Word == "HELLO" && e.Process[0] == 'n' {
				hellos++
			}
			if e.Kind == sim.State && first == sim.NoEnd {
				first = e.At
			}
		}
		want, limit := 15, 10*sim.MaxLatency
		if pool != "" {
			want, limit = 0, sim.MaxLatency
		}
		if hellos != want {
			t.Errorf("%q: %d connections were greeted in the run, want %d", pool, hellos, want)
		}
		if first > limit {
			t.Errorf("%q: the first key was set at %v", pool, first)
		}
		if o.Result.Verdict != checker.Safe {
			t.Errorf("%q:\n%s", pool, o.Timeline())
		}
	}
}

// What a series keeps of clients with warm pools does not show in any run, whatever happened to them in the one before. That is
// tried with every perturbation of calm runs, one after the other.
func TestWarmSeriesIsLikeRunsAlone(t *testing.T) {
	quietRedis()
	for _, lock := range []string{"redlock", "redlock-sequential", "single", "watchdog", "watch"} {
		build := findLock(t, lock)
		calm, err := Shape{Lock: lock, Nodes: 3, Pool: Warm, Extend: lock == "watchdog"}.Calm()
		if err != nil {
			t.Fatal(err)
		}
		o, err := Simulate(calm, calm.Runs[0], build, 1)
		if err != nil {
			t.Fatal(err)
		}
		plans := sites(calm, o, constants{TTL: o.Run.TTL, Retry: retryDelay(o)}, Kinds())
		every := max(1, len(plans)/150)
		again := 0
		err = series(func(play player) {
			for i := 0; i < len(plans); i += every {
				s := calm.Perturbed(plans[i : i+1])
				alone, err := Simulate(s, s.Runs[0], build, 1)
				if err != nil {
					t.Fatal(err)
				}
				got := play(s, s.Runs[0], build, 1)
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
