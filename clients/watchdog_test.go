package clients_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/sim/history"
)

// renewing returns a lease as one that renews itself.
func renewing(t *testing.T, lease clients.Lease) clients.Renewing {
	t.Helper()
	r, ok := lease.(clients.Renewing)
	if !ok {
		t.Fatalf("%T does not renew itself", lease)
	}
	return r
}

func isLost(r clients.Renewing) bool {
	select {
	case <-r.Lost():
		return true
	default:
		return false
	}
}

// retimes lists when the key "lock" got a new deadline on n1.
func (r record) retimes() (at []time.Duration) {
	for _, e := range r.events {
		if e.Kind == history.State && e.Op == history.Retime && e.Key == "lock" {
			at = append(at, e.At)
		}
	}
	return at
}

// The first renewal is sent a third of the TTL after the grant, and each further one a third of the TTL after the previous reply.
// Each moves the end of the lease to one TTL after it was sent. After the release there are none.
func TestWatchdogRenews(t *testing.T) {
	const ttl, third = 9 * time.Second, 3 * time.Second
	var granted time.Duration
	r := play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewWatchdog(c.env), ttl)
			granted = c.world.Now()
			var told []time.Duration
			renewing(t, lease).Notify(func(until time.Time) {
				if !lease.Until().Equal(until) {
					t.Errorf("told %v, and Until is %v", until, lease.Until())
				}
				told = append(told, until.Sub(c.world.Epoch()))
			})
			c.Until(20 * time.Second)
			// The node does not know the script at first, so the first renewal takes two round trips.
			first := granted + third
			second := first + 4*hop + third
			for i, sent := range []time.Duration{first, second, second + 2*hop + third, second + 4*hop + 2*third, second + 6*hop + 3*third, second + 8*hop + 4*third} {
				if i >= len(told) || told[i] != sent+ttl {
					t.Errorf("told %v; renewal %d was sent at %v", told, i+1, sent)
					break
				}
			}
			if len(told) != 6 || isLost(renewing(t, lease)) {
				t.Errorf("%d renewals, want 6; lost: %v", len(told), isLost(renewing(t, lease)))
			}
			c.release(lease, nil)
			c.env.Clock.Sleep(time.Minute)
			if len(told) != 6 || isLost(renewing(t, lease)) {
				t.Errorf("after the release: %d renewals; lost: %v", len(told), isLost(renewing(t, lease)))
			}
		})
		s.client("c2", func(c *client) {
			c.Until(19 * time.Second)
			c.refused(clients.NewSingle(c.env), ttl)
		})
	})
	same(t, "n1", r.changes("n1"), []string{"set c1#1", "retime c1#1", "retime c1#1", "retime c1#1", "retime c1#1", "retime c1#1", "retime c1#1", "delete c1#1"})
	for _, e := range r.requests("n1") {
		if e.Sent > 21*time.Second {
			t.Errorf("%q was sent at %v", e.Value, e.Sent)
		}
	}
}

// watchdog is granted like single: without the lock there is nothing to renew.
func TestWatchdogWithoutLease(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.faultsAt(4*time.Second, "on reply SET n1->c1 reset")
		s.faultsAt(10*time.Second, "on request SET c1->n1 delay 15s")
		s.client("c1", func(c *client) {
			l, rival := clients.NewWatchdog(c.env), clients.NewSingle(c.env)
			lease := c.acquire(rival, 9*time.Second)
			c.refused(l, 9*time.Second)
			c.Until(3 * time.Second)
			c.release(lease, nil)
			c.Until(5 * time.Second)
			if lease, err := l.Acquire(c.ctx, "lock", 2*time.Second); lease != nil || err == nil || clients.Outcome(err) != history.Info {
				t.Errorf("%v, %v", lease, err)
			}
			c.Until(11 * time.Second)
			if lease, err := l.Acquire(c.ctx, "lock", 2*time.Second); lease != nil || err == nil {
				t.Errorf("%v, %v", lease, err)
			}
			c.Until(time.Minute)
		})
	})
	if got := r.retimes(); len(got) != 0 {
		t.Errorf("renewed at %v", got)
	}
}

