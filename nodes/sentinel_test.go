package nodes

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/sim"
	"lockstep/sim/history"
)

func sentinels(n int) GroupConfig {
	return GroupConfig{Replicas: 1, Sentinels: n, DownAfter: 5 * time.Second}
}

// verdicts returns the state changes other than changes of keys.
func verdicts(h *history.History) []string {
	return states(h, func(e history.Event) bool { return e.Key == "" })
}

// of returns the state changes of one kind.
func of(h *history.History, op string) (events []history.Event) {
	for _, e := range h.Events {
		if e.Kind == history.State && e.Op == op {
			events = append(events, e)
		}
	}
	return events
}

// TestSentinelFailover: the primary dies, is considered down after down-after, and one sentinel promotes the replica.
func TestSentinelFailover(t *testing.T) {
	for seed := range uint64(20) {
		h := play{cfg: sentinels(3), seed: seed, faults: "2s crash n1", lines: `
			c1 1s SET lock ` + token1 + ` NX PX 60000 -> OK
			c1 1900ms GET lock -> ` + token1 + `
			c1 4s GET lock -> dial tcp
			c1 20s GET lock -> ` + token1 + `
			c2 21s SET lock ` + token2 + ` NX PX 60000 -> redis: nil`}.run(t)
		for _, e := range of(h, history.Sdown)[:3] {
			if e.At < 7*time.Second || e.At > 7300*time.Millisecond || e.Value != "n1" {
				t.Errorf("seed %d: %+v", seed, e)
			}
		}
		down, leader, promoted := of(h, history.Odown), of(h, history.Leader), of(h, history.Promoted)
		if len(down) == 0 || len(leader) != 1 || len(promoted) != 1 {
			t.Fatalf("seed %d: %q", seed, verdicts(h))
		}
		if down[0].At < 7*time.Second || leader[0].At < down[0].At || promoted[0].At < leader[0].At || promoted[0].At > 9*time.Second {
			t.Errorf("seed %d: odown %v, leader %v, promoted %v", seed, down[0].At, leader[0].At, promoted[0].At)
		}
	}
}

// isolate cuts every link between two sets of processes.
func isolate(at string, some, others []string) (faults string) {
	for _, a := range some {
		for _, b := range others {
			faults += at + " cut " + a + "-" + b + "\n"
		}
	}
	return faults
}

// TestSentinelMinority: a minority of sentinels promotes nobody, whether it cannot reach the others or the others do not consider
// the primary down.
func TestSentinelMinority(t *testing.T) {
	for _, tt := range []struct {
		name, faults  string
		sdown, others int // how many such events there are about n1
	}{
		{"two are dead", "1s crash s2\n1s crash s3\n2s crash n1", 1, 0},
		{"one is cut off with the replica", isolate("2s", strings.Fields("n1 s2 s3"), strings.Fields("r1 s1")), 1, 0},
		{"only one doubts", "2s cut n1-s1", 1, 0},
		{"two doubt", "2s cut n1-s1\n2s cut n1-s3", 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := play{cfg: sentinels(3), seed: 1, faults: tt.faults, lines: "c1 60s"}.run(t)
			about := func(op string) (n int) {
				for _, e := range of(h, op) {
					if e.Value == "n1" && e.At < 9*time.Second {
						n++
					}
				}
				return n
			}
			if about(history.Sdown) != tt.sdown || about(history.Leader) != tt.others || min(1, len(of(h, history.Promoted))) != tt.others {
				t.Errorf("%q", verdicts(h))
			}
		})
	}
}

// TestOldPrimaryIsDemoted: an old primary that was cut off serves its side. What it accepted meanwhile is lost when it is back.
func TestOldPrimaryIsDemoted(t *testing.T) {
	for seed := range uint64(5) {
		h := play{cfg: sentinels(3), seed: seed, faults: isolate("2s", strings.Fields("n1 s1 c1"), strings.Fields("r1 s2 s3 c2")) + "40s heal", lines: `
			c1 1s SET lock ` + token1 + ` NX PX 20000 -> OK
			c2 1s PING -> PONG
			c1 30s SET lock ` + token1 + ` NX PX 60000 -> OK
			c2 30s SET lock ` + token2 + ` NX PX 60000 -> read tcp
			c2 31500ms SET lock ` + token2 + ` NX PX 60000 -> OK
			c1 61s SET b 1 -> OK
			c1 62s`}.run(t)
		got := states(h, func(e history.Event) bool { return e.At > 2*time.Second && e.Key != "b" })
		var keep []string
		for _, line := range got {
			if line[0] != 's' {
				keep = append(keep, line)
			}
		}
		want := []string{
			"r1 promote", "n1 expire lock of c1#1", "r1 expire lock of c1#1", "n1 set lock c1#2 by c1", "r1 set lock c2#2 by c2",
			"n1 follow r1", "n1 over lock c2#2 of c1#2 by r1",
		}
		if !slices.Equal(keep, want) {
			t.Errorf("seed %d: %q", seed, keep)
		}
		if follows := of(h, history.Followed); len(follows) != 1 || follows[0].At < 48*time.Second || follows[0].At > 60*time.Second {
			t.Errorf("seed %d: %+v", seed, follows)
		}
	}
}

