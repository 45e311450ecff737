package clients_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/clients/sound"
	"lockstep/sim/history"
)

// flawed are the locks that fail the tests of this file, each in its own way. They have tests of their own.
var flawed = []string{
	"nolock", "watch", "watch-retry", "watch-in-multi",
	"setnx", "setnx-expire", "setnx-repair", "getset", "fixed", "getdel", "multidel", "single-usec",
}

// ofEach runs a test for each lock that keeps what a lock should, with the number of nodes that it is meant for. Of those of package
// sound it leaves out those whose key is set in two steps, or stays, and those whose tokens are not recognised here, outside of an acquire.
func ofEach(t *testing.T, f func(t *testing.T, lock clients.Lock, n int)) {
	for _, lock := range slices.Concat(clients.Locks(), sound.Locks()) {
		waits := strings.HasPrefix(lock.Name, "single-wait") // for a replica
		if waits || slices.Contains(append(flawed, "single-hash", "single-short-hash", "single-short-token", "single-short-member", "single-drawn-number", "fenced-kept-hash"), lock.Name) {
			continue
		}
		n := 1
		if isRedlock(lock) {
			n = 5
		}
		t.Run(lock.Name, func(t *testing.T) { f(t, lock, n) })
	}
}

func isRedlock(lock clients.Lock) bool { return strings.HasPrefix(lock.Name, "redlock") }

// expires skips a test of how leases expire if the leases of a lock do not expire while their holder lives.
func expires(t *testing.T, lock clients.Lock) {
	if strings.HasPrefix(lock.Name, "watchdog") || strings.HasSuffix(lock.Name, "-renewed") {
		t.Skip("it renews itself")
	}
}

// usual skips a test of what the locks of package sound do in their own way.
func usual(t *testing.T, lock clients.Lock) {
	if slices.ContainsFunc(sound.Locks(), func(v clients.Lock) bool { return v.Name == lock.Name }) {
		t.Skip("it has its own way")
	}
}

// validity is how long a client may rely on a lease, counted from before the first request.
func validity(lock clients.Lock, ttl time.Duration) time.Duration {
	if isRedlock(lock) {
		return ttl - ttl/100 - 2*time.Millisecond
	}
	return ttl
}

// grants reduces changes to the names of clients, such as "set c1", for locks that may try more than once.
func grants(changes []string) []string {
	var list []string
	for _, c := range changes {
		who, _, _ := strings.Cut(c, "#")
		list = append(list, who)
	}
	return list
}

// eachNode checks what happened to the lock on every node.
func eachNode(t *testing.T, r record, n int, want ...string) {
	t.Helper()
	for _, node := range nodeNames(n) {
		same(t, "changes on "+node, grants(r.changes(node)), want)
	}
}

func TestHandover(t *testing.T) {
	ofEach(t, func(t *testing.T, lock clients.Lock, n int) {
		r := play(t, n, func(s *stage) {
			s.client("c1", func(c *client) {
				lease := c.acquire(lock.New(c.env), 10*time.Second)
				c.Until(3 * time.Second)
				c.release(lease, nil)
				c.release(lease, clients.ErrNotHeld)
			})
			s.client("c2", func(c *client) {
				l := lock.New(c.env)
				c.Until(time.Second)
				c.refused(l, 10*time.Second)
				c.Until(4 * time.Second)
				lease := c.acquire(l, 10*time.Second)
				c.release(lease, nil)
			})
		})
		eachNode(t, r, n, "set c1", "delete c1", "set c2", "delete c2")
	})
}

// A client whose lease is over learns of it, and does not harm the next holder: tokens are compared before anything is deleted.
func TestReleaseAfterExpiry(t *testing.T) {
	ofEach(t, func(t *testing.T, lock clients.Lock, n int) {
		expires(t, lock)
		r := play(t, n, func(s *stage) {
			s.client("c1", func(c *client) {
				lease := c.acquire(lock.New(c.env), 2*time.Second)
				c.Until(4 * time.Second)
				c.release(lease, clients.ErrNotHeld)
				c.Until(20 * time.Second)
				c.release(lease, clients.ErrNotHeld) // even if nobody holds the lock
			})
			s.client("c2", func(c *client) {
				c.Until(3 * time.Second)
				lease := c.acquire(lock.New(c.env), 10*time.Second)
				c.Until(5 * time.Second)
				c.release(lease, nil)
			})
		})
		eachNode(t, r, n, "set c1", "expire c1", "set c2", "delete c2")
	})
}

