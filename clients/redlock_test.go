package clients_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/clients"
	"lockstep/sim/history"
)

// nodeTimeout is the longest time that Redlock waits for one node.
const nodeTimeout = 50 * time.Millisecond

var redlocks = []clients.Lock{
	{Name: "redlock", New: clients.NewRedlock},
	{Name: "redlock-sequential", New: clients.NewRedlockSequential},
	{Name: "redlock-wall", New: clients.NewRedlockWall},
	{Name: "redlock-extend", New: clients.NewRedlockExtend},
}

func ofRedlocks(t *testing.T, f func(t *testing.T, lock clients.Lock)) {
	for _, lock := range redlocks {
		t.Run(lock.Name, func(t *testing.T) { f(t, lock) })
	}
}

// A majority of nodes is enough and necessary, whatever the number of nodes, whichever are down, and however they fail. An attempt
// without a majority leaves nothing behind on the nodes that are up.
func TestQuorum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lock := rapid.SampledFrom(redlocks).Draw(t, "lock")
		n := rapid.IntRange(1, 7).Draw(t, "nodes")
		var up, faults []string
		for _, node := range nodeNames(n) {
			switch f := rapid.SampledFrom([]string{"", "crash " + node, "cut c1-" + node}).Draw(t, node); f {
			case "":
				up = append(up, node)
			default:
				faults = append(faults, f)
			}
		}
		enough := len(up) >= n/2+1
		r := play(t, n, func(s *stage) {
			s.faults(faults...)
			s.client("c1", func(c *client) {
				l := lock.New(c.env)
				if !enough {
					c.refused(l, 10*time.Second)
					return
				}
				lease := c.acquire(l, 10*time.Second)
				c.release(lease, nil)
			})
		})
		want := []string{"set c1#1", "delete c1#1"}
		if !enough {
			want = []string{"set c1#1", "delete c1#1", "set c1#2", "delete c1#2", "set c1#3", "delete c1#3"}
		}
		for _, node := range up {
			same(t, node, r.changes(node), want)
		}
	})
}

// A lock is released on every node that was asked, even one that seems to have refused it.
func TestReleasedOnAll(t *testing.T) {
	ofRedlocks(t, func(t *testing.T, lock clients.Lock) {
		r := play(t, 5, func(s *stage) {
			s.client("c1", func(c *client) { c.acquire(lock.New(c.env), 10*time.Second) })
			s.client("c2", func(c *client) {
				c.Until(time.Second)
				c.refused(lock.New(c.env), 10*time.Second)
			})
		})
		for _, node := range nodeNames(5) {
			same(t, "changes on "+node, r.changes(node), []string{"set c1#1"})
			for try := 1; try <= 3; try++ {
				lease := fmt.Sprintf("c2#%d", try)
				var released bool
				for _, text := range r.texts(node) {
					released = released || strings.HasPrefix(text, "EVALSHA ") && strings.HasSuffix(text, " "+lease)
				}
				if !released {
					t.Errorf("%s refused %s, and was not asked to release it:\n%s", node, lease, strings.Join(r.texts(node), "\n"))
				}
			}
		}
	})
}

// A key that was set is released even if its client never received the reply.
func TestLostReplyIsReleased(t *testing.T) {
	ofRedlocks(t, func(t *testing.T, lock clients.Lock) {
		for _, action := range []string{"reset", "hold", "delay 60ms"} {
			r := play(t, 5, func(s *stage) {
				s.faults("crash n3", "crash n4", "crash n5", "on reply SET n1->c1 "+action)
				s.client("c1", func(c *client) { c.refused(lock.New(c.env), 10*time.Second) })
			})
			for _, node := range []string{"n1", "n2"} {
				want := []string{"set c1#1", "delete c1#1", "set c1#2", "delete c1#2", "set c1#3", "delete c1#3"}
				same(t, action+", "+node, r.changes(node), want)
			}
		}
	})
}