// TestSentinelsChooseTheBest: the replica with more of the data is promoted, and the others follow it.
func TestSentinelsChooseTheBest(t *testing.T) {
	cfg := sentinels(3)
	cfg.Replicas = 3
	h := play{cfg: cfg, seed: 1, faults: "500ms cut n1-r1\n500ms cut n1-r3\n15s crash n1\n40s heal\n41s restart n1", lines: `
		c1 1s SET a 1 -> OK
		c1 30s GET a -> 1
		c1 30s SET b 1 -> OK
		c1@r1 35s GET b -> 1
		c1@r3 35s GET b -> 1
		c1@n1 65s GET b -> 1
		c1 66s`}.run(t)
	got := states(h, func(e history.Event) bool { return e.Op == history.Promoted || e.Op == history.Followed })
	if want := strings.Fields("r2_promote r1_follow_r2 r3_follow_r2 n1_follow_r2"); !slices.Equal(got, split(want)) {
		t.Errorf("got %q", got)
	}
}

func split(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, strings.ReplaceAll(l, "_", " "))
	}
	return out
}

// TestSentinelPings: a sentinel pings one second after the last reply, but not sooner than half a second after its last ping.
func TestSentinelPings(t *testing.T) {
	const half = 500 * time.Millisecond
	for _, test := range []struct {
		ponged, pinged time.Duration // how long ago
		want           bool
	}{{time.Second, time.Minute, false}, {time.Second + 1, half, false}, {time.Second + 1, half + 1, true}, {time.Minute, half, false}} {
		inGroup(t, sentinels(1), func(g *Group) {
			w, now := g.sentinels[0].replicas[0], time.Hour
			w.reconnect(now)
			w.up, w.informed, w.linked = true, now, true
			w.ponged, w.pinged = now-test.ponged, now-test.pinged
			if w.talk(now); (w.pinged == now) != test.want {
				t.Errorf("%+v", test)
			}
		})
	}
}

// TestSentinelTakesPart: a sentinel that was dead or cut off learns from the others who the primary is. One that was paused does
// not take its own pause for silence of the others.
func TestSentinelTakesPart(t *testing.T) {
	for _, faults := range []string{
		"1s crash s1\n2s crash n1\n20s restart s1",
		"1s crash s1\n2s crash n1\n20s restart s1 empty",
		isolate("1s", strings.Fields("s1"), strings.Fields("n1 r1 s2 s3")) + "2s crash n1\n20s heal",
		"3s crash n1\n10s crash s2\n10s crash s3\n11s crash s1\n20s restart s1",
	} {
		play{cfg: sentinels(3), seed: 1, faults: faults, lines: `
			c1 1s SET a 1 -> OK
			c1 30s GET a -> 1
			c1 31s SET b 1 -> OK`}.run(t)
	}
	h := play{cfg: sentinels(3), seed: 1, faults: `
		2s pause s1 30s
		2s pause s2 30s
		2s pause s3 30s
		40s jump s2 -1m
		40s cut s1-n1
		40s cut s3-n1
		42s jump s1 +1m
		42s jump s3 +1m
		43s heal`, lines: "c1 90s"}.run(t)
	if got := verdicts(h); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// inGroup runs f with a new group.
func inGroup(t *testing.T, cfg GroupConfig, f func(g *Group)) {
	t.Helper()
	err := sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{Seed: 1})
		defer w.Close()
		g := ServeGroup(w, cfg)
		defer g.Close()
		f(g)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFailoverClient: the Sentinel client of go-redis finds the new primary.
func TestFailoverClient(t *testing.T) {
	err := sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{Seed: 1})
		defer w.Close()
		g := ServeGroup(w, sentinels(1))
		defer g.Close()
		c := w.Process("c1")
		c.Go(func(ctx context.Context) {
			client := redis.NewFailoverClient(&redis.FailoverOptions{
				MasterName: "lock", SentinelAddrs: []string{g.sentinels[0].Process.Addr()},
				Dialer: c.DialContext, Protocol: 2, MaxRetries: -1, DialerRetries: 1, PoolSize: 4, DisableIdentity: true,
			})
			defer client.Close()
			if err := client.Set(ctx, "a", 1, 0).Err(); err != nil {
				t.Error(err)
			}
			c.Until(20 * time.Second)
			if got, err := client.Incr(ctx, "a").Result(); err != nil || got != 2 {
				t.Errorf("got %d, %v", got, err)
			}
		})
		w.Plan(2*time.Second, history.Crash{Process: "n1"})
		w.Run()
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSentinelsAreDeterministic(t *testing.T) {
	sameTwice(t, play{cfg: sentinels(3), seed: 1, faults: `
		2s crash n1
		8s reset c1-r1
		20s restart n1
		30s pause s1 10s
		30s crash s2
		35s restart s2`, lines: `
		c1 1s SET lock ` + token1 + locks + `
		c2 1s SET lock ` + token2 + locks + `
		c1 12s SET a 1
		c2 12s SET a 2
		c1/b 12s WAIT 1 1000
		c2/b 12s WAIT 1 1000
		c1 50s`})
}