// The watchdog follows the holder's clock: if that is too slow, its renewals come too late.
func TestWatchdogOnSlowClock(t *testing.T) {
	for _, c := range []struct {
		drift string
		lost  bool
	}{
		{"drift c1 -600000ppm", false}, // a third of its TTL takes 0.83 TTL of true time
		{"drift c1 -700000ppm", true},  // 1.11 TTL
	} {
		play(t, 1, func(s *stage) {
			s.faults(c.drift)
			s.client("c1", func(c1 *client) {
				lease := c1.acquire(clients.NewWatchdog(c1.env), 9*time.Second)
				c1.Until(time.Minute)
				if got := isLost(renewing(t, lease)); got != c.lost {
					t.Errorf("%s: lost: %v", c.drift, got)
				}
			})
		})
	}
}

// A paused holder renews nothing. It learns from its first renewal that it has lost the lease, and does not disturb another holder.
func TestWatchdogPause(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.faultsAt(time.Second, "pause c1 14s")
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewWatchdog(c.env), 9*time.Second)
			until := lease.Until()
			renewing(t, lease).Notify(func(time.Time) { t.Error("told of a renewal") })
			<-renewing(t, lease).Lost()
			if at := c.world.Now(); at < 15*time.Second || at > 15*time.Second+5*hop {
				t.Errorf("lost at %v", at)
			}
			if !lease.Until().Equal(until) {
				t.Errorf("valid until %v, want %v", lease.Until(), until)
			}
			c.env.Clock.Sleep(30 * time.Second)
			c.release(lease, clients.ErrNotHeld)
		})
		s.client("c2", func(c *client) {
			c.Until(11 * time.Second)
			c.acquire(clients.NewSingle(c.env), time.Hour)
		})
	})
	same(t, "n1", r.changes("n1"), []string{"set c1#1", "expire c1#1", "set c2#1"})
	if got := evals(r); got != 4 { // a renewal and a release; the node learns both scripts
		t.Errorf("%d scripts were run, want 4: %q", got, r.texts("n1"))
	}
}

// evals counts the scripts that reached n1 from c1.
func evals(r record) (n int) {
	for _, e := range r.requests("n1") {
		if e.By == "c1" && strings.HasPrefix(e.Value, "EVAL") {
			n++
		}
	}
	return n
}

// After a renewal with an unknown outcome there is no other, and the lease keeps its end.
func TestWatchdogGivesUp(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.faultsAt(4*time.Second, "on request EVALSHA c1->n1 reset") // the second renewal
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewWatchdog(c.env), 9*time.Second)
			c.Until(30 * time.Second)
			if renewed := lease.Until().Sub(c.world.Epoch()); renewed < 12*time.Second || renewed > 13*time.Second || isLost(renewing(t, lease)) {
				t.Errorf("valid until %v, want 9s after the first renewal; lost: %v", renewed, isLost(renewing(t, lease)))
			}
		})
	})
	same(t, "n1", r.changes("n1"), []string{"set c1#1", "retime c1#1", "expire c1#1"})
}

// If the release is lost, the renewals go on, and nobody can have the lock as long as the process lives.
func TestWatchdogZombie(t *testing.T) {
	for _, fault := range []string{
		"on request EVALSHA c1->n1 reset",
		"on reply EVALSHA n1->c1 reset", // the reply that says that the node does not know the script
	} {
		r := play(t, 1, func(s *stage) {
			s.faultsAt(4*time.Second, fault)
			s.client("c1", func(c1 *client) {
				lease := c1.acquire(clients.NewWatchdog(c1.env), 9*time.Second)
				c1.Until(5 * time.Second)
				if err := lease.Release(c1.ctx); err == nil || clients.Outcome(err) != history.Info {
					t.Errorf("release: %v", err)
				}
				c1.Until(2 * time.Minute)
			})
			s.client("c2", func(c2 *client) {
				c2.Until(time.Minute)
				c2.refused(clients.NewSingle(c2.env), 9*time.Second)
			})
		})
		if got := r.retimes(); len(got) < 35 || got[len(got)-1] < 115*time.Second {
			t.Errorf("%s: renewed at %v", fault, got)
		}
	}
}

