package clients_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/clients/broken"
	"lockstep/sim/history"
)

// A wiretap records the commands that a client sends over each of its connections, such as "2 SET".
type wiretap struct {
	conns int
	sent  []string
}

func (w *wiretap) dial(dial clients.Dialer) clients.Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w.conns++
		return &tapped{conn, w.conns, w}, nil
	}
}

type tapped struct {
	net.Conn
	number int
	tap    *wiretap
}

func (c *tapped) Write(b []byte) (int, error) {
	// In RESP, the name of a command is in the first line that is not a length.
	if words := bytes.Split(b, []byte("\r\n")); len(words) > 2 {
		c.tap.sent = append(c.tap.sent, fmt.Sprint(c.number, " ", strings.ToUpper(string(words[2]))))
	}
	return c.Conn.Write(b)
}

// SET and WAIT use the same connection, in this order, even if there are others.
func TestWaitOnTheSameConnection(t *testing.T) {
	tap := &wiretap{}
	playGroup(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			one, two := c.env.Nodes[0].Conn(), c.env.Nodes[0].Conn()
			one.Ping(c.ctx)
			two.Ping(c.ctx)
			one.Close()
			two.Close()
			c.release(c.acquire(clients.NewSingleWait(c.env), 10*time.Second), nil)
		}, tap.dial)
	})
	var list []string
	for _, line := range tap.sent {
		if strings.HasSuffix(line, " SET") || strings.HasSuffix(line, " WAIT") {
			list = append(list, line)
		}
	}
	if len(list) != 2 || list[0][2:] != "SET" || list[1][2:] != "WAIT" || list[0][0] != list[1][0] {
		t.Errorf("%q, want SET and WAIT on one connection", tap.sent)
	}
}

// The lease is granted once a replica has the key.
func TestSingleWait(t *testing.T) {
	r := playGroup(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			l := clients.NewSingleWait(c.env)
			start := c.env.Clock.Now()
			lease := c.acquire(l, 10*time.Second)
			if got := lease.Until().Sub(start); got != 10*time.Second {
				t.Errorf("valid for %v after the request, want 10s", got)
			}
			c.refused(l, 10*time.Second)
			c.release(lease, nil)
			c.release(lease, clients.ErrNotHeld)
		})
	})
	same(t, "n1", r.changes("n1"), []string{"set c1#1", "delete c1#1"})
}

// If no replica acknowledges the key within a second, the lock is released, so that nobody has to wait for its TTL.
func TestSingleWaitRefuses(t *testing.T) {
	for _, c := range []struct {
		replicas int
		faults   []string
	}{
		{0, nil},
		{1, []string{"cut n1-r1"}},
		{1, []string{"crash r1"}},
		{2, []string{"cut n1-r1", "cut n1-r2"}},
	} {
		r := playGroup(t, c.replicas, func(s *stage) {
			s.faults(c.faults...)
			s.client("c1", func(c1 *client) {
				c1.Until(100 * time.Millisecond)
				took := c1.took(func() { c1.refused(clients.NewSingleWait(c1.env), 10*time.Second) })
				if took < time.Second || took > 1100*time.Millisecond {
					t.Errorf("%+v: refused after %v, want 1s", c, took)
				}
			})
		})
		same(t, fmt.Sprint(c), r.changes("n1"), []string{"set c1#1", "delete c1#1"})
	}
}

// One of two replicas is enough, whichever it is.
func TestSingleWaitMinority(t *testing.T) {
	for _, cut := range []string{"cut n1-r1", "cut n1-r2"} {
		playGroup(t, 2, func(s *stage) {
			s.faults(cut)
			s.client("c1", func(c *client) {
				c.Until(100 * time.Millisecond)
				c.acquire(clients.NewSingleWait(c.env), 10*time.Second)
			})
		})
	}
}

