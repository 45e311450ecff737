package scenarios

import (
	"errors"
	"os"
	"strings"
	"testing"

	"lockstep/nodes/live"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

func TestOnRedisGroupsRefuses(t *testing.T) {
	if err := live.GroupPossible(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
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
		{"crash n1", "replicas=1 shards=3", 1, "sim only: shards=3: the nodes of a cluster communicate over a bus that does not go through a proxy", true},
		{"crash n1", "replicas=1 persistence=rdb", 1, "sim only: persistence=rdb with replicas=1: a replica rewrites its log when it is in sync", true},
		{"on request PSYNC r1->n1 hold", "replicas=1", 1, "sim only: on request PSYNC r1->n1 hold: traffic between servers is passed on as bytes, not as single messages", true},
		{"jump n1 +1s", "replicas=1", 1, "only a replica can have a wrong clock, and only from the start", true},
		{"at 1s jump r1 +1s", "replicas=1", 1, "only a replica can have a wrong clock, and only from the start", true},
		{"jump s1 +1s", "replicas=1 sentinels=3", 1, "sim only: jump s1 +1s", true},
		{"crash n1", "replicas=1 min-replicas=1", 2, "", false},
		{"crash n1", "replicas=1 min-replicas=1", 3, "but redis-server takes only whole seconds, and at least 2; the speed must be 1, 2 or 5", false},
		{"crash n1", "replicas=1 min-replicas=1", 10, "but redis-server takes only whole seconds, and at least 2; the speed must be 1, 2 or 5", false},
	} {
		s, err := script.Parse("x.txtar", []byte("# A title.\n\nclient c1\n  acquire\nnemesis\n  "+c.nemesis+"\n\n-- single nodes=1 "+c.header+" --\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = play.CheckRedis(s, s.Runs[0], c.speed)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want)):
			t.Errorf("%s, %s at speed %v: %v, want %q", c.nemesis, c.header, c.speed, err, c.want)
		case errors.Is(err, live.ErrSimOnly) != c.ever:
			t.Errorf("%s, %s at speed %v: sim only: %v, want %v", c.nemesis, c.header, c.speed, !c.ever, c.ever)
		}
	}
}
