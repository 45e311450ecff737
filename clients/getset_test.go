package clients_test

import (
	"strings"
	"testing"
	"time"

	"lockstep/clients"
)

// A key whose end has passed is taken over by GETSET, and then stands for the lease of the client that did so. The first holder
// learns of it.
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

// The end has passed once the clock shows a later millisecond.
func TestGetSetToTheMillisecond(t *testing.T) {
	for at, want := range map[time.Duration]string{
		2*second - time.Millisecond: "set c1#1",
		2 * second:                  "set c1#1",
		2*second + time.Millisecond: "over c2#1",
	} {
		r := play(t, 1, func(s *stage) {
			s.client("c1", func(c *client) { c.acquire(clients.NewGetSet(c.env), 2*time.Second) })
			s.client("c2", func(c *client) {
				c.env.Nodes[0].Ping(c.ctx) // this opens a connection
				c.Until(at - 4*hop)        // the replies to SETNX and GET have arrived by then
				clients.NewGetSet(c.env).Acquire(c.ctx, "lock", 2*time.Second)
			})
		})
		if got := r.changes("n1"); got[len(got)-1] != want {
			t.Errorf("looked at %v: %q, want %q", at, got, want)
		}
	}
}

// If two clients take over at once, one gets the lock, but the other has put its own time there, so that the release of the first
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

// A client whose clock is ahead takes over a lease that has not ended; one whose clock is behind waits longer.
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

// If GETSET finds that the lock was released in the meantime, it has set the key all the same, but no client has the lock.
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

// If the lock is gone at the GET, or its value is not a time, the client does not get it.
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