// An extension counts once a replica has it. Without one, the lease ends at the earlier of the two ends.
func TestSingleWaitExtends(t *testing.T) {
	r := playGroup(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			lease := c.acquire(clients.NewSingleWait(c.env), 10*time.Second)
			extend := lease.(clients.Extender).Extend
			start := c.env.Clock.Now()
			if err := extend(c.ctx, 30*time.Second); err != nil || lease.Until().Sub(start) != 30*time.Second {
				t.Errorf("extended by %v: %v", lease.Until().Sub(start), err)
			}
			s.faults("cut n1-r1")
			for _, ttl := range []time.Duration{time.Minute, 5 * time.Second} {
				end := min(lease.Until().Sub(start), c.env.Clock.Since(start)+ttl)
				if err := extend(c.ctx, ttl); !errors.Is(err, clients.ErrNotExtended) || lease.Until().Sub(start) != end {
					t.Errorf("asked for %v without a replica: %v are left, not %v: %v", ttl, lease.Until().Sub(start), end, err)
				}
			}
			s.faults("heal n1-r1")
			c.release(lease, nil)
			if err := extend(c.ctx, time.Minute); !errors.Is(err, clients.ErrNotHeld) {
				t.Errorf("extended after the release: %v", err)
			}
		})
	})
	if got := r.changes("r1"); !slices.Contains(got, "retime c1#1") {
		t.Errorf("r1: %q, want the extension", got)
	}
}

// If the reply to WAIT is lost, this counts as a refusal: the lock is released.
func TestSingleWaitInDoubt(t *testing.T) {
	for _, fault := range []string{"on request WAIT c1->n1 reset", "on reply WAIT n1->c1 reset"} {
		r := playGroup(t, 1, func(s *stage) {
			s.faults(fault)
			s.client("c1", func(c *client) { c.refused(clients.NewSingleWait(c.env), 10*time.Second) })
		})
		same(t, fault, r.changes("n1"), []string{"set c1#1", "delete c1#1"})
	}
}

// If the reply to SET is lost, the outcome is unknown.
func TestSingleWaitUnreachable(t *testing.T) {
	for _, fault := range []string{"crash n1", "on request SET c1->n1 reset", "on reply SET n1->c1 reset"} {
		playGroup(t, 1, func(s *stage) {
			s.faults(fault)
			s.client("c1", func(c *client) {
				lease, err := clients.NewSingleWait(c.env).Acquire(c.ctx, "lock", 10*time.Second)
				if lease != nil || err == nil || clients.Outcome(err) != history.Info {
					t.Errorf("%s: %v, %v", fault, lease, err)
				}
			})
		})
	}
}

// A lock that waits for longer than its TTL gets a lease that is over when it arrives.
func TestSingleWaitTooLong(t *testing.T) {
	playGroup(t, 1, func(s *stage) {
		s.faults("delay n1-r1 300ms")
		s.client("c1", func(c *client) {
			c.Until(100 * time.Millisecond)
			l := clients.NewSingleWait(c.env)
			c.refused(l, 500*time.Millisecond)
			c.acquire(l, 700*time.Millisecond)
		})
	})
}

// If WAIT uses another connection, it returns at once with the number of replicas, whether they have the key or not.
func TestWaitElsewhere(t *testing.T) {
	tap := &wiretap{}
	build, err := clients.FindIn(broken.Locks(), "single-wait-elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	// WAIT also waits for what other clients wrote before the last command of its connection: here the PING comes before the SET.
	playGroup(t, 1, func(s *stage) {
		s.faults("cut n1-r1")
		s.client("c1", func(c *client) {
			c.Until(100 * time.Millisecond)
			if took := c.took(func() { c.acquire(build(c.env), 10*time.Second) }); took != 14*hop { // for two new connections and three replies
				t.Errorf("it took %v", took)
			}
		}, tap.dial)
	})
	var on []string
	for _, line := range tap.sent[len(tap.sent)-4:] {
		if strings.HasSuffix(line, " SET") || strings.HasSuffix(line, " WAIT") {
			on = append(on, line[:1])
		}
	}
	if len(on) != 2 || on[0] == on[1] {
		t.Errorf("%q, want SET and WAIT on two connections", tap.sent)
	}
	playGroup(t, 0, func(s *stage) {
		s.client("c1", func(c *client) { c.refused(build(c.env), 10*time.Second) })
	})
}
