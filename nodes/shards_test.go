package nodes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/nodes/engine"
	"lockstep/sim/history"
)

func shards(n, replicas int) GroupConfig {
	return GroupConfig{Replicas: replicas, Shards: n, DownAfter: 5 * time.Second}
}

// TestClusterFailover: the owner of the slot dies, most primaries agree that it is down, and its replica takes over its slots.
func TestClusterFailover(t *testing.T) {
	for seed := range uint64(20) {
		h := play{cfg: shards(3, 1), seed: seed, faults: "2s crash n1\n40s restart n1", lines: `
			c1 1s SET lock ` + token1 + ` NX PX 60000 -> OK
			c1 4s GET lock -> dial tcp
			c1@p2 4s GET lock -> MOVED 8718 10.0.0.1:6379
			c1@p2 14s GET lock -> MOVED 8718 10.0.0.2:6379
			c1 30s GET lock -> ` + token1 + `
			c2 31s SET lock ` + token2 + ` NX PX 60000 -> redis: nil
			c1@n1 50s GET lock -> MOVED 8718 10.0.0.2:6379
			c1@n1 50s ROLE -> [slave 10.0.0.2 6379 connected`}.run(t)
		down, leader, promoted := of(h, history.Odown), of(h, history.Leader), of(h, history.Promoted)
		if len(down) == 0 || len(leader) != 1 || len(promoted) != 1 || leader[0].Process != "r1" || leader[0].Value != "n1" {
			t.Fatalf("seed %d: %q", seed, verdicts(h))
		}
		if down[0].At < 7*time.Second || promoted[0].At < down[0].At+500*time.Millisecond || promoted[0].At > 14*time.Second {
			t.Errorf("seed %d: odown %v, promoted %v", seed, down[0].At, promoted[0].At)
		}
		if follows := of(h, history.Followed); len(follows) != 1 || follows[0].Process != "n1" || follows[0].At < 40*time.Second {
			t.Errorf("seed %d: %q", seed, verdicts(h))
		}
	}
}