// An acquire makes three tries, each with a new token, and with delays between them that no two clients share.
func TestRetries(t *testing.T) {
	ofRedlocks(t, func(t *testing.T, lock clients.Lock) {
		var delays []time.Duration
		for seed := range uint64(20) {
			r := playSeed(t, seed, 5, func(s *stage) {
				s.client("c0", func(c *client) { c.acquire(lock.New(c.env), time.Hour) })
				for _, name := range []string{"c1", "c2"} {
					s.client(name, func(c *client) {
						c.Until(time.Second)
						c.refused(lock.New(c.env), 10*time.Second)
					})
				}
			})
			for _, name := range []string{"c1", "c2"} {
				delays = append(delays, delaysOf(t, r, name)...)
			}
		}
		for _, d := range delays {
			if d < 200*time.Millisecond || d >= 400*time.Millisecond {
				t.Errorf("a delay of %v, want 200ms to 400ms", d)
			}
		}
		slices.Sort(delays)
		// The chance that 80 uniform draws all miss the first quarter of their range, or all miss the last, is 2·0.75⁸⁰.
		if first, last := delays[0], delays[len(delays)-1]; first > 250*time.Millisecond || last < 350*time.Millisecond {
			t.Errorf("delays only from %v to %v", first, last)
		}
		if distinct := slices.Compact(delays); len(distinct) != 80 {
			t.Errorf("%d different delays among 80", len(distinct))
		}
	})
}

// delaysOf returns how long a client waited between its tries: from the last reply to its request on n1, the first node that it
// asks. Every node must be up, so that each try ends with a reply.
func delaysOf(t *testing.T, r record, name string) (delays []time.Duration) {
	t.Helper()
	var last time.Duration
	var leases []string
	for _, e := range r.events {
		switch {
		case e.Kind != history.Message:
		case e.Process == name:
			last = e.At
		case e.By == name && e.Process == "n1" && strings.HasPrefix(e.Value, "SET "):
			leases = append(leases, leaseName.FindString(e.Value))
			if len(leases) > 1 {
				delays = append(delays, e.Sent-last)
			}
		}
	}
	same(t, "tokens of the tries", leases, []string{name + "#1", name + "#2", name + "#3"})
	return delays
}

// The lease counts from the try that succeeded, and has its token.
func TestUntilOfALaterTry(t *testing.T) {
	ofRedlocks(t, func(t *testing.T, lock clients.Lock) {
		var until time.Duration
		r := play(t, 5, func(s *stage) {
			s.client("c1", func(c *client) {
				lease := c.acquire(lock.New(c.env), 10*time.Second)
				c.Until(1100 * time.Millisecond)
				c.release(lease, nil)
			})
			s.client("c2", func(c *client) {
				c.Until(time.Second)
				until = c.acquire(lock.New(c.env), 10*time.Second).Until().Sub(c.world.Epoch())
			})
		})
		sets := r.sets("n1")
		last := sets[len(sets)-1]
		if len(sets) < 3 || last.By != "c2" {
			t.Fatalf("n1 got %v, want two tries of c2 at least", sets)
		}
		if want := last.Sent + validity(lock, 10*time.Second); until != want {
			t.Errorf("valid until %v, want %v", until, want)
		}
	})
}

// Step 3 of the algorithm: a majority that comes too late does not count. Drift is allowed for: of a TTL of 4 ms, it takes 40 µs
// and 2 ms.
func TestValidityIsSpentByAcquiring(t *testing.T) {
	for _, c := range []struct {
		lock  clients.Lock
		takes time.Duration
	}{{redlocks[0], 2 * hop}, {redlocks[1], 2 * 5 * hop}} {
		over := (c.takes + 2*time.Millisecond) * 100 / 99 // the longest TTL of which nothing is left
		for _, ttl := range []struct {
			d    time.Duration
			want error
		}{{over.Truncate(time.Millisecond), clients.ErrNotAcquired}, {over.Truncate(time.Millisecond) + time.Millisecond, nil}} {
			r := play(t, 5, func(s *stage) {
				s.client("c1", func(c1 *client) {
					l := c.lock.New(c1.env)
					c1.release(c1.acquire(l, time.Second), nil) // connections are open from now on
					lease, err := l.Acquire(c1.ctx, "lock", ttl.d)
					if !errors.Is(err, ttl.want) {
						t.Errorf("%s: TTL %v, of which acquiring takes %v: %v, want %v", c.lock.Name, ttl.d, c.takes, err, ttl.want)
					}
					if err != nil {
						c1.legible(err)
					} else {
						c1.release(lease, nil)
					}
				})
			})
			for _, node := range nodeNames(5) {
				if got := r.changes(node); ttl.want != nil && len(got) != 8 {
					t.Errorf("%s: three tries that came too late, and on %s %v", c.lock.Name, node, got)
				}
			}
		}
	}
}

