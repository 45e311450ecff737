package clients_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/sim/history"
)

// second is when most clients here begin: the wall clock then shows 2000-01-01T00:00:01Z, which two of the locks write into their
// keys.
const second = time.Second

// find returns a lock by its name.
func find(t *testing.T, name string) clients.New {
	t.Helper()
	build, err := clients.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return build
}

var digests = regexp.MustCompile(`^EVAL(SHA)? [0-9a-f]{6} 1 `)

// commands lists what reached a process, without the handshake and the digests of scripts.
func (r record) commands(process string) []string {
	var list []string
	for _, text := range r.texts(process) {
		if !strings.HasPrefix(text, "HELLO") {
			list = append(list, digests.ReplaceAllString(text, "EVAL$1 "))
		}
	}
	return list
}

// The commands that each lock sends if no other client is there.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		lock string
		want []string
	}{
		{"nolock", nil},
		{"watch", nil},
		{"watch-retry", nil},
		{"watch-in-multi", nil},
		{"setnx", []string{"SET lock c1#1 nx", "EVALSHA lock c1#1", "EVAL lock c1#1"}},
		{"setnx-expire", []string{"SETNX lock c1#1", "EXPIRE lock 10", "EVALSHA lock c1#1", "EVAL lock c1#1"}},
		{"setnx-repair", []string{"SETNX lock 386d438100005", "EXPIRE lock 10", "GET lock", "MULTI; DEL lock; EXEC"}},
		{"getset", []string{"SETNX lock 946684811000", "GET lock", "DEL lock"}},
		{"fixed", []string{"SET lock locked ex 10 nx", "DEL lock"}},
		{"getdel", []string{"SET lock c1#1 ex 10 nx", "GET lock", "DEL lock"}},
		{"multidel", []string{"SET lock c1#1 ex 10 nx", "GET lock", "MULTI; DEL lock; EXEC"}},
		{"single", []string{"SET lock c1#1 ex 10 nx", "EVALSHA lock c1#1", "EVAL lock c1#1"}},
		{"single-usec", []string{"SET lock 386d438100005 ex 10 nx", "EVALSHA lock 386d438100005", "EVAL lock 386d438100005"}},
		{"single-delex", []string{"SET lock c1#1 ex 10 nx", "DELEX lock IFEQ c1#1"}},
	} {
		r := play(t, 1, func(s *stage) {
			s.client("c1", func(c1 *client) {
				c1.Until(second + 5*time.Microsecond)
				c1.release(c1.acquire(find(t, c.lock)(c1.env), 10*time.Second), nil)
			})
		})
		same(t, c.lock, r.commands("n1"), c.want)
		if c.want == nil {
			continue
		}
		changes := slices.DeleteFunc(r.changes("n1"), func(c string) bool { return c == "retime c1#1" })
		same(t, c.lock, changes, []string{"set c1#1", "delete c1#1"})
	}
}

// One client after the other gets the lock. A client that asks while it is held is refused, and does not touch it.
func TestFlawedHandover(t *testing.T) {
	for _, name := range flawed[4:] {
		r := play(t, 1, func(s *stage) {
			s.client("c1", func(c *client) {
				lease := c.acquire(find(t, name)(c.env), 10*time.Second)
				c.Until(5 * time.Second)
				c.release(lease, nil)
				c.release(lease, clients.ErrNotHeld)
			})
			s.client("c2", func(c *client) {
				l := find(t, name)(c.env)
				c.Until(second)
				c.refused(l, 2*time.Second)
				c.Until(6 * time.Second)
				c.release(c.acquire(l, 10*time.Second), nil)
			})
		})
		changes := slices.DeleteFunc(r.changes("n1"), func(c string) bool { return strings.HasPrefix(c, "retime") })
		same(t, name, grants(changes), []string{"set c1", "delete c1", "set c2", "delete c2"})
	}
}

// Until counts from before the first request, by the steady clock. setnx has no Until, and neither have the clients without a lock.
func TestFlawedUntil(t *testing.T) {
	for i, name := range flawed {
		for _, ttl := range []time.Duration{10 * time.Second, 1500 * time.Millisecond} {
			want := ttl
			if i < 4 || name == "setnx" {
				want = 0
			}
			r := play(t, 1, func(s *stage) {
				s.faults("drift c1 -100000ppm", "jump c1 +1h")
				s.client("c1", func(c *client) {
					c.Until(5 * time.Second)
					start := c.env.Clock.Now()
					until := c.acquire(find(t, name)(c.env), ttl).Until()
					if until.IsZero() != (want == 0) || want != 0 && until.Sub(start) != want {
						t.Errorf("%s, TTL %v: valid until %v, want %v after %v", name, ttl, until, want, start)
					}
				})
			})
			for _, e := range r.events {
				if forever := name == "setnx" || name == "getset"; e.Op == history.Expire && e.At < 5*time.Second+ttl || e.Op == history.Set && forever && e.Until != history.NoEnd {
					t.Errorf("%s, TTL %v: at %v: %s, until %v", name, ttl, e.At, e.Op, e.Until)
				}
			}
		}
	}
}

