package clients_test

import (
	"strings"
	"testing"
	"time"

	"lockstep/clients"
)

// What is past its end is taken over by GETSET, and stands for the lease of whoever did so. The first holder learns it.
func TestGetSetTakesOver(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewGetSet(c.env), 2*time.Second)
			c.Until(4 * second)
			c.release(lease, clients.ErrNotHeld)
		})
		s.client("c2", func(c *client) {
			l := clients.NewGetSet(c.env)
			c.Until(second)
			if err := c.refused(l, 2*time.Second); !strings.Contains(err.Error(), " ms are left") {
				t.Error(err)
			}
			c.Until(3 * second)
			lease := c.acquire(l, 2*time.Second)
			if got := c.Lease(); got != "c2#1" {
				t.Errorf("the lease is %s, want c2#1", got)
			}
			c.Until(4500 * time.Millisecond)
			c.release(lease, nil)
		})
	})
	same(t, "changes", r.changes("n1"), []string{"set c1#1", "over c2#1", "delete c2#1"})
	same(t, "commands", r.commands("n1"), []string{
		"SETNX lock 946684802000",
		"SETNX lock 946684803000", "GET lock",
		"SETNX lock 946684805000", "GET lock", "GETSET lock 946684805000",
		"GET lock",
		"GET lock", "DEL lock",
	})
}

// The end is passed when the clock shows a later millisecond, and not before.
func TestGetSetToTheMillisecond(t *testing.T) {
	for at, want := range map[time.Duration]string{
		2*second - time.Millisecond: "set c1#1",
		2 * second:                  "set c1#1",
		2*second + time.Millisecond: "over c2#1",
	} {
		r := play(t, 1, func(s *stage) {
			s.client("c1", func(c *client) { c.acquire(clients.NewGetSet(c.env), 2*time.Second) })
			s.client("c2", func(c *client) {
				c.env.Nodes[0].Ping(c.ctx) // a connection is open from now on
				c.Until(at - 4*hop)        // SETNX and GET are answered by then
				clients.NewGetSet(c.env).Acquire(c.ctx, "lock", 2*time.Second)
			})
		})
		if got := r.changes("n1"); got[len(got)-1] != want {
			t.Errorf("looked at %v: %q, want %q", at, got, want)
		}
	}
}

// Of two that take over at once one gets the lock, and the other has put its own time there, so that the release of the first
// does not find its value.
func TestGetSetOverwrites(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) { c.acquire(clients.NewGetSet(c.env), 2*time.Second) })
		s.client("c2", func(c *client) {
			c.Until(3 * second)
			lease := c.acquire(clients.NewGetSet(c.env), 2*time.Second)
			c.Until(4 * second)
			c.release(lease, clients.ErrNotHeld)
		})
		s.client("c3", func(c *client) {
			c.Until(3*second + time.Millisecond)
			if err := c.refused(clients.NewGetSet(c.env), 2*time.Second); !strings.Contains(err.Error(), "another was faster") {
				t.Error(err)
			}
		})
	})
	same(t, "changes", r.changes("n1"), []string{"set c1#1", "over c2#1", "over c3#1"})
}

// Whose clock is ahead takes over what has not ended, whose clock is behind waits for longer.
func TestGetSetSkew(t *testing.T) {
	for _, c := range []struct {
		fault string
		at    time.Duration
		want  []string
	}{
		{"jump c2 +5s", second, []string{"set c1#1", "over c2#1"}},
		{"jump c2 -5s", 3 * second, []string{"set c1#1"}},
		{"jump c2 -5s", 8 * second, []string{"set c1#1", "over c2#1"}},
		{"jump n1 +5s", second, []string{"set c1#1"}},
	} {
		r := play(t, 1, func(s *stage) {
			s.faultsAt(100*time.Millisecond, c.fault)
			s.client("c1", func(c1 *client) { c1.acquire(clients.NewGetSet(c1.env), 2*time.Second) })
			s.client("c2", func(c2 *client) {
				c2.Until(c.at)
				clients.NewGetSet(c2.env).Acquire(c2.ctx, "lock", 2*time.Second)
			})
		})
		same(t, c.fault, r.changes("n1"), c.want)
	}
}

// Who finds with GETSET that the lock was released meanwhile has set it all the same, and for nobody.
func TestGetSetAfterRelease(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.faults("on request GETSET c2->n1 delay 1s")
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewGetSet(c.env), 2*time.Second)
			c.Until(3500 * time.Millisecond)
			c.release(lease, nil)
		})
		s.client("c2", func(c *client) {
			c.Until(3 * second)
			if err := c.refused(clients.NewGetSet(c.env), 2*time.Second); !strings.Contains(err.Error(), "released meanwhile") {
				t.Error(err)
			}
		})
		s.client("c3", func(c *client) {
			l := clients.NewGetSet(c.env)
			c.Until(4500 * time.Millisecond)
			c.refused(l, 2*time.Second)
			c.Until(5500 * time.Millisecond)
			c.acquire(l, 2*time.Second)
		})
	})
	same(t, "changes", r.changes("n1"), []string{"set c1#1", "delete c1#1", "set ", "over "})
}

// A lock that is gone at the GET, or holds no time, is not got.
func TestGetSetFindsNoTime(t *testing.T) {
	for _, c := range []struct{ before, after, fault string }{
		{"1", "", "on request GET c1->n1 delay 1s"},
		{"a time", "", ""},
	} {
		play(t, 1, func(s *stage) {
			if c.fault != "" {
				s.faults(c.fault)
			}
			s.client("other", func(other *client) {
				other.env.Nodes[0].Set(other.ctx, "lock", c.before, 0)
				other.Until(second + 500*time.Millisecond)
				other.env.Nodes[0].Del(other.ctx, "lock")
			})
			s.client("c1", func(c1 *client) {
				c1.Until(second)
				c1.refused(clients.NewGetSet(c1.env), 2*time.Second)
			})
		})
	}
}
