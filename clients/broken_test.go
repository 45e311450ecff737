package clients_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/clients/broken"
	"lockstep/sim/history"
)

// broke is a broken lock by its name.
func broke(t *testing.T, name string) clients.New {
	t.Helper()
	build, err := clients.FindIn(broken.Locks(), name)
	if err != nil {
		t.Fatal(err)
	}
	return build
}

// each runs a test with a broken Redlock and with the one that it was made from.
func each(t *testing.T, name string, right clients.New, f func(t *testing.T, build clients.New, broken bool)) {
	t.Run(name, func(t *testing.T) { f(t, broke(t, name), true) })
	t.Run("right", func(t *testing.T) { f(t, right, false) })
}

// Acquiring takes longer than the TTL.
func TestBrokenNoElapsedCheck(t *testing.T) {
	each(t, "redlock-no-elapsed-check", clients.NewRedlock, func(t *testing.T, build clients.New, broken bool) {
		play(t, 5, func(s *stage) {
			s.when(history.Set, "n3", "pause c1 3s")
			s.client("c1", func(c *client) {
				start := c.env.Clock.Now()
				lease := c.acquire(build(c.env), 2*time.Second)
				if over := !c.env.Clock.Now().Before(lease.Until()); over != broken {
					t.Errorf("over on return: %v", over)
				}
				if got := lease.Until().Sub(start); broken && got != 1978*time.Millisecond {
					t.Errorf("valid for %v after the request", got)
				}
			})
		})
	})
}

// Two clients with two nodes each.
func TestBrokenHalfQuorum(t *testing.T) {
	each(t, "redlock-half-quorum", clients.NewRedlock, func(t *testing.T, build clients.New, broken bool) {
		if n := holders(t, 4, build, "cut c1-n3", "cut c1-n4", "cut c2-n1", "cut c2-n2"); n != map[bool]int{true: 2, false: 0}[broken] {
			t.Errorf("%d clients hold the lock", n)
		}
		if n := holders(t, 4, build, "cut c1-n2", "cut c1-n3", "cut c1-n4", "cut c2-n1", "cut c2-n2", "cut c2-n3"); n != 0 {
			t.Errorf("one node was enough for %d", n)
		}
	})
}

// Three nodes on one side, two on the other.
func TestBrokenReachableQuorum(t *testing.T) {
	each(t, "redlock-reachable-quorum", clients.NewRedlock, func(t *testing.T, build clients.New, broken bool) {
		if n := holders(t, 5, build, "cut c1-n4", "cut c1-n5", "cut c2-n1", "cut c2-n2", "cut c2-n3"); n != map[bool]int{true: 2, false: 1}[broken] {
			t.Errorf("%d clients hold the lock", n)
		}
		if n := holders(t, 5, build); n != 1 {
			t.Errorf("%d clients hold the lock in a network that is whole", n)
		}
		if n := holders(t, 1, build, "cut c1-n1", "cut c2-n1"); n != 0 {
			t.Errorf("%d clients hold a lock that no node granted", n)
		}
	})
}

// holders counts the clients, of two that try one after the other, that hold the lock in the end.
func holders(t *testing.T, n int, build clients.New, faults ...string) (count int) {
	t.Helper()
	play(t, n, func(s *stage) {
		s.faults(faults...)
		for i, name := range []string{"c1", "c2"} {
			s.client(name, func(c *client) {
				c.Until(time.Duration(i) * 5 * time.Second)
				lease, err := build(c.env).Acquire(c.ctx, "lock", time.Minute)
				if err == nil && c.env.Clock.Now().Before(lease.Until()) {
					count++
				} else if !errors.Is(err, clients.ErrNotAcquired) {
					t.Error(err)
				}
			})
		}
	})
	return count
}

// A node whose clock is half a per cent fast is inside the allowance: its key is gone 50 ms before the TTL has passed.
func TestBrokenNoDrift(t *testing.T) {
	each(t, "redlock-no-drift", clients.NewRedlock, func(t *testing.T, build clients.New, broken bool) {
		r := play(t, 1, func(s *stage) {
			s.faults("drift n1 +5000ppm")
			s.client("c1", func(c *client) {
				lease := c.acquire(build(c.env), 10*time.Second)
				c.env.Clock.Sleep(c.env.Clock.Until(lease.Until()) - time.Millisecond)
				if gone := c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 0; gone != broken {
					t.Errorf("a millisecond before the end of the lease its key is gone: %v", gone)
				}
			})
		})
		if len(r.events) == 0 {
			t.Error("no events")
		}
	})
}

// The lease is over, another has the lock on all nodes but one.
func TestBrokenRecreatingExtension(t *testing.T) {
	each(t, "redlock-recreating-extension", clients.NewRedlockExtend, func(t *testing.T, build clients.New, broken bool) {
		want := clients.ErrNotHeld
		if broken {
			want = nil
		}
		r := play(t, 3, func(s *stage) {
			s.client("c1", func(c *client) {
				lease := c.acquire(build(c.env), 10*time.Second)
				c.Until(5 * time.Second)
				c.extended(t, lease, 10*time.Second, nil)
				c.Until(20 * time.Second)
				c.extended(t, lease, 10*time.Second, want)
			})
			s.client("c2", func(c *client) {
				c.Until(16 * time.Second)
				c.acquire(clients.NewRedlock(c.env), time.Hour)
				c.env.Nodes[2].Del(c.ctx, "lock")
			})
		})
		taken := []string{"set c1#1", "retime c1#1", "expire c1#1", "set c2#1"}
		lost := append(slices.Clone(taken), "delete c2#1")
		if broken {
			taken, lost = append(taken, "over c1#1"), append(lost, "set c1#1")
		}
		same(t, "n1", r.changes("n1")[:len(taken)], taken)
		same(t, "n3", r.changes("n3")[:len(lost)], lost)
	})
}