// If only the reply to the release is lost, the lock is free, and the next renewal notices.
func TestWatchdogLostReplyOfRelease(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			l := clients.NewWatchdog(c.env)
			c.release(c.acquire(l, 9*time.Second), nil) // so that the node knows the script
			lease := c.acquire(l, 9*time.Second)
			s.faultsAt(c.world.Now(), "on reply EVALSHA n1->c1 reset")
			c.Until(time.Second)
			if err := lease.Release(c.ctx); err == nil || clients.Outcome(err) != history.Info {
				t.Errorf("release: %v", err)
			}
			c.Until(time.Minute)
			if !isLost(renewing(t, lease)) {
				t.Error("the lease is not lost")
			}
		})
	})
	same(t, "n1", r.changes("n1"), []string{"set c1#1", "delete c1#1", "set c1#2", "delete c1#2"})
}

// A release that is refused ends the renewals as well: there is nothing to renew.
func TestWatchdogReleaseRefused(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewWatchdog(c.env), 9*time.Second)
			c.env.Nodes[0].Del(c.ctx, "lock")
			c.release(lease, clients.ErrNotHeld)
			c.Until(time.Minute)
			if isLost(renewing(t, lease)) {
				t.Error("the lease was lost after it had been given back")
			}
		})
	})
	if got := evals(r); got != 2 { // the release; the node learns the script
		t.Errorf("%d scripts were run, want 2: %q", got, r.texts("n1"))
	}
}

// A renewal whose reply arrives after the reply to the release does not count.
func TestWatchdogRenewalOvertaken(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.faultsAt(5*time.Second, "on reply EVALSHA n1->c1 delay 2s") // the second renewal, at 6s
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewWatchdog(c.env), 9*time.Second)
			c.Until(5 * time.Second)
			until := lease.Until()
			renewing(t, lease).Notify(func(time.Time) { t.Error("told of a renewal") })
			c.Until(7 * time.Second)
			c.release(lease, nil)
			c.Until(time.Minute)
			if !lease.Until().Equal(until) || isLost(renewing(t, lease)) {
				t.Errorf("valid until %v, want %v; lost: %v", lease.Until(), until, isLost(renewing(t, lease)))
			}
		})
	})
	same(t, "n1", r.changes("n1"), []string{"set c1#1", "retime c1#1", "retime c1#1", "delete c1#1"})
	if got := evals(r); got != 5 { // two renewals and a release; the node learns both scripts
		t.Errorf("%d scripts were run, want 5: %q", got, r.texts("n1"))
	}
}

// The renewals end with the context, and with the process.
func TestWatchdogEnds(t *testing.T) {
	for _, how := range []string{"cancel", "crash"} {
		r := play(t, 1, func(s *stage) {
			if how == "crash" {
				s.faultsAt(4*time.Second, "crash c1")
			}
			s.client("c1", func(c *client) {
				ctx, cancel := context.WithCancel(c.ctx)
				defer cancel()
				if _, err := clients.NewWatchdog(c.env).Acquire(ctx, "lock", 9*time.Second); err != nil {
					t.Error(err)
				}
				c.Until(4 * time.Second)
				cancel()
				c.Until(time.Minute)
			})
			s.client("c2", func(c *client) {
				c.Until(13 * time.Second)
				c.acquire(clients.NewSingle(c.env), time.Hour)
			})
		})
		same(t, how, r.changes("n1"), []string{"set c1#1", "retime c1#1", "expire c1#1", "set c2#1"})
	}
}

// After Notify(nil) no function is called any more, and the lease goes on.
func TestWatchdogNotify(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewWatchdog(c.env), 9*time.Second)
			calls := []int{0, 0}
			for i, at := range []time.Duration{4 * time.Second, 10 * time.Second} {
				renewing(t, lease).Notify(func(time.Time) { calls[i]++ })
				c.Until(at)
			}
			renewing(t, lease).Notify(nil)
			c.Until(20 * time.Second)
			if fmt.Sprint(calls) != "[1 2]" {
				t.Errorf("called %v times, want once and twice", calls)
			}
		})
	})
	if got := len(r.retimes()); got != 6 {
		t.Errorf("%d renewals, want 6", got)
	}
}

// Only the leases of watchdog renew themselves.
func TestWhoRenews(t *testing.T) {
	play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			for _, build := range []clients.New{clients.NewSingle, clients.NewFenced, clients.NewRedlock, clients.NewRedlockExtend} {
				lease := c.acquire(build(c.env), 10*time.Second)
				if _, ok := lease.(clients.Renewing); ok {
					t.Errorf("%T renews itself", lease)
				}
				c.release(lease, nil)
			}
		})
	})
}