// Locks with different names are independent.
func TestLocksAreApart(t *testing.T) {
	ofEach(t, func(t *testing.T, lock clients.Lock, n int) {
		play(t, n, func(s *stage) {
			s.client("c1", func(c *client) {
				l := lock.New(c.env)
				c.acquire(l, 10*time.Second)
				other, err := l.Acquire(c.ctx, "other", 10*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				c.release(other, nil)
				c.refused(l, 10*time.Second)
			})
		})
	})
}

// A token belongs to one attempt of one client; otherwise a late release could free the lock of another. The kernel names each
// token when it sees it for the first time, after the client that sent it, so the names count the new ones.
func TestTokensAreFresh(t *testing.T) {
	hexadecimal := regexp.MustCompile(`^[0-9a-f]{40}$`)
	ofEach(t, func(t *testing.T, lock clients.Lock, n int) {
		usual(t, lock)
		expires(t, lock)
		tries := 1
		if isRedlock(lock) {
			tries = 3
		}
		play(t, n, func(s *stage) {
			s.client("c1", func(c *client) {
				l := lock.New(c.env)
				c.acquire(l, 10*time.Second)
				if token := c.env.Nodes[0].Get(c.ctx, "lock").Val(); !hexadecimal.MatchString(token) {
					t.Errorf("token %q, want 20 random bytes in hexadecimal", token)
				}
				if got := c.Lease(); got != "c1#1" {
					t.Errorf("the first token is of %q", got)
				}
				c.Until(5 * time.Second)
				c.refused(l, 10*time.Second) // a lock is not reentrant
				if got, want := c.Lease(), fmt.Sprintf("c1#%d", 1+tries); got != want {
					t.Errorf("the last token of the second attempt is of %q, want %q", got, want)
				}
				c.Until(15 * time.Second)
				c.release(c.acquire(l, 10*time.Second), nil)
				c.acquire(l, 10*time.Second)
				if got, want := c.Lease(), fmt.Sprintf("c1#%d", 3+tries); got != want {
					t.Errorf("the token of the fourth attempt is of %q, want %q", got, want)
				}
			})
			s.client("c2", func(c *client) {
				l := lock.New(c.env)
				for k := range 3 {
					c.Until(time.Duration(k+1) * time.Second)
					c.refused(l, 10*time.Second)
					if got, want := c.Lease(), fmt.Sprintf("c2#%d", (k+1)*tries); got != want {
						t.Errorf("attempt %d: the last token is of %q, want %q", k+1, got, want)
					}
				}
			})
		})
	})
}

// Until counts from before the first request, by the steady clock of the process, however wrong that is. It does not depend on the
// wall clock.
func TestUntil(t *testing.T) {
	ofEach(t, func(t *testing.T, lock clients.Lock, n int) {
		usual(t, lock)
		for _, faults := range [][]string{
			nil,
			{"drift c1 +100000ppm"},
			{"drift c1 -100000ppm"},
			{"jump c1 +1s"},
			{"jump c1 -1s"},
			{"delay c1-n1 20ms"},
		} {
			play(t, n, func(s *stage) {
				s.faults(faults...)
				s.client("c1", func(c *client) {
					c.Until(5 * time.Second) // while the error of the clock grows
					l := lock.New(c.env)
					for _, ttl := range []time.Duration{10 * time.Second, 300 * time.Millisecond, time.Hour} {
						start := c.env.Clock.Now()
						lease := c.acquire(l, ttl)
						if got, want := lease.Until().Sub(start), validity(lock, ttl); got != want {
							t.Errorf("%q, TTL %v: valid for %v after the request, want %v", faults, ttl, got, want)
						}
						c.release(lease, nil)
					}
				})
			})
		}
	})
}

// A lease that is over when it arrives is refused, and given back.
func TestOverOnArrival(t *testing.T) {
	const ttl = time.Second
	for name, word := range map[string]string{"single": "SET", "fenced": "EVAL"} {
		build, err := clients.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			fault string
			want  []string // the changes of the key
		}{
			{"on reply " + word + " n1->c1 delay 1500ms", []string{"set c1#1", "expire c1#1"}},
			// The key is still there, because it was set late.
			{"on request " + word + " c1->n1 delay 1500ms", []string{"set c1#1", "delete c1#1"}},
			// The reply waited for a client that was paused.
			{"pause c1 1500ms", []string{"set c1#1", "expire c1#1"}},
			// A node with a slow clock still has the key.
			{"drift n1 -900000ppm; on reply " + word + " n1->c1 delay 1500ms", []string{"set c1#1", "delete c1#1"}},
		} {
			r := play(t, 1, func(s *stage) {
				faults := strings.Split(c.fault, "; ")
				if strings.HasPrefix(c.fault, "pause") {
					s.when(history.Set, "n1", c.fault)
				} else {
					s.faults(faults...)
				}
				s.client("c1", func(c *client) { c.refused(build(c.env), ttl) })
			})
			same(t, name+", "+c.fault, r.changes("n1"), c.want)
			if last := r.texts("n1"); !strings.HasSuffix(last[len(last)-1], " 1 lock c1#1") {
				t.Errorf("%s, %s: the lease was not released: %q", name, c.fault, last)
			}
		}
	}
}