// TestClusterSplit: an old primary on the minority side goes on for a while, and then refuses writes. What it accepted is lost when
// it is back.
func TestClusterSplit(t *testing.T) {
	h := play{cfg: shards(3, 1), seed: 1, faults: isolate("2s", strings.Fields("n1 c1"), strings.Fields("r1 p2 p3 c2")) + "40s heal", lines: `
		c1 1s PING -> PONG
		c1 3s SET lock ` + token1 + ` NX PX 60000 -> OK
		c1 12s GET lock -> CLUSTERDOWN
		c2 20s SET lock ` + token2 + ` NX PX 60000 -> OK
		c1 60s SET lock ` + token1 + ` NX PX 60000 -> redis: nil
		c1 61s GET lock -> ` + token2}.run(t)
	got := states(h, func(e history.Event) bool {
		return e.Process == "n1" && e.Key != "" || e.Op == history.Promoted || e.Op == history.Followed
	})
	want := []string{"n1 set lock c1#1 by c1", "r1 promote", "n1 follow r1", "n1 over lock c2#1 of c1#1 by r1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestClusterSaysSo: replies from which clients learn whether this is a cluster. Those of redis-server 7.0.15 are the same.
func TestClusterSaysSo(t *testing.T) {
	inGroup(t, shards(3, 1), func(g *Group) {
		s := g.nodes[0].Connect("c1")
		for _, ask := range []struct{ command, want string }{
			{"HELLO", "$4\r\nmode\r\n$7\r\ncluster\r\n"},
			{"INFO server", "\r\nredis_mode:cluster\r\n"},
			{"INFO cluster", "\r\ncluster_enabled:1\r\n"},
		} {
			if got := string(s.Feed([]byte(ask.command + "\r\n"))); !strings.Contains(got, ask.want) {
				t.Errorf("%s: %q", ask.command, got)
			}
		}
	})
	r := engine.NewRedis(time.Now)
	defer r.Close()
	if got := string(r.Connect("c1").Feed([]byte("INFO\r\n"))); !strings.Contains(got, "redis_mode:standalone") || !strings.Contains(got, "cluster_enabled:0") {
		t.Errorf("alone: %q", got)
	}
}

// TestClusterWithoutReplicas: of three primaries two are a majority. So the report of one and what the other has seen itself are enough.
func TestClusterWithoutReplicas(t *testing.T) {
	h := play{cfg: shards(3, 0), seed: 1, faults: "2s crash n1", lines: `
		c1 1s SET lock ` + token1 + ` NX PX 60000 -> OK
		c1@p2 4s GET lock -> MOVED 8718 10.0.0.1:6379
		c1@p2 14s GET lock -> CLUSTERDOWN`}.run(t)
	if down := of(h, history.Odown); len(down) == 0 {
		t.Errorf("%q", verdicts(h))
	}
}

// TestClusterTimes: a dead node is suspected when a ping was not answered within the timeout. The ping is sent at the latest when
// the last reply is half the timeout old, and often before, because each second one node is chosen among a few for a ping. On
// redis-server 7.0.15, with a timeout of 2 s, the first suspicion came 2.05 to 2.92 s after kill -9, agreement after 2.72 to 3.45
// s, and the promotion of the replica after 3.57 to 4.57 s, in a few runs.
func TestClusterTimes(t *testing.T) {
	cfg := shards(3, 1)
	cfg.DownAfter = 2 * time.Second
	var latest time.Duration
	for seed := range uint64(40) {
		crash := 5*time.Second + time.Duration(seed)*37*time.Millisecond
		h := play{cfg: cfg, seed: seed, faults: crash.String() + " crash n1", lines: "c1 15s"}.run(t)
		at := func(op string) time.Duration { return of(h, op)[0].At - crash }
		if suspected := at(history.Sdown); suspected < 2*time.Second || suspected > 3200*time.Millisecond {
			t.Errorf("seed %d: suspected after %v", seed, suspected)
		}
		if failed := at(history.Odown); failed < at(history.Sdown) || failed > 4200*time.Millisecond {
			t.Errorf("seed %d: down after %v", seed, failed)
		}
		if promoted := at(history.Promoted) - at(history.Odown); promoted < 500*time.Millisecond || promoted > 1300*time.Millisecond {
			t.Errorf("seed %d: promoted %v after that", seed, promoted)
		}
		latest = max(latest, at(history.Sdown))
	}
	if latest < 2500*time.Millisecond {
		t.Errorf("the latest suspicion came after %v", latest)
	}
	cfg.DownAfter = 20 * time.Second
	for seed := range uint64(10) {
		crash := 5*time.Second + time.Duration(seed)*time.Second
		h := play{cfg: cfg, seed: seed, faults: crash.String() + " crash n1", lines: "c1 50s"}.run(t)
		if suspected := of(h, history.Sdown)[0].At - crash; suspected > 23*time.Second {
			t.Errorf("seed %d: suspected after %v, although a ping goes out each second", seed, suspected)
		}
	}
}

// TestClusterState: a node refuses commands while it reaches no majority or a slot has no owner. A primary does so for a short time
// after that, too.
func TestClusterState(t *testing.T) {
	const now = time.Hour
	for _, test := range []struct {
		name   string
		node   int
		now    time.Duration
		change func(b *bus, p2, p3 *member)
		down   bool
	}{
		{"fine", 0, now, func(*bus, *member, *member) {}, false},
		{"one is suspected", 0, now, func(_ *bus, p2, _ *member) { p2.suspected = true }, false},
		{"two are suspected", 0, now, func(_ *bus, p2, p3 *member) { p2.suspected, p3.suspected = true, true }, true},
		{"one has failed", 0, now, func(_ *bus, p2, _ *member) { p2.failed = true }, true},
		{"back from a minority", 0, now, func(b *bus, _, _ *member) { b.down, b.minorityAt = true, now-5*time.Second+1 }, true},
		{"back for long enough", 0, now, func(b *bus, _, _ *member) { b.down, b.minorityAt = true, now-5*time.Second }, false},
		{"a replica is back", 1, now, func(b *bus, _, _ *member) { b.down, b.minorityAt = true, now-1 }, false},
		{"was not down", 0, now, func(b *bus, _, _ *member) { b.minorityAt = now - 1 }, false},
		{"restarted", 0, now, func(b *bus, _, _ *member) { b.down, b.startedAt = true, now-2*time.Second+1 }, true},
		{"restarted long ago", 0, now, func(b *bus, _, _ *member) { b.down, b.startedAt = true, now-2*time.Second }, false},
		{"a replica has restarted", 1, now, func(b *bus, _, _ *member) { b.down, b.startedAt = true, now-1 }, false},
		{"a clock far back", 0, time.Second, func(b *bus, _, _ *member) { b.down = true }, false},
	} {
		inGroup(t, shards(3, 1), func(g *Group) {
			b := g.nodes[test.node].bus
			test.change(b, b.member("p2"), b.member("p3"))
			if b.updateState(test.now); b.down != test.down {
				t.Errorf("%s: down %v", test.name, b.down)
			}
		})
	}
}

func TestClusterIsDeterministic(t *testing.T) {
	sameTwice(t, play{cfg: shards(3, 2), seed: 1, faults: `
		2s crash n1
		8s reset c1-r1
		20s restart n1
		30s pause p2 10s
		30s crash p3
		35s restart p3`, lines: `
		c1 1s SET lock ` + token1 + locks + `
		c2 1s SET lock ` + token2 + locks + `
		c1 20s SET lock 1
		c2 20s SET lock 2
		c1/b 20s WAIT 1 1000
		c2/b 20s WAIT 1 1000
		c1 50s`})
}
