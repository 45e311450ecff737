package scenarios

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"lockstep/nodes"
)

// onRedisGroups lists what of the catalogue is run on a real primary with replicas, and how fast. WAIT keeps its timeout whatever
// the speed, redis-server measures the lag of replicas in whole seconds, and Sentinel keeps its periods.
var onRedisGroups = map[string]float64{
	"failover-clock/single":              calm,
	"failover-clock/single-wait":         calm,
	"failover-lag/single":                calm,
	"failover-lag/single/replicated":     calm,
	"failover-lag/single-wait":           slow,
	"failover-sentinel/single":           slow,
	"failover-wait-minority/single-wait": calm,
	"pause-after-acquire/single-wait":    calm,
	"split-brain/single":                 calm,
	"split-brain/single/min-replicas":    slow,
	"split-brain/single/later":           1,
	"token-after-failover/fenced":        calm,
	"wait-other-connection/single-wait":  1,
}

// A real primary and its replicas, with and without sentinels, give the verdicts of simulation, property by property.
func TestOnRedisGroups(t *testing.T) {
	if err := nodes.GroupPossible(); err != nil {
		t.Skip(err)
	}
	workers := reality(t)
	var cases []Case
	for _, name := range slices.Sorted(maps.Keys(onRedisGroups)) {
		if speed := onRedisGroups[name]; speed == calm || !testing.Short() {
			s, r := find(t, name)
			cases = append(cases, Case{Scenario: s, Run: r, Seed: 1, On: OnReal, Speed: speed, Tries: tries})
		}
	}
	workers.Output = os.Stderr // what was tried again, and why
	err := RunAll(t.Context(), workers, cases, func(_ int, o *Outcome) {
		t.Run(o.Name(), func(t *testing.T) {
			if o.Report != nil {
				t.Error(o.Report)
			}
			if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
				t.Errorf("%s\n%s", strings.Join(diffs, "; "), o.Timeline())
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOnRedisGroupsRefuses(t *testing.T) {
	if err := nodes.GroupPossible(); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		nemesis, header string
		speed           float64
		want            string // the end of what is said; empty: it is possible
		ever            bool   // also at other speeds
	}{
		{"promote r1", "replicas=1", 5, "", false},
		{"follow r2 r1", "replicas=2", 5, "", false},
		{"cut n1->r1", "replicas=1 sentinels=3", 5, "", false},
		{"on request SET c1->n1 hold", "replicas=1", 5, "", false},
		{"stop n1", "replicas=1", 5, "", false},
		{"jump r1 +1s", "replicas=1", 5, "", false},
		{"crash n1", "replicas=1 shards=3", 1, "sim only: shards=3: the nodes of a cluster talk to each other over a bus that no proxy carries", true},
		{"crash n1", "replicas=1 persistence=rdb", 1, "sim only: persistence=rdb with replicas=1: a replica writes its log anew when it is in sync", true},
		{"on request PSYNC r1->n1 hold", "replicas=1", 1, "sim only: on request PSYNC r1->n1 hold: what servers say to each other is passed on as it comes, not message by message", true},
		{"jump n1 +1s", "replicas=1", 1, "only a replica can have a wrong clock, from the start", true},
		{"at 1s jump r1 +1s", "replicas=1", 1, "only a replica can have a wrong clock, from the start", true},
		{"jump s1 +1s", "replicas=1 sentinels=3", 1, "sim only: jump s1 +1s", true},
		{"crash n1", "replicas=1 min-replicas=1", 2, "", false},
		{"crash n1", "replicas=1 min-replicas=1", 3, "and redis-server counts whole seconds, and needs 2; the speeds for this run are 1, 2 and 5", false},
		{"crash n1", "replicas=1 min-replicas=1", 10, "and redis-server counts whole seconds, and needs 2; the speeds for this run are 1, 2 and 5", false},
	} {
		s, err := Parse("x.txtar", []byte("# A title.\n\nclient c1\n  acquire\nnemesis\n  "+c.nemesis+"\n\n-- single nodes=1 "+c.header+" --\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = CheckRedis(s, s.Runs[0], c.speed)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want)):
			t.Errorf("%s, %s at speed %v: %v, want %q", c.nemesis, c.header, c.speed, err, c.want)
		case errors.Is(err, nodes.ErrSimOnly) != c.ever:
			t.Errorf("%s, %s at speed %v: sim only: %v, want %v", c.nemesis, c.header, c.speed, !c.ever, c.ever)
		}
	}
}
