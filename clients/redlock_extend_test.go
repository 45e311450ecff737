package clients_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/sim/history"
)

// extender returns a lease as one that can be extended.
func extender(t *testing.T, lease clients.Lease) clients.Extender {
	t.Helper()
	e, ok := lease.(clients.Extender)
	if !ok {
		t.Fatalf("%T cannot be extended", lease)
	}
	return e
}

// extended extends a lease; want is nil or the error that must be wrapped. It returns when the extension began, by the steady
// clock.
func (c *client) extended(t *testing.T, lease clients.Lease, ttl time.Duration, want error) (start time.Time) {
	t.Helper()
	before := lease.Until()
	start = c.env.Clock.Now()
	err := extender(t, lease).Extend(c.ctx, ttl)
	if !errors.Is(err, want) {
		t.Errorf("at %v: extend: %v, want %v", c.world.Now(), err, want)
	}
	end := start.Add(ttl - ttl/100 - 2*time.Millisecond) // a node may have set that end
	if before.Before(end) {
		end = before
	}
	switch {
	case err == nil:
	case !lease.Until().Equal(end) && !(errors.Is(err, clients.ErrNotHeld) && lease.Until().Equal(before)):
		t.Errorf("refused, and valid until %v instead of %v", lease.Until(), end)
	default:
		c.legible(err)
	}
	return start
}

// An extension in time counts from its own beginning, for its own TTL, and keeps the token.
func TestExtend(t *testing.T) {
	r := play(t, 5, func(s *stage) {
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewRedlockExtend(c.env), 10*time.Second)
			for _, step := range []struct{ at, ttl time.Duration }{
				{5 * time.Second, 10 * time.Second},
				{14 * time.Second, 10 * time.Second},
				{15 * time.Second, 30 * time.Second},
				{16 * time.Second, 2 * time.Second}, // it ends sooner
			} {
				c.Until(step.at)
				start := c.extended(t, lease, step.ttl, nil)
				if got, want := lease.Until().Sub(start), step.ttl-step.ttl/100-2*time.Millisecond; got != want {
					t.Errorf("valid for %v after the request, want %v", got, want)
				}
			}
			c.Until(17 * time.Second)
			c.release(lease, nil)
		})
		s.client("c2", func(c *client) {
			c.Until(13 * time.Second) // when it would have ended
			c.refused(clients.NewRedlock(c.env), 10*time.Second)
		})
	})
	for _, node := range nodeNames(5) {
		same(t, node, slices.DeleteFunc(r.changes(node), func(c string) bool { return strings.Contains(c, "c2") }),
			[]string{"set c1#1", "retime c1#1", "retime c1#1", "retime c1#1", "retime c1#1", "delete c1#1"})
	}
	if e := r.requests("n1"); slices.ContainsFunc(e, func(e history.Event) bool {
		return e.By == "c1" && strings.HasPrefix(e.Value, "SET ") && e.Sent > time.Second
	}) {
		t.Error("an extension set the key")
	}
}

// From the nanosecond at which the lease is over, nothing is sent to the nodes, even if they still have the key.
func TestExtendLate(t *testing.T) {
	for _, c := range []struct {
		at   time.Duration // relative to the end of the lease
		want error
	}{
		{-1, nil},
		{0, clients.ErrNotHeld},
		{50 * time.Millisecond, clients.ErrNotHeld},
		{time.Minute, clients.ErrNotHeld},
	} {
		var at time.Duration
		r := play(t, 5, func(s *stage) {
			s.client("c1", func(c1 *client) {
				lease := c1.acquire(clients.NewRedlockExtend(c1.env), 10*time.Second)
				c1.env.Clock.Sleep(c1.env.Clock.Until(lease.Until()) + c.at)
				at = c1.world.Now()
				if took := c1.took(func() { c1.extended(t, lease, 10*time.Second, c.want) }); took != 0 && c.want != nil {
					t.Errorf("%v after the end: refused after %v", c.at, took)
				}
			})
		})
		for _, e := range r.requests("n1") {
			if e.Sent >= at && c.want != nil {
				t.Errorf("%v after the end, %q was sent", c.at, e.Value)
			}
		}
	}
}

// A majority of nodes must extend. If the keys that are left cannot be a majority, the lease is over. If this is unknown, the lease
// keeps its old end if that is the earlier one.
func TestExtendNeedsAMajority(t *testing.T) {
	for _, c := range []struct {
		nodes, gone, down int // how many nodes have lost the key, and how many do not answer
		want              error
	}{
		{5, 0, 0, nil},
		{5, 2, 0, nil},
		{5, 0, 2, nil},
		{5, 1, 1, nil},
		{5, 2, 1, clients.ErrNotExtended},
		{5, 0, 3, clients.ErrNotExtended},
		{5, 0, 5, clients.ErrNotExtended},
		{5, 3, 0, clients.ErrNotHeld},
		{5, 3, 2, clients.ErrNotHeld},
		{5, 5, 0, clients.ErrNotHeld},
		{4, 1, 0, nil},
		{4, 1, 1, clients.ErrNotExtended},
		{4, 2, 0, clients.ErrNotHeld},
		{1, 0, 0, nil},
		{1, 1, 0, clients.ErrNotHeld},
	} {
		r := play(t, c.nodes, func(s *stage) {
			s.client("c1", func(c1 *client) {
				lease := c1.acquire(clients.NewRedlockExtend(c1.env), 10*time.Second)
				for i := range c.gone {
					c1.env.Nodes[i].Set(c1.ctx, "lock", "of another", time.Hour)
				}
				for i := range c.down {
					s.faultsAt(time.Second, fmt.Sprintf("cut c1-n%d", c.nodes-i))
				}
				c1.Until(2 * time.Second)
				c1.extended(t, lease, 20*time.Second, c.want)
			})
		})
		for i, node := range nodeNames(c.nodes) {
			retimed := slices.Contains(r.changes(node), "retime c1#1")
			if want := i >= c.gone && i < c.nodes-c.down; retimed != want {
				t.Errorf("%+v: %s: %q", c, node, r.changes(node))
			}
		}
	}
}

// An extension that takes longer than its own validity has extended nothing.
func TestExtendTooSlow(t *testing.T) {
	play(t, 5, func(s *stage) {
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewRedlockExtend(c.env), 10*time.Second)
			// Of 4 ms, drift takes 40 µs and 2 ms, and the messages take two hops: nothing is left.
			c.extended(t, lease, 4*time.Millisecond, clients.ErrNotExtended)
		})
	})
}

// A pause within an extension shortens it. If nothing is left of a shorter one, the lease is over: its keys may be gone.
func TestPauseInExtend(t *testing.T) {
	play(t, 5, func(s *stage) {
		s.when(history.Retime, "n3", "pause c1 1985ms")
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewRedlockExtend(c.env), 10*time.Second)
			c.extended(t, lease, 2*time.Second, clients.ErrNotExtended)
			c.extended(t, lease, 2*time.Second, clients.ErrNotHeld)
		})
	})
}

// Only leases that can be extended have Extend: the worker asks each lease.
func TestWhoExtends(t *testing.T) {
	play(t, 5, func(s *stage) {
		s.client("c1", func(c *client) {
			for name, build := range map[string]clients.New{"redlock": clients.NewRedlock, "wall": clients.NewRedlockWall, "single": clients.NewSingle} {
				lease := c.acquire(build(c.env), 10*time.Second)
				if _, ok := lease.(clients.Extender); ok {
					t.Errorf("%s extends", name)
				}
				c.release(lease, nil)
			}
		})
	})
}
