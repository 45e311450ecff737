package clients_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/clients/broken"
	"lockstep/clients/sound"
)

// playFor plays a story on as many nodes as a lock is meant for, or on one with a replica.
func playFor(t *testing.T, lock clients.Lock, direct func(*stage)) {
	t.Helper()
	switch {
	case isRedlock(lock):
		play(t, 3, direct)
	case slices.Contains(lock.Like, "single-wait"):
		playGroup(t, 1, direct)
	default:
		play(t, 1, direct)
	}
}

// Each says which lock it stands for and what is different, and has a name of its own.
func TestVariantsAreNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, lock := range clients.Locks() {
		seen[lock.Name] = true
	}
	for _, v := range slices.Concat(broken.All(), sound.Locks()) {
		if seen[v.Name] {
			t.Errorf("two locks are called %s", v.Name)
		}
		seen[v.Name] = true
		if _, err := clients.Find(v.Like[0]); err != nil {
			t.Errorf("%s is like %v", v.Name, err)
		}
		if v.About == "" || strings.Contains(v.About, "\n") {
			t.Errorf("%s is about %q, want one line", v.Name, v.About)
		}
		if isRedlock(v) != strings.HasPrefix(v.Like[0], "redlock") {
			t.Errorf("%s is like %s", v.Name, v.Like)
		}
	}
}

// While nothing goes wrong, and nobody else wants the lock, it passes from one client to the next.
func TestMistakesPassOn(t *testing.T) {
	for _, v := range slices.Concat(broken.Mistakes(), sound.Locks()) {
		t.Run(v.Name, func(t *testing.T) {
			turn := func(at time.Duration) func(c *client) {
				return func(c *client) {
					l := v.New(c.env)
					for k := range time.Duration(2) {
						c.Until(at + k*10*time.Second)
						lease := c.acquire(l, 8*time.Second)
						if left := c.env.Clock.Until(lease.Until()); left <= 7*time.Second || left > 8*time.Second+100*time.Millisecond {
							t.Errorf("%v are left", left)
						}
						c.env.Clock.Sleep(3 * time.Second)
						c.release(lease, nil)
					}
				}
			}
			playFor(t, v, func(s *stage) {
				s.client("c1", turn(time.Second))
				s.client("c2", turn(6*time.Second))
			})
		})
	}
}

// A lock that is held is refused. The exceptions show their mistakes here.
func TestMistakesRefuse(t *testing.T) {
	for _, v := range slices.Concat(broken.Mistakes(), sound.Locks()) {
		t.Run(v.Name, func(t *testing.T) {
			got := false
			playFor(t, v, func(s *stage) {
				s.client("c1", func(c *client) {
					lease := c.acquire(v.New(c.env), 8*time.Second)
					c.Until(4 * time.Second)
					if err := lease.Release(c.ctx); err != nil && !errors.Is(err, clients.ErrNotHeld) {
						t.Error(err)
					}
				})
				s.client("c2", func(c *client) {
					l := v.New(c.env)
					for _, at := range []time.Duration{time.Second, 2500 * time.Millisecond} {
						c.Until(at)
						lease, err := l.Acquire(c.ctx, "lock", 8*time.Second)
						if err != nil {
							if !errors.Is(err, clients.ErrNotAcquired) {
								t.Error(err)
							}
							c.legible(err)
							continue
						}
						got = true
						lease.Release(c.ctx)
						return
					}
					c.Until(5 * time.Second)
					c.release(c.acquire(l, 8*time.Second), nil)
				})
			})
			if want := slices.Contains([]string{"single-finally", "single-waits-for-message", "single-polls-on"}, v.Name); got != want {
				t.Errorf("another client got the lock: %v", got)
			}
		})
	}
}

// Those that can extend their leases do so while they last, and those that renew themselves keep the lock beyond its TTL.
func TestMistakesExtend(t *testing.T) {
	for _, v := range slices.Concat(broken.Mistakes(), sound.Locks()) {
		playFor(t, v, func(s *stage) {
			s.client("c1", func(c *client) {
				lease := c.acquire(v.New(c.env), 8*time.Second)
				if e, ok := lease.(clients.Extender); ok {
					c.Until(4 * time.Second)
					if err := e.Extend(c.ctx, 8*time.Second); err != nil {
						t.Errorf("%s: %v", v.Name, err)
					}
					if end := c.env.Clock.Until(lease.Until()); (end > 8*time.Second) != (v.Name == "redlock-extend-adds") {
						t.Errorf("%s: %v are left", v.Name, end)
					}
				} else if _, ok := lease.(clients.Renewing); !ok || v.Name == "watchdog-fixed-period" {
					return
				}
				c.Until(11 * time.Second)
				c.release(lease, nil)
			})
		})
	}
}
