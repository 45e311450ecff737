package clients_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/sim/history"
)

// ends lists, for each change of the key "lock" on a node, until when it was to live.
func (r record) ends(node string) []string {
	var list []string
	for _, e := range r.events {
		if e.Kind == history.State && e.Process == node && e.Key == "lock" && (e.Op == history.Set || e.Op == history.Retime) {
			end := e.Op + " for ever"
			if e.Until != history.NoEnd {
				end = e.Op + " for " + (e.Until - e.At).Round(time.Millisecond).String()
			}
			list = append(list, end)
		}
	}
	return list
}

// Without a TTL, a holder that crashes holds the lock for ever.
func TestSetNXForEver(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.faultsAt(second, "crash c1")
		s.client("c1", func(c *client) { c.acquire(clients.NewSetNX(c.env), 10*time.Second) })
		s.client("c2", func(c *client) {
			c.Until(50 * time.Minute)
			c.refused(clients.NewSetNX(c.env), 10*time.Second)
		})
	})
	same(t, "ends", r.ends("n1"), []string{"set for ever"})
}

// The same happens with two commands if the client does not get to the second. EXPIRE takes whole seconds, so the key may outlive
// the lease.
func TestSetNXExpire(t *testing.T) {
	for _, c := range []struct {
		ttl   time.Duration
		fault string
		want  []string
	}{
		{10 * time.Second, "", []string{"set for ever", "retime for 10s"}},
		{1500 * time.Millisecond, "", []string{"set for ever", "retime for 2s"}},
		{10 * time.Second, "on request EXPIRE c1->n1 reset", []string{"set for ever"}},
		{10 * time.Second, "on reply SETNX n1->c1 reset", []string{"set for ever"}},
	} {
		r := play(t, 1, func(s *stage) {
			if c.fault != "" {
				s.faults(c.fault)
			}
			s.client("c1", func(c1 *client) {
				clients.NewSetNXExpire(c1.env).Acquire(c1.ctx, "lock", c.ttl)
			})
			s.client("c2", func(c2 *client) {
				c2.Until(50 * time.Minute)
				_, err := clients.NewSetNXExpire(c2.env).Acquire(c2.ctx, "lock", 10*time.Second)
				if (err == nil) != (c.fault == "") {
					t.Errorf("%q: %v", c.fault, err)
				}
			})
		})
		same(t, c.fault, r.ends("n1")[:len(c.want)], c.want)
	}
}

// A waiter gives the key an expiry, but gives up before the key expires: it waits for one TTL, and the key has a few milliseconds
// more. The next attempt succeeds.
func TestSetNXRepair(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.faults("on request EXPIRE c1->n1 reset")
		s.client("c1", func(c *client) { clients.NewSetNXRepair(c.env).Acquire(c.ctx, "lock", 2*time.Second) })
		s.client("c2", func(c *client) {
			l := clients.NewSetNXRepair(c.env)
			c.Until(second)
			c.refused(l, 2*time.Second)
			if now := c.world.Now(); now < 3*second || now > 3*second+20*time.Millisecond {
				t.Errorf("gave up at %v, want 3s", now)
			}
			c.release(c.acquire(l, 2*time.Second), nil)
		})
	})
	same(t, "changes", r.changes("n1"), []string{"set c1#1", "retime c1#1", "expire c1#1", "set c2#1", "retime c2#1", "delete c2#1"})
	same(t, "ends", r.ends("n1"), []string{"set for ever", "retime for 2s", "set for ever", "retime for 2s"})
}

// A waiter does not change a key that has an expiry. It reads it every ten milliseconds, and gets the lock when it is free.
func TestSetNXRepairWaits(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewSetNXRepair(c.env), 2*time.Second)
			c.Until(2 * second)
			c.release(lease, nil)
		})
		s.client("c2", func(c *client) {
			c.Until(1500 * time.Millisecond)
			c.release(c.acquire(clients.NewSetNXRepair(c.env), 2*time.Second), nil)
		})
	})
	same(t, "changes", r.changes("n1"), []string{"set c1#1", "retime c1#1", "delete c1#1", "set c2#1", "retime c2#1", "delete c2#1"})
	var sent []time.Duration
	for _, e := range r.requests("n1") {
		if e.By == "c2" && strings.HasPrefix(e.Value, "SETNX") {
			sent = append(sent, e.Sent)
		}
	}
	for i := range sent[1:] {
		if d := sent[i+1] - sent[i]; d != 4*hop+10*time.Millisecond {
			t.Fatalf("%v between two looks", d)
		}
	}
}

// The wait ends at a full second of the wall clock, so it may be almost a second too short. A jump of that clock makes it longer or
// shorter still.
func TestSetNXRepairBudget(t *testing.T) {
	for _, c := range []struct {
		from, ttl time.Duration
		fault     string
		until     time.Duration
	}{
		{2 * second, 2 * second, "", 4 * second},
		{2900 * time.Millisecond, 2 * second, "", 4 * second},
		{2 * second, 1100 * time.Millisecond, "", 4 * second},
		{2 * second, 2 * second, "jump c1 +10s", 2500 * time.Millisecond},
		{2 * second, 2 * second, "jump c1 -1s", 5 * second},
	} {
		play(t, 1, func(s *stage) {
			if c.fault != "" {
				s.faultsAt(2500*time.Millisecond, c.fault)
			}
			s.client("other", func(other *client) { other.env.Nodes[0].Set(other.ctx, "lock", "1", time.Hour) })
			s.client("c1", func(c1 *client) {
				c1.Until(c.from)
				c1.refused(clients.NewSetNXRepair(c1.env), c.ttl)
				if late := c1.world.Now() - c.until; late < 0 || late > 20*time.Millisecond {
					t.Errorf("from %v, TTL %v, %s: gave up at %v, want %v", c.from, c.ttl, c.fault, c1.world.Now(), c.until)
				}
			})
		})
	}
}

// A waiter that has read that there is no TTL, and whose EXPIRE is late, changes the expiry of the key of a later holder.
func TestSetNXRepairRace(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.faults("on request EXPIRE c1->n1 reset", "on request EXPIRE c2->n1 delay 4s")
		s.client("c1", func(c *client) { clients.NewSetNXRepair(c.env).Acquire(c.ctx, "lock", 2*time.Second) })
		s.client("c2", func(c *client) {
			c.Until(second)
			c.refused(clients.NewSetNXRepair(c.env), 2*time.Second)
		})
		s.client("c3", func(c *client) {
			l := clients.NewSetNXRepair(c.env)
			c.Until(second + 100*time.Millisecond)
			c.refused(l, 2*time.Second)
			c.Until(4 * second)
			c.acquire(l, 2*time.Second)
		})
	})
	same(t, "changes", r.changes("n1"),
		[]string{"set c1#1", "retime c1#1", "expire c1#1", "set c3#1", "retime c3#1", "retime c3#1"})
	var retimed []string
	for _, e := range r.events {
		if e.Op == history.Retime {
			retimed = append(retimed, e.By)
		}
	}
	if want := []string{"c3", "c3", "c2"}; !slices.Equal(retimed, want) {
		t.Errorf("re-timed by %q, want %q", retimed, want)
	}
}
