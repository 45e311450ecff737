package scenarios

import (
	"runtime"
	"testing"

	"lockstep/scenarios/play"
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
