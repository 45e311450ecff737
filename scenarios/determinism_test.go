package scenarios

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/sim"
	"lockstep/sim/history"
)

// The runs in which most happens at once.
var busy = []string{
	"redlock-contended/redlock/staggered", "redlock-contended/redlock-sequential", "clock-jump/redlock", "delay-to-lock-server/redlock",
	"failover-sentinel/single", "failover-cluster/single", "failover-wait-minority/single-wait", "lost-update/watch/many",
	"expiry-herd/getset", "watchdog-zombie/watchdog",
}

func checksum(t *testing.T, name string, seed uint64) string {
	t.Helper()
	s, r := find(t, name)
	return simulated(t, s, r, seed).History.Meta.Checksum
}

// One seed gives one trace, however often and on however many processors it is run. The Makefile runs this under the race
// detector and with one and four processors.
func TestSameSeedSameTrace(t *testing.T) {
	play.QuietRedis()
	times := 100
	if testing.Short() {
		times = 10
	}
	for _, name := range busy {
		want := checksum(t, name, 7)
		for i := range times {
			if got := checksum(t, name, 7); got != want {
				t.Fatalf("%s: checksum %s, then, at repetition %d, %s", name, want, i+1, got)
			}
		}
	}
}

func TestSameSeedSameTraceOnAnyNumberOfProcessors(t *testing.T) {
	play.QuietRedis()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, name := range busy {
		sums := map[string]int{}
		for _, n := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(n)
			sums[checksum(t, name, 3)] = n
		}
		if len(sums) != 1 {
			t.Errorf("%s: the checksum depends on the number of processors: %v", name, sums)
		}
	}
}

func TestOtherSeedsGiveOtherTraces(t *testing.T) {
	play.QuietRedis()
	for _, name := range busy {
		sums := map[string]bool{}
		for seed := range uint64(10) {
			sums[checksum(t, name, seed)] = true
		}
		if len(sums) != 10 {
			t.Errorf("%s: 10 seeds gave %d traces", name, len(sums))
		}
	}
}

// A branched run is the same as without the branch until the branch begins. Then it is another one for each seed, and no fault is
// injected any more. It is reproducible, too.
func TestBranch(t *testing.T) {
	play.QuietRedis()
	for _, name := range busy {
		s, r := find(t, name)
		build, err := clients.Find(r.Lock)
		if err != nil {
			t.Fatal(err)
		}
		branched := func(after time.Duration, seed uint64) *history.History {
			o, err := play.SimulateVariant(play.Variant{Branch: &sim.Branch{After: after, Seed: seed}}, s, r, build, 7)
			if err != nil {
				t.Fatal(err)
			}
			return o.History
		}
		whole := simulated(t, s, r, 7).History.Events
		differ := 0
		for _, i := range []int{0, len(whole) / 7, len(whole) / 3, len(whole) / 2} {
			at := whole[i].At
			one, other := branched(at, 1), branched(at, 2)
			if again := branched(at, 1); again.Meta.Checksum != one.Meta.Checksum {
				t.Errorf("%s, branched at %v: checksum %s, then %s", name, at, one.Meta.Checksum, again.Meta.Checksum)
			}
			if one.Meta.Checksum != other.Meta.Checksum {
				differ++
			}
			for _, h := range []*history.History{one, other} {
				past := 0
				for past < len(whole) && whole[past].At <= at {
					past++
				}
				if len(h.Events) < past || !slices.Equal(h.Events[:past], whole[:past]) {
					t.Errorf("%s, branched at %v: the past is another one", name, at)
				}
				for _, e := range h.Events[min(past, len(h.Events)):] {
					if e.Kind == history.Injected && e.ID != 0 && e.Op != history.Missed {
						t.Errorf("%s, branched at %v: %s at %v", name, at, e.Value, e.At)
					}
				}
			}
		}
		if differ < 3 {
			t.Errorf("%s: two seeds give the same future after %d of 4 moments", name, 4-differ)
		}
	}
}

// A branch ends the faults that last: whoever is paused goes on, clocks run at the right rate.
func TestBranchEndsFaults(t *testing.T) {
	play.QuietRedis()
	s, r := find(t, "clock-drift/redlock/tenth")
	build, err := clients.Find(r.Lock)
	if err != nil {
		t.Fatal(err)
	}
	const at = 5 * time.Second
	o, err := play.SimulateVariant(play.Variant{Branch: &sim.Branch{After: at, Seed: 1}}, s, r, build, 1)
	if err != nil {
		t.Fatal(err)
	}
	ahead := map[time.Duration]int{}
	for _, e := range o.History.Events {
		if e.Process == "n3" && e.At > at+time.Second && e.Kind == history.State {
			ahead[(e.Clock-e.At).Round(time.Millisecond)]++
		}
	}
	if len(ahead) != 1 || ahead[500*time.Millisecond] == 0 {
		t.Errorf("after the branch n3, which was fast by a tenth for 5 s, is ahead by %v", ahead)
	}
}