// A pause during a try shortens the lease like any other delay. The next try is not affected.
func TestPauseInAcquire(t *testing.T) {
	ofRedlocks(t, func(t *testing.T, lock clients.Lock) {
		r := play(t, 5, func(s *stage) {
			s.when(history.Set, "n3", "pause c1 3s")
			s.client("c1", func(c *client) {
				lease := c.acquire(lock.New(c.env), 2*time.Second)
				if left := c.env.Clock.Until(lease.Until()); left < 1900*time.Millisecond {
					t.Errorf("%v of the lease left", left)
				}
				if got := c.Lease(); got != "c1#2" {
					t.Errorf("acquired %s, want the second try", got)
				}
			})
		})
		same(t, "n3", r.changes("n3"), []string{"set c1#1", "expire c1#1", "set c1#2"})
	})
}

// A node that does not answer costs 50 ms. If nodes are asked at once, several cost as much as one; if they are asked in turn, each
// costs as much. It makes no difference whether the client still has to connect.
func TestNodeTimeout(t *testing.T) {
	ofRedlocks(t, func(t *testing.T, lock clients.Lock) {
		for _, c := range []struct {
			cut  []string
			warm bool
		}{
			{[]string{"n1"}, false},
			{[]string{"n1"}, true},
			{[]string{"n2", "n5"}, false},
			{[]string{"n2", "n5"}, true},
		} {
			want := nodeTimeout
			if lock.Name == "redlock-sequential" {
				want *= time.Duration(len(c.cut))
			}
			play(t, 5, func(s *stage) {
				for _, node := range c.cut {
					s.faultsAt(time.Second, "cut c1-"+node)
				}
				s.client("c1", func(c1 *client) {
					l := lock.New(c1.env)
					if c.warm {
						c1.release(c1.acquire(l, 10*time.Second), nil)
					}
					c1.Until(2 * time.Second)
					var lease clients.Lease
					// plus the round trips to the nodes that answer: three each for a new connection
					if took := c1.took(func() { lease = c1.acquire(l, 10*time.Second) }); took < want || took > want+5*3*2*hop {
						t.Errorf("with %v cut (connected: %v), acquire took %v, want %v and little more", c.cut, c.warm, took, want)
					}
					if took := c1.took(func() { c1.release(lease, nil) }); took < want || took > want+5*3*2*hop {
						t.Errorf("with %v cut (connected: %v), release took %v, want %v and little more", c.cut, c.warm, took, want)
					}
				})
			})
		}
	})
}

// A node that refuses connections costs one round trip.
func TestCrashedNodeCostsNoTimeout(t *testing.T) {
	ofRedlocks(t, func(t *testing.T, lock clients.Lock) {
		play(t, 5, func(s *stage) {
			s.faults("crash n1", "crash n2")
			s.client("c1", func(c *client) {
				if took := c.took(func() { c.acquire(lock.New(c.env), 10*time.Second) }); took >= nodeTimeout {
					t.Errorf("acquire took %v", took)
				}
			})
		})
	})
}

// The timeout follows the client's own clock: at half speed it takes twice as long.
func TestNodeTimeoutOnSlowClock(t *testing.T) {
	ofRedlocks(t, func(t *testing.T, lock clients.Lock) {
		play(t, 5, func(s *stage) {
			s.faults("drift c1 -500000ppm", "cut c1-n4")
			s.client("c1", func(c *client) {
				start := c.env.Clock.Now()
				took := c.took(func() { c.acquire(lock.New(c.env), 10*time.Second) })
				if by := c.env.Clock.Since(start); by < nodeTimeout || by > nodeTimeout+5*3*2*hop {
					t.Errorf("acquire took %v by the clock of the client, want %v and little more", by, nodeTimeout)
				}
				if took < 2*nodeTimeout-time.Microsecond {
					t.Errorf("acquire took %v, want twice as long as by the clock of the client", took)
				}
			})
		})
	})
}

// asked lists when each node got the first request with a word from a client, in the order of arrival.
func asked(r record, word string) (order []string, sent []time.Duration) {
	for _, e := range r.events {
		if e.Kind != history.Message || e.Op != history.Deliver || e.By != "c1" || !strings.HasPrefix(e.Value, word+" ") || slices.Contains(order, e.Process) {
			continue
		}
		order, sent = append(order, e.Process), append(sent, e.Sent)
	}
	return order, sent
}

func TestOrderOfNodes(t *testing.T) {
	for _, lock := range redlocks {
		r := play(t, 5, func(s *stage) {
			s.client("c1", func(c *client) {
				l := lock.New(c.env)
				for _, n := range c.env.Nodes {
					n.Ping(c.ctx) // so that connections are open
				}
				c.release(c.acquire(l, 10*time.Second), nil)
			})
		})
		for _, word := range []string{"SET", "EVALSHA"} {
			order, sent := asked(r, word)
			if lock.Name != "redlock-sequential" {
				slices.Sort(order) // the order of simultaneous arrivals does not matter
			}
			same(t, lock.Name+", "+word, order, nodeNames(5))
			for i := range sent[1:] {
				gap := sent[i+1] - sent[i]
				switch {
				case lock.Name != "redlock-sequential" && gap != 0:
					t.Errorf("%s to %s %v after the one before, want all at once", word, order[i+1], gap)
				case lock.Name == "redlock-sequential" && gap < 2*hop:
					t.Errorf("%s to %s %v after the one before, want its reply first", word, order[i+1], gap)
				}
			}
		}
	}
}