// The locks that differ from single in one respect refuse a lease that is over when it arrives, as single does.
func TestFlawedOverOnArrival(t *testing.T) {
	for name, word := range map[string]string{
		"setnx-expire": "EXPIRE", "fixed": "SET", "getdel": "SET", "multidel": "SET", "single-usec": "SET",
	} {
		play(t, 1, func(s *stage) {
			s.faults("on reply " + word + " n1->c1 delay 1500ms")
			s.client("c1", func(c *client) { c.refused(find(t, name)(c.env), time.Second) })
		})
	}
}

// Whether an error leaves the outcome open depends on what may have been done by then.
func TestFlawedErrors(t *testing.T) {
	for _, c := range []struct {
		lock, fault string
		held        bool // by another client, whose lease has ended
		want        history.Kind
	}{
		{"nolock", "crash n1", false, history.OK},
		{"setnx", "on reply SET n1->c1 reset", false, history.Info},
		{"setnx", "on reply SET n1->c1 reset", true, history.Info},
		{"setnx-expire", "on reply SETNX n1->c1 reset", false, history.Info},
		{"setnx-expire", "on request EXPIRE c1->n1 reset", false, history.Info},
		{"setnx-expire", "on reply EXPIRE n1->c1 reset", false, history.Info},
		{"setnx-repair", "on reply SETNX n1->c1 reset", false, history.Info},
		{"setnx-repair", "on reply EXPIRE n1->c1 reset", false, history.Info},
		{"setnx-repair", "on reply TTL n1->c1 reset", true, history.Fail},
		{"setnx-repair", "on reply EXPIRE n1->c1 reset", true, history.Fail},
		{"getset", "on reply SETNX n1->c1 reset", false, history.Info},
		{"getset", "on reply GET n1->c1 reset", true, history.Fail},
		{"getset", "on request GETSET c1->n1 reset", true, history.Info},
		{"getset", "on reply GETSET n1->c1 reset", true, history.Info},
		{"fixed", "on reply SET n1->c1 reset", false, history.Info},
		{"getdel", "on reply SET n1->c1 reset", false, history.Info},
		{"multidel", "on reply SET n1->c1 reset", false, history.Info},
		{"single-usec", "on reply SET n1->c1 reset", false, history.Info},
		{"single-delex", "on reply SET n1->c1 reset", false, history.Info},
	} {
		play(t, 1, func(s *stage) {
			s.faults(c.fault)
			s.client("other", func(other *client) {
				if c.held {
					other.env.Nodes[0].Set(other.ctx, "lock", "1", 0)
				}
			})
			s.client("c1", func(c1 *client) {
				c1.Until(second)
				lease, err := find(t, c.lock)(c1.env).Acquire(c1.ctx, "lock", 10*time.Second)
				if got := clients.Outcome(err); got != c.want || (lease == nil) != (err != nil) {
					t.Errorf("%s, %s: %v, %v: %s, want %s", c.lock, c.fault, lease, err, got, c.want)
				}
			})
		})
	}
}

// The same is true of a release. After only a GET nothing has happened, but the client may still have the lease, so the outcome is
// unknown.
func TestFlawedReleaseErrors(t *testing.T) {
	for _, c := range []struct{ lock, word string }{
		{"setnx", "EVALSHA"},
		{"setnx-expire", "EVALSHA"},
		{"setnx-repair", "GET"},
		{"setnx-repair", "MULTI"},
		{"getset", "GET"},
		{"getset", "DEL"},
		{"fixed", "DEL"},
		{"getdel", "GET"},
		{"getdel", "DEL"},
		{"multidel", "GET"},
		{"multidel", "MULTI"},
		{"single-usec", "EVALSHA"},
		{"single-delex", "DELEX"},
	} {
		for _, fault := range []string{"on request " + c.word + " c1->n1 reset", "on reply " + c.word + " n1->c1 reset"} {
			play(t, 1, func(s *stage) {
				s.faults(fault)
				s.client("c1", func(c1 *client) {
					lease := c1.acquire(find(t, c.lock)(c1.env), 10*time.Second)
					if err := lease.Release(c1.ctx); clients.Outcome(err) != history.Info {
						t.Errorf("%s, %s: %v", c.lock, fault, err)
					}
				})
			})
		}
	}
}

// With a context that is over, a call returns its error at once.
func TestFlawedCancelledContext(t *testing.T) {
	for _, name := range flawed {
		play(t, 1, func(s *stage) {
			s.client("c1", func(c *client) {
				l := find(t, name)(c.env)
				cancelled, cancel := context.WithCancel(c.ctx)
				cancel()
				if took := c.took(func() {
					if lease, err := l.Acquire(cancelled, "lock", 10*time.Second); !errors.Is(err, context.Canceled) || lease != nil {
						t.Errorf("%s: acquire: %v, %v", name, lease, err)
					}
					if i, ok := l.(clients.Incrementer); ok {
						if _, err := i.Increment(cancelled, c.env.Nodes[0], "counter"); !errors.Is(err, context.Canceled) {
							t.Errorf("%s: increment: %v", name, err)
						}
					}
				}); took != 0 {
					t.Errorf("%s: that took %v", name, took)
				}
				lease := c.acquire(l, 10*time.Second)
				if err := lease.Release(cancelled); !errors.Is(err, context.Canceled) || clients.Outcome(err) != history.Info {
					t.Errorf("%s: release: %v", name, err)
				}
				c.release(lease, nil)
			})
		})
	}
}
