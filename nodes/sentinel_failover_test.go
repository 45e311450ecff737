package nodes

import (
	"testing"
	"time"
)

// TestSuccessor: a replica can be promoted only if it has replied recently, and more recently if the primary is silent.
func TestSuccessor(t *testing.T) {
	cfg := sentinels(1)
	cfg.Replicas = 2
	for _, test := range []struct {
		name   string
		change func(s *Sentinel, r1, r2 *watched, now time.Duration)
		want   string
	}{
		{"equal", func(*Sentinel, *watched, *watched, time.Duration) {}, "r1"},
		{"more data", func(_ *Sentinel, _, r2 *watched, _ time.Duration) { r2.offset++ }, "r2"},
		{"less data", func(_ *Sentinel, r1, _ *watched, _ time.Duration) { r1.offset++ }, "r1"},
		{"down", func(_ *Sentinel, r1, _ *watched, _ time.Duration) { r1.sdown = true }, "r2"},
		{"no link", func(_ *Sentinel, r1, _ *watched, _ time.Duration) { r1.up = false }, "r2"},
		{"reached just in time", func(_ *Sentinel, r1, _ *watched, now time.Duration) { r1.reached = now - 5*time.Second }, "r1"},
		{"reached too long ago", func(_ *Sentinel, r1, _ *watched, now time.Duration) { r1.reached = now - 5*time.Second - 1 }, "r2"},
		{"never told", func(_ *Sentinel, r1, _ *watched, _ time.Duration) { r1.informed = 0 }, "r2"},
		{"told just in time", func(_ *Sentinel, r1, _ *watched, now time.Duration) { r1.informed = now - 30*time.Second }, "r1"},
		{"told too long ago", func(_ *Sentinel, r1, _ *watched, now time.Duration) { r1.informed = now - 30*time.Second - 1 }, "r2"},
		{"told just in time, silent primary", func(s *Sentinel, r1, _ *watched, now time.Duration) {
			s.primary.sdown, r1.informed = true, now-5*time.Second
		}, "r1"},
		{"told too long ago, silent primary", func(s *Sentinel, r1, _ *watched, now time.Duration) {
			s.primary.sdown, r1.informed = true, now-5*time.Second-1
		}, "r2"},
		{"nobody", func(_ *Sentinel, r1, r2 *watched, _ time.Duration) { r1.up, r2.up = false, false }, ""},
	} {
		inGroup(t, cfg, func(g *Group) {
			s, now, got := g.sentinels[0], time.Hour, ""
			for _, r := range s.replicas {
				r.up, r.reached, r.informed = true, now, now
			}
			test.change(s, s.replicas[0], s.replicas[1], now)
			if best := s.successor(now); best != nil {
				got = best.proc.Name
			}
			if got != test.want {
				t.Errorf("%s: %q, want %q", test.name, got, test.want)
			}
		})
	}
}

// TestOneVote: a sentinel votes once in each epoch, and not in epochs that are over.
func TestOneVote(t *testing.T) {
	inGroup(t, sentinels(3), func(g *Group) {
		s := g.sentinels[0]
		for _, v := range []struct {
			epoch     int64
			candidate string
			leader    string
			in        int64
		}{{2, "s2", "s2", 2}, {2, "s3", "s2", 2}, {1, "s3", "s2", 2}, {3, "s3", "s3", 3}, {3, "s1", "s3", 3}} {
			if leader, in := s.vote(v.epoch, v.candidate); leader != v.leader || in != v.in {
				t.Errorf("%+v: %s in %d", v, leader, in)
			}
		}
	})
}
