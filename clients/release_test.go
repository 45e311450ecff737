package clients_test

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/clients/broken"
	"lockstep/sim/history"
)

// A client that deletes without comparing deletes the lock of the next holder, and lets a third client in.
func TestReleaseUncompared(t *testing.T) {
	for _, lock := range append(broken.Locks(), clients.Lock{Name: "fixed", New: clients.NewFixed}) {
		if lock.Name != "fixed" && lock.Name != "single-uncompared" {
			continue
		}
		r := play(t, 1, func(s *stage) {
			s.client("c1", func(c *client) {
				lease := c.acquire(lock.New(c.env), second)
				c.Until(3 * second)
				c.release(lease, nil)
				c.Until(20 * second)
				c.release(lease, clients.ErrNotHeld) // there is nothing to delete
			})
			s.client("c2", func(c *client) {
				c.Until(2 * second)
				lease := c.acquire(lock.New(c.env), 10*time.Second)
				c.Until(19 * second)
				c.release(lease, clients.ErrNotHeld)
			})
			s.client("c3", func(c *client) {
				c.Until(4 * second)
				c.acquire(lock.New(c.env), 10*time.Second)
			})
		})
		same(t, lock.Name, r.changes("n1"), []string{"set c1#1", "expire c1#1", "set c2#1", "delete c2#1", "set c3#1", "expire c3#1"})
	}
}

// The lock may pass to another client between the comparison and the deletion.
func TestReleaseInSteps(t *testing.T) {
	for name, word := range map[string]string{"getdel": "DEL", "multidel": "MULTI", "setnx-repair": "MULTI", "getset": "DEL"} {
		r := play(t, 1, func(s *stage) {
			s.faults("on request " + word + " c1->n1 delay 3s")
			s.client("c1", func(c *client) {
				lease := c.acquire(find(t, name)(c.env), 2*time.Second)
				c.Until(second)
				c.release(lease, nil)
			})
			s.client("c2", func(c *client) {
				c.Until(3 * second)
				c.acquire(find(t, name)(c.env), 10*time.Second)
			})
			s.client("c3", func(c *client) {
				c.Until(5 * second)
				c.acquire(find(t, name)(c.env), 10*time.Second)
			})
		})
		var deleted []string
		for _, e := range r.events {
			if e.Op == history.Delete {
				deleted = append(deleted, e.Owner+" by "+e.By)
			}
		}
		same(t, name, deleted, []string{"c2#1 by c1"})
	}
}

// The comparison itself works: a client whose TTL has passed before it deletes nothing.
func TestReleaseCompares(t *testing.T) {
	for _, name := range []string{"setnx-expire", "setnx-repair", "getdel", "multidel", "single-usec", "single-delex"} {
		r := play(t, 1, func(s *stage) {
			s.client("c1", func(c *client) {
				lease := c.acquire(find(t, name)(c.env), second)
				c.Until(3 * second)
				c.release(lease, clients.ErrNotHeld)
				c.Until(20 * second)
				c.release(lease, clients.ErrNotHeld)
			})
			s.client("c2", func(c *client) {
				c.Until(2 * second)
				c.acquire(find(t, name)(c.env), 10*time.Second)
			})
		})
		for _, text := range r.commands("n1") {
			if strings.Contains(text, "DEL ") {
				t.Errorf("%s: %q", name, text)
			}
		}
		for _, e := range r.events {
			if e.Op == history.Delete {
				t.Errorf("%s: %s deleted the lock of %s", name, e.By, e.Owner)
			}
		}
	}
}

// Two tokens from the same microsecond are equal; one from the next microsecond differs.
func TestUsecCollision(t *testing.T) {
	for later, want := range map[time.Duration][]string{
		0:                {"set c1#1", "expire c1#1", "set c2#1", "delete c2#1"},
		999:              {"set c1#1", "expire c1#1", "set c2#1", "delete c2#1"},
		time.Microsecond: {"set c1#1", "expire c1#1", "set c2#1"},
	} {
		r := play(t, 1, func(s *stage) {
			s.faults("on request SET c2->n1 delay 2s")
			s.client("c1", func(c *client) {
				c.Until(second)
				lease := c.acquire(clients.NewSingleUsec(c.env), second)
				c.Until(4 * second)
				lease.Release(c.ctx)
			})
			s.client("c2", func(c *client) {
				c.Until(second + later)
				c.acquire(clients.NewSingleUsec(c.env), 10*time.Second)
			})
		})
		same(t, later.String(), r.changes("n1"), want)
	}
}

// A server without DELEX refuses it, and the error says what is missing. The client still has the lease.
func TestDelexIsMissing(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			err := c.acquire(clients.NewSingleDelex(c.env), 10*time.Second).Release(c.ctx)
			if clients.Outcome(err) != history.Info || !strings.Contains(err.Error(), "no DELEX, which came with Redis 8.4: ERR unknown command") {
				t.Error(err)
			}
		}, func(dial clients.Dialer) clients.Dialer {
			return func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dial(ctx, network, addr)
				return misspelling{conn}, err
			}
		})
	})
	same(t, "changes", r.changes("n1"), []string{"set c1#1"})
}

// misspelling turns DELEX into a command that no server has.
type misspelling struct{ net.Conn }

func (c misspelling) Write(b []byte) (int, error) {
	return c.Conn.Write(bytes.ReplaceAll(b, []byte("delex"), []byte("delxe")))
}

// If each client counts for itself, the fence of the second holder is not higher than that of the first.
func TestFencePerClient(t *testing.T) {
	build, err := clients.FindIn(broken.Locks(), "fenced-per-client")
	if err != nil {
		t.Fatal(err)
	}
	var fences []int64
	turn := func(c *client) {
		lease := c.acquire(build(c.env), 10*time.Second)
		fences = append(fences, fence(t, lease))
		c.release(lease, nil)
	}
	play(t, 1, func(s *stage) {
		s.client("c1", turn)
		s.client("c2", func(c *client) {
			c.Until(second)
			turn(c)
			c.env.Nodes[0].Set(c.ctx, "lock", "another's", 0)
			c.refused(build(c.env), 10*time.Second)
		})
	})
	if len(fences) != 2 || fences[0] != 1 || fences[1] != 1 {
		t.Errorf("fences %v, want 1 and 1", fences)
	}
	play(t, 1, func(s *stage) {
		s.faults("on reply INCR n1->c1 reset")
		s.client("c1", func(c *client) {
			lease, err := build(c.env).Acquire(c.ctx, "lock", 10*time.Second)
			if lease != nil || clients.Outcome(err) != history.Info {
				t.Errorf("%v, %v", lease, err)
			}
		})
	})
}

// No broken lock has the name of another lock.
func TestBrokenNames(t *testing.T) {
	seen := map[string]bool{}
	for _, lock := range slices.Concat(clients.Locks(), broken.Locks(), broken.Twins()) {
		if seen[lock.Name] {
			t.Errorf("two locks are called %s", lock.Name)
		}
		seen[lock.Name] = true
	}
}