// The replies of three nodes to the first try are lost, so that it fails, and the keys stay.
func TestBrokenReleaseGranted(t *testing.T) {
	each(t, "redlock-release-granted", clients.NewRedlock, func(t *testing.T, build clients.New, broken bool) {
		r := play(t, 5, func(s *stage) {
			s.faults("on reply SET n1->c1 reset", "on reply SET n2->c1 reset", "on reply SET n3->c1 reset")
			s.client("c1", func(c *client) {
				l := build(c.env)
				if broken {
					c.refused(l, 10*time.Second)
				} else {
					c.release(c.acquire(l, 10*time.Second), nil)
				}
				c.Until(15 * time.Second)
				c.release(c.acquire(l, 10*time.Second), nil)
			})
		})
		kept := fmt.Sprint(r.changes("n1")[:2])
		if want := map[bool]string{true: "[set c1#1 expire c1#1]", false: "[set c1#1 delete c1#1]"}[broken]; kept != want {
			t.Errorf("n1: %s, want %s", kept, want)
		}
		if got := r.changes("n5")[:2]; got[1] != "delete c1#1" {
			t.Errorf("n5: %q", got)
		}
	})
}

// What was granted is released by the holder, wherever it knows of it.
func TestBrokenReleaseGrantedReleases(t *testing.T) {
	r := play(t, 5, func(s *stage) {
		s.faults("on reply SET n1->c1 reset")
		s.client("c1", func(c *client) { c.release(c.acquire(broke(t, "redlock-release-granted")(c.env), 10*time.Second), nil) })
	})
	for i, node := range nodeNames(5) {
		want := []string{"set c1#1", "delete c1#1"}
		if i == 0 {
			want = want[:1]
		}
		same(t, node, r.changes(node), want)
	}
}

// One node accepts and never answers, until it is resumed: to acquire and to release takes that long.
func TestBrokenNoTimeout(t *testing.T) {
	each(t, "redlock-no-timeout", clients.NewRedlock, func(t *testing.T, build clients.New, broken bool) {
		play(t, 5, func(s *stage) {
			s.faultsAt(time.Second, "pause n5 20m")
			s.faultsAt(25*time.Minute, "pause n5 20m")
			s.client("c1", func(c *client) {
				l := build(c.env)
				c.release(c.acquire(l, time.Hour), nil)
				c.Until(2 * time.Second)
				var lease clients.Lease
				if took := c.took(func() { lease = c.acquire(l, time.Hour) }); took > 19*time.Minute != broken {
					t.Errorf("acquire took %v", took)
				}
				c.Until(26 * time.Minute)
				if took := c.took(func() { c.release(lease, nil) }); took > 18*time.Minute != broken {
					t.Errorf("release took %v", took)
				}
			})
		})
	})
}

// All delays are the same, for all clients.
func TestBrokenFixedDelay(t *testing.T) {
	each(t, "redlock-fixed-delay", clients.NewRedlock, func(t *testing.T, build clients.New, broken bool) {
		r := play(t, 5, func(s *stage) {
			s.client("c0", func(c *client) { c.acquire(clients.NewRedlock(c.env), time.Hour) })
			for _, name := range []string{"c1", "c2"} {
				s.client(name, func(c *client) {
					c.Until(time.Second)
					c.refused(build(c.env), 10*time.Second)
				})
			}
		})
		delays := append(delaysOf(t, r, "c1"), delaysOf(t, r, "c2")...)
		for _, d := range delays {
			if (d == 200*time.Millisecond) != broken {
				t.Errorf("delays of %v", delays)
				break
			}
		}
	})
}

// The replies are late by less than the TTL: what is left is less than a TTL, too.
func TestBrokenTTLFromReturn(t *testing.T) {
	each(t, "redlock-ttl-from-return", clients.NewRedlock, func(t *testing.T, build clients.New, broken bool) {
		play(t, 5, func(s *stage) {
			s.when(history.Set, "n3", "pause c1 9s")
			s.client("c1", func(c *client) {
				start := c.env.Clock.Now()
				lease := c.acquire(build(c.env), 10*time.Second)
				from := start
				if broken {
					from = c.env.Clock.Now()
				}
				if got := lease.Until().Sub(from); got != 9898*time.Millisecond {
					t.Errorf("valid for %v, want 9.898s", got)
				}
			})
		})
	})
}

// Without faults they are locks like others.
func TestBrokenLocksLock(t *testing.T) {
	for _, lock := range append(broken.Locks(), broken.Twins()...) {
		n := 1
		if isRedlock(lock) {
			n = 5
		}
		if lock.Name == "single-wait-elsewhere" {
			continue // it needs a replica
		}
		r := play(t, n, func(s *stage) {
			s.client("c1", func(c *client) {
				lease := c.acquire(lock.New(c.env), 10*time.Second)
				c.Until(3 * time.Second)
				c.release(lease, nil)
			})
			s.client("c2", func(c *client) {
				l := lock.New(c.env)
				c.Until(time.Second)
				c.refused(l, 10*time.Second)
				c.Until(4 * time.Second)
				c.release(c.acquire(l, 10*time.Second), nil)
			})
		})
		for _, node := range nodeNames(n) {
			same(t, lock.Name+": "+node, grants(r.changes(node)), []string{"set c1", "delete c1", "set c2", "delete c2"})
		}
		if lock.About == "" {
			t.Errorf("%s is about nothing", lock.Name)
		}
	}
}