// The lease is refused even if it is unknown whether it could be given back. The error has both reasons.
func TestOverOnArrivalAndNotReleased(t *testing.T) {
	play(t, 1, func(s *stage) {
		s.faults("on request SET c1->n1 delay 1500ms", "on reply EVALSHA n1->c1 reset")
		s.client("c1", func(c *client) {
			if err := c.refused(clients.NewSingle(c.env), time.Second); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the error hides why the release failed: %v", err)
			}
		})
	})
}

// A lease is over if it arrives at the very instant of its end, but not if it arrives a nanosecond earlier.
func TestOverOnArrivalToTheNanosecond(t *testing.T) {
	for _, c := range []struct {
		ttl  time.Duration
		want error
	}{
		{2*hop + 1, nil},
		{2 * hop, clients.ErrNotAcquired},
	} {
		play(t, 1, func(s *stage) {
			s.client("c1", func(c1 *client) {
				l := clients.NewSingle(c1.env)
				c1.release(c1.acquire(l, time.Second), nil) // a connection is open from now on
				if _, err := l.Acquire(c1.ctx, "lock", c.ttl); !errors.Is(err, c.want) {
					t.Errorf("TTL %v, and the reply takes %v: %v, want %v", c.ttl, 2*hop, err, c.want)
				}
			})
		})
	}
}

// If the only node cannot be reached, it is unknown whether it has set the key.
func TestUnreachable(t *testing.T) {
	for name, word := range map[string]string{"single": "SET", "fenced": "EVAL"} {
		build, err := clients.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range []string{
			"cut c1-n1",
			"crash n1",
			"on request " + word + " c1->n1 reset",
			"on reply " + word + " n1->c1 reset",
			"on reply " + word + " n1->c1 hold",
		} {
			play(t, 1, func(s *stage) {
				s.faults(fault)
				s.client("c1", func(c *client) {
					lease, err := build(c.env).Acquire(c.ctx, "lock", 10*time.Second)
					if err == nil || lease != nil || clients.Outcome(err) != history.Info {
						t.Errorf("%s, %s: %v, %v", name, fault, lease, err)
					}
				})
			})
		}
	}
}

// The same is true of a release: the client may or may not still have the lease.
func TestReleaseUnreachable(t *testing.T) {
	ofEach(t, func(t *testing.T, lock clients.Lock, n int) {
		play(t, n, func(s *stage) {
			for _, node := range nodeNames(n) {
				s.faultsAt(time.Second, "crash "+node)
			}
			s.client("c1", func(c *client) {
				lease := c.acquire(lock.New(c.env), 10*time.Second)
				c.Until(2 * time.Second)
				if err := lease.Release(c.ctx); err == nil || clients.Outcome(err) != history.Info {
					t.Errorf("release: %v", err)
				}
			})
		})
	})
}

// With a context that is over, a call returns its error at once, and nothing is sent to the nodes.
func TestCancelledContext(t *testing.T) {
	ofEach(t, func(t *testing.T, lock clients.Lock, n int) {
		r := play(t, n, func(s *stage) {
			s.client("c1", func(c *client) {
				l := lock.New(c.env)
				cancelled, cancel := context.WithCancel(c.ctx)
				cancel()
				took := c.took(func() {
					if lease, err := l.Acquire(cancelled, "lock", 10*time.Second); !errors.Is(err, context.Canceled) || lease != nil {
						t.Errorf("acquire: %v, %v", lease, err)
					}
				})
				if took != 0 {
					t.Errorf("acquire took %v", took)
				}
				c.Until(time.Second)
				lease := c.acquire(l, 10*time.Second)
				if err := lease.Release(cancelled); !errors.Is(err, context.Canceled) || clients.Outcome(err) != history.Info {
					t.Errorf("release: %v", err)
				}
				c.release(lease, nil)
			})
		})
		eachNode(t, r, n, "set c1", "delete c1")
		for _, e := range r.requests("n1") {
			if e.Sent < time.Second {
				t.Errorf("a call whose context was over sent %q", e.Value)
			}
		}
	})
}

func TestFind(t *testing.T) {
	for _, lock := range clients.Locks() {
		if build, err := clients.Find(lock.Name); err != nil || build == nil {
			t.Errorf("Find(%q): %v", lock.Name, err)
		}
		if lock.About == "" || strings.Contains(lock.About, "\n") {
			t.Errorf("%s is about %q, want one line", lock.Name, lock.About)
		}
	}
	_, err := clients.Find("redlok")
	if err == nil || !strings.Contains(err.Error(), `did you mean "redlock"?`) {
		t.Errorf("Find of a misspelling: %v", err)
	}
	if _, err := clients.FindIn(nil, "single"); err == nil {
		t.Error("found a lock in an empty list")
	}
}