// The replies of the nodes decide whether a release has given anything back.
func TestReleaseOfRedlock(t *testing.T) {
	ofRedlocks(t, func(t *testing.T, lock clients.Lock) {
		for _, c := range []struct {
			gone, down int // how many of five nodes have lost the key, and how many do not answer
			want       history.Kind
		}{
			{0, 0, history.OK},
			{0, 2, history.OK},
			{1, 2, history.OK},
			{2, 2, history.OK},
			{4, 0, history.OK}, // it is enough if one key was deleted
			{3, 2, history.Fail},
			{5, 0, history.Fail},
			{4, 1, history.Fail},
			{0, 3, history.Info},
			{0, 5, history.Info},
		} {
			play(t, 5, func(s *stage) {
				s.client("c1", func(c1 *client) {
					lease := c1.acquire(lock.New(c1.env), 10*time.Second)
					for i := range c.gone {
						c1.env.Nodes[i].Del(c1.ctx, "lock")
					}
					for i := range c.down {
						s.faultsAt(time.Second, fmt.Sprintf("crash n%d", 5-i))
					}
					c1.Until(2 * time.Second)
					err := lease.Release(c1.ctx)
					if got := clients.Outcome(err); got != c.want {
						t.Errorf("the key gone from %d, and %d down: %s (%v), want %s", c.gone, c.down, got, err, c.want)
					}
				})
			})
		}
	})
}

// A caller that cancels its context while nodes are asked gets its error as soon as this try has been released. No further try is
// made.
func TestCancelDuringAcquire(t *testing.T) {
	ofRedlocks(t, func(t *testing.T, lock clients.Lock) {
		r := play(t, 5, func(s *stage) {
			s.faults("cut c1-n3", "cut c1-n4", "cut c1-n5")
			s.client("c1", func(c *client) {
				ctx, cancel := context.WithCancel(c.ctx)
				c.env.Clock.AfterFunc(20*time.Millisecond, cancel)
				l := lock.New(c.env)
				took := c.took(func() {
					lease, err := l.Acquire(ctx, "lock", 10*time.Second)
					if !errors.Is(err, context.Canceled) || lease != nil {
						t.Errorf("acquire: %v, %v", lease, err)
					}
				})
				if took > 4*nodeTimeout { // in turn, three nodes that cannot be reached
					t.Errorf("acquire took %v", took)
				}
			})
		})
		if n := len(r.sets("n1")); n != 1 {
			t.Errorf("n1 got %d requests to set the key, want 1", n)
		}
	})
}

// If some nodes have forgotten the lock, the outcome is still unknown as long as a majority has not answered.
func TestReleaseInDoubt(t *testing.T) {
	ofRedlocks(t, func(t *testing.T, lock clients.Lock) {
		play(t, 5, func(s *stage) {
			s.faultsAt(time.Second, "crash n3", "crash n4", "crash n5")
			s.client("c1", func(c *client) {
				lease := c.acquire(lock.New(c.env), 10*time.Second)
				c.env.Nodes[0].Del(c.ctx, "lock")
				c.Until(2 * time.Second)
				if err := lease.Release(c.ctx); err == nil || errors.Is(err, clients.ErrNotHeld) {
					t.Errorf("four nodes may still have had the key, three do not answer: %v", err)
				}
			})
		})
	})
}

// If the caller has given up, nobody uses the lease, so it must not keep others out.
func TestCancelledAttemptIsReleased(t *testing.T) {
	ofRedlocks(t, func(t *testing.T, lock clients.Lock) {
		r := play(t, 5, func(s *stage) {
			s.faults("cut c1-n3", "cut c1-n4", "cut c1-n5")
			s.client("c1", func(c *client) {
				ctx, cancel := context.WithCancel(c.ctx)
				c.env.Clock.AfterFunc(20*time.Millisecond, cancel)
				lock.New(c.env).Acquire(ctx, "lock", 10*time.Second)
			})
		})
		same(t, "n1", r.changes("n1"), []string{"set c1#1", "delete c1#1"})
	})
}
