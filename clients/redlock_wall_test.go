package clients_test

import (
	"errors"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/sim/history"
)

// redlock-wall takes a jump of the wall clock while it asks nodes for time that has passed. After a jump back the lease outlives
// its keys; after one forward it is shorter than necessary, or refused. A jump before or after the acquire makes no difference, and
// redlock does not depend on the wall clock at all.
func TestWallClockJumps(t *testing.T) {
	const ttl = 10 * time.Second
	for _, c := range []struct {
		jump  string
		error time.Duration // how far the end of the lease of redlock-wall is off
	}{
		{"jump c1 -2s", 2 * time.Second},
		{"jump c1 -1h", time.Hour},
		{"jump c1 +2s", -2 * time.Second},
		{"jump c1 +9897ms", -9897 * time.Millisecond}, // it leaves 1 ms of 9898, less the time of messages
	} {
		for name, build := range map[string]clients.New{"redlock": clients.NewRedlock, "redlock-wall": clients.NewRedlockWall} {
			want := c.error
			if name == "redlock" {
				want = 0
			}
			play(t, 5, func(s *stage) {
				s.when(history.Set, "n3", c.jump) // the replies are still on their way
				s.client("c1", func(c1 *client) {
					start := c1.env.Clock.Now()
					lease, err := build(c1.env).Acquire(c1.ctx, "lock", ttl)
					if c.error < -9*time.Second && name == "redlock-wall" {
						// The first try is refused, and the second is granted after 200 ms or more.
						if err != nil || lease.Until().Sub(start) < 10*time.Second || c1.Lease() != "c1#2" {
							t.Errorf("%s, %s: %v, %v", name, c.jump, lease, err)
						}
						return
					}
					if err != nil {
						t.Errorf("%s, %s: %v", name, c.jump, err)
						return
					}
					if got, want := lease.Until().Sub(start), ttl-ttl/100-2*time.Millisecond+want; got != want {
						t.Errorf("%s, %s: valid for %v after the request, want %v", name, c.jump, got, want)
					}
				})
			})
		}
	}
}

func TestWallClockJumpsElsewhen(t *testing.T) {
	play(t, 5, func(s *stage) {
		s.faultsAt(time.Second, "jump c1 -1h")
		s.faultsAt(3*time.Second, "jump c1 -1h")
		s.client("c1", func(c *client) {
			c.Until(2 * time.Second)
			start := c.env.Clock.Now()
			lease := c.acquire(clients.NewRedlockWall(c.env), 10*time.Second)
			c.Until(4 * time.Second)
			if got, want := lease.Until().Sub(start), 9898*time.Millisecond; got != want {
				t.Errorf("valid for %v after the request, want %v", got, want)
			}
		})
	})
}

// After a jump forward by more than the validity, a good majority is refused and released.
func TestWallClockRefuses(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		jumps := 0
		s.Watch(func(e history.Event) {
			if e.Kind == history.State && e.Op == history.Set && jumps < 3 {
				jumps++
				f, _ := history.ParseFault("jump c1 +10s")
				s.Plan(s.Now(), f)
			}
		})
		s.client("c1", func(c *client) {
			if err := c.refused(clients.NewRedlockWall(c.env), 10*time.Second); errors.Is(err, clients.ErrNotHeld) {
				t.Error(err)
			}
		})
	})
	same(t, "n1", r.changes("n1"), []string{"set c1#1", "delete c1#1", "set c1#2", "delete c1#2", "set c1#3", "delete c1#3"})
}
