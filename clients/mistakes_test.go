package clients_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/clients/broken"
)

// A harm is a story in which a lock with a mistake does harm.
type harm struct {
	nodes    int  // 1 if it is zero
	replicas int  // of the one node
	strict   bool // the node writes only with a replica
	faults,
	later []string // at 1 s
	play func(s *stage, build clients.New, done func(bool))
	lone bool // the lock that it is like cannot be asked for this
}

// run plays the story, and reports whether harm was done.
func (h harm) run(t *testing.T, build clients.New) (did bool) {
	direct := func(s *stage) {
		s.faults(h.faults...)
		s.faultsAt(time.Second, h.later...)
		h.play(s, build, func(harm bool) { did = did || harm })
	}
	if h.replicas > 0 {
		playReplicated(t, h.replicas, h.strict, direct)
	} else {
		play(t, max(1, h.nodes), direct)
	}
	return did
}

// at has a client wait, and try to get the lock. The lease is nil if it did not.
func (c *client) at(seconds float64, l clients.Locker, ttl time.Duration) clients.Lease {
	c.Until(time.Duration(seconds * float64(time.Second)))
	lease, err := l.Acquire(c.ctx, "lock", ttl)
	if err != nil {
		return nil
	}
	return lease
}

// relied has c1 acquire at once and rely on its lease, and c2 try at some second: harm is done if both have the lock.
func relied(ttl time.Duration, seconds float64) func(*stage, clients.New, func(bool)) {
	return func(s *stage, build clients.New, done func(bool)) {
		var held clients.Lease
		s.client("c1", func(c *client) {
			held = c.at(0, build(c.env), ttl)
			c.Until(20 * time.Second)
		})
		s.client("c2", func(c *client) {
			lease := c.at(seconds, build(c.env), ttl)
			done(lease != nil && held != nil && c.env.Clock.Now().Before(held.Until()))
		})
	}
}

// keptBeyond has c1 keep the lock beyond its TTL, and c2 try then: harm is done if c2 gets it.
func keptBeyond(s *stage, build clients.New, done func(bool)) {
	s.client("c1", func(c *client) {
		c.at(0, build(c.env), 3*time.Second)
		c.Until(8 * time.Second)
	})
	s.client("c2", func(c *client) { done(c.at(5, build(c.env), 3*time.Second) != nil) })
}

// fencedInTurn has two clients get the lock one after the other, and compares their fencing tokens: harm is done if they do not grow.
func fencedInTurn(ttl time.Duration, seconds float64) func(*stage, clients.New, func(bool)) {
	return func(s *stage, build clients.New, done func(bool)) {
		var first int64
		s.client("c1", func(c *client) { first = c.at(0, build(c.env), ttl).(clients.Fenced).Fence() })
		s.client("c2", func(c *client) { done(c.at(seconds, build(c.env), ttl).(clients.Fenced).Fence() <= first) })
	}
}

// cancelled has the context of an acquire end before the request arrives. The key must not be there for another client to find.
func cancelled(s *stage, build clients.New, done func(bool)) {
	s.client("c1", func(c *client) {
		c.env.Nodes[0].Ping(c.ctx) // it connects before the delay
		c.Until(1500 * time.Millisecond)
		ctx, cancel := context.WithCancel(c.ctx)
		c.env.Clock.AfterFunc(500*time.Millisecond, cancel)
		lease, _ := build(c.env).Acquire(ctx, "lock", 10*time.Second)
		if lease != nil {
			lease.Release(c.ctx)
		}
	})
	s.client("c2", func(c *client) { done(c.at(8, build(c.env), 10*time.Second) == nil) })
}

// again has a client try a few times in vain to get the lock, and then use it twice, with a long time in between. It is harmful if the client
// cannot get or release it the second time.
func again(vain int) func(*stage, clients.New, func(bool)) {
	return func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			for n := range vain {
				c.at(float64(n)/10, l, 8*time.Second)
			}
			if lease := c.at(2, l, 8*time.Second); lease != nil {
				lease.Release(c.ctx) // which a fault may hit
			}
			lease := c.at(30, l, 8*time.Second)
			done(lease == nil || lease.Release(c.ctx) != nil)
		})
	}
}

// lateRelease has a client outlive its lease, and release it: harm is done if that succeeds.
func lateRelease(s *stage, build clients.New, done func(bool)) {
	s.client("c1", func(c *client) {
		lease := c.at(0, build(c.env), time.Second)
		c.Until(3 * time.Second)
		done(lease.Release(c.ctx) == nil)
	})
	s.client("c2", func(c *client) { c.at(2, build(c.env), 10*time.Second) })
}

// losesKey has another client take the key of c1: harm is done if c1 relies on its lease for longer than two TTLs then.
func losesKey(s *stage, build clients.New, done func(bool)) {
	s.client("c1", func(c *client) {
		lease := c.at(0, build(c.env), 3*time.Second)
		c.Until(8 * time.Second)
		done(c.env.Clock.Now().Before(lease.Until()))
	})
	s.client("c2", func(c *client) {
		c.Until(500 * time.Millisecond)
		c.env.Nodes[0].Del(c.ctx, "lock")
		c.at(0, clients.NewSingle(c.env), 30*time.Second)
	})
}

// lateExtension has c1 extend its lease while c2 has the lock, or gets it meanwhile: harm is done if that succeeds.
func lateExtension(at time.Duration) func(*stage, clients.New, func(bool)) {
	return func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 2*time.Second)
			c.Until(at)
			done(lease.(clients.Extender).Extend(c.ctx, 8*time.Second) == nil)
		})
		s.client("c2", func(c *client) { c.at(3, build(c.env), 10*time.Second) })
	}
}

// unknownExtension has c1 release after an extension without a reply: harm is done if the key stays.
func unknownExtension(s *stage, build clients.New, done func(bool)) {
	s.client("c1", func(c *client) {
		lease := c.at(0, build(c.env), 8*time.Second)
		lease.(clients.Extender).Extend(c.ctx, 8*time.Second)
		lease.Release(c.ctx)
		done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
	})
}

// left has c1 acquire and release while others have some of the nodes: harm is done if a key of c1 stays on one of the rest.
func left(others []int, on int) func(*stage, clients.New, func(bool)) {
	return func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			for _, i := range others {
				c.env.Nodes[i].Set(c.ctx, "lock", "another's", 0)
			}
			if lease := c.at(0.5, build(c.env), 10*time.Second); lease != nil {
				lease.Release(c.ctx)
			}
			done(c.env.Nodes[on].Exists(c.ctx, "lock").Val() == 1)
		})
	}
}

// refusedOnce has a client ask for the lock while the node refuses to write, because its replica is away, and again when the replica is back.
// It does harm if the client does not get the lock then.
func refusedOnce(s *stage, build clients.New, done func(bool)) {
	s.client("c1", func(c *client) {
		l := build(c.env)
		c.at(15, l, 8*time.Second)
		s.faults("heal n1-r1")
		done(c.at(30, l, 8*time.Second) == nil)
	})
}

// renewedAway has c1 get the lock while the node still writes, as its replica has just gone away, and renew it when the node refuses to
// write.
func renewedAway(then func(s *stage, c *client, lease clients.Lease, done func(bool))) func(*stage, clients.New, func(bool)) {
	return func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(8, build(c.env), 30*time.Second) // renewed at 18 s
			c.Until(20 * time.Second)
			then(s, c, lease, done)
		})
	}
}

// lateForRelease has c1 release a lease that is over by its own clock: harm is done if a key stays.
func lateForRelease(s *stage, build clients.New, done func(bool)) {
	s.client("c1", func(c *client) {
		lease := c.at(0, build(c.env), 8*time.Second)
		c.Until(9 * time.Second)
		lease.Release(c.ctx)
		done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
	})
}

// adoptsEnd has c1 extend its lease by much, without an answer, and then by little: harm is done if the lease lasts longer than the key.
func adoptsEnd(s *stage, build clients.New, done func(bool)) {
	s.client("c1", func(c *client) {
		lease := c.at(0, build(c.env), 8*time.Second)
		lease.(clients.Extender).Extend(c.ctx, time.Minute)
		lease.(clients.Extender).Extend(c.ctx, 8*time.Second)
		done(c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val())
	})
}

var harms = map[string]harm{
	"single-ex-milliseconds": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) { c.at(0, build(c.env), 8*time.Second) })
		s.client("c2", func(c *client) { done(c.at(60, build(c.env), 8*time.Second) == nil) })
	}},
	"single-ex-seconds": {play: relied(1500*time.Millisecond, 1.2)},
	"single-finally": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c0", func(c *client) { c.at(0.5, build(c.env), 8*time.Second) })
		relied(8*time.Second, 1)(s, build, done)
	}},
	"single-extend-xx":  {lone: true, play: lateExtension(4 * time.Second)},
	"single-extend-get": {lone: true, faults: []string{"on request PEXPIRE c1->n1 delay 2500ms"}, play: lateExtension(time.Second)},
	"single-extend-first-ttl": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 2*time.Second)
			if e, ok := lease.(clients.Extender); ok {
				done(e.Extend(c.ctx, 8*time.Second) == nil && c.env.Clock.Until(lease.Until()) < 7*time.Second)
			}
		})
	}},
	"single-extend-later-end": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 8*time.Second)
			if e, ok := lease.(clients.Extender); ok {
				done(e.Extend(c.ctx, 2*time.Second) == nil && c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val())
			}
		})
	}},
	"single-extend-on-reply": {faults: []string{"on reply EVAL n1->c1 reset"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 8*time.Second)
			if e, ok := lease.(clients.Extender); ok {
				e.Extend(c.ctx, 2*time.Second)
				done(c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val())
			}
		})
	}},
	"single-extend-versioned":  {lone: true, faults: []string{"on reply EVAL n1->c1 reset"}, play: unknownExtension},
	"redlock-extend-versioned": {nodes: 3, faults: []string{"on reply EVAL n1->c1 reset", "on reply EVAL n2->c1 reset"}, play: unknownExtension},
	"single-extend-soft": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 8*time.Second)
			if e, ok := lease.(clients.Extender); ok {
				c.env.Nodes[0].Del(c.ctx, "lock")
				done(!errors.Is(e.Extend(c.ctx, 8*time.Second), clients.ErrNotHeld))
			}
		})
	}},
	"single-extend-seconds": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 1900*time.Millisecond)
			if e, ok := lease.(clients.Extender); ok {
				done(e.Extend(c.ctx, 1900*time.Millisecond) == nil && c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val())
			}
		})
	}},
	"single-gives-up": {faults: []string{"on reply SETNX n1->c1 delay 1500ms", "on reply SET n1->c1 delay 1500ms"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			_, err := build(c.env).Acquire(c.ctx, "lock", 10*time.Second)
			c.Until(2 * time.Second)
			done(errors.Is(err, clients.ErrNotAcquired) && c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
		})
	}},
	"single-extend-reacquires": {lone: true, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 2*time.Second)
			c.Until(4 * time.Second)
			done(lease.(clients.Extender).Extend(c.ctx, 8*time.Second) == nil)
		})
		s.client("c2", func(c *client) {
			c.release(c.at(3, build(c.env), 2*time.Second), nil)
		})
	}},
	"redlock-extend-of-granted": {nodes: 5, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			for _, i := range []int{3, 4} {
				c.env.Nodes[i].Set(c.ctx, "lock", "another's", 0)
			}
			lease := c.at(0.5, build(c.env), 8*time.Second)
			c.env.Nodes[2].Del(c.ctx, "lock")
			done(lease.(clients.Extender).Extend(c.ctx, 8*time.Second) == nil)
		})
	}},
	"redlock-extend-no-drift": {nodes: 3, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 8*time.Second)
			lease.(clients.Extender).Extend(c.ctx, 8*time.Second)
			done(lease.Until().After(c.env.Clock.Now().Add(7950 * time.Millisecond)))
		})
	}},
	"single-release-force": {faults: []string{"on reply EVAL n1->c1 reset"}, play: lateRelease},
	"single-evalsha": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 8*time.Second)
			c.env.Nodes[0].ScriptFlush(c.ctx)
			done(lease.Release(c.ctx) != nil)
		})
	}},
	"single-load-once":     {faults: []string{"on request SCRIPT c1->n1 reset"}, play: again(0)},
	"single-still-held":    {faults: []string{"on reply EVALSHA n1->c1 reset"}, play: again(0)},
	"single-breaker-stays": {faults: []string{"crash n1"}, later: []string{"restart n1"}, play: again(3)},
	"single-shared-context": {faults: []string{"on reply SETNX n1->c1 delay 200ms", "on reply SET n1->c1 delay 200ms"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			ctx, cancel := context.WithCancel(c.ctx)
			c.env.Clock.AfterFunc(100*time.Millisecond, cancel)
			if lease, err := l.Acquire(ctx, "lock", 8*time.Second); err == nil {
				lease.Release(c.ctx)
			}
			done(c.at(30, l, 8*time.Second) == nil)
		})
	}},
	"single-places-lost": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			over, cancel := context.WithCancel(c.ctx)
			cancel()
			for n := range 4 {
				if lease := c.at(float64(10*n), l, 8*time.Second); lease != nil {
					lease.Release(over) // which fails
				}
			}
			done(c.at(50, l, 8*time.Second) == nil)
		})
	}},
	"watchdog-started-once": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.release(c.at(0, l, 3*time.Second), nil)
			c.at(10, l, 3*time.Second)
			c.Until(20 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(15, build(c.env), 3*time.Second) != nil) })
	}},
	"watchdog-one-timer": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 3*time.Second)
			l.Acquire(c.ctx, "other", 3*time.Second)
			c.Until(20 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(15, build(c.env), 3*time.Second) != nil) })
	}},
	"single-joins": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 8*time.Second)
			lease := c.at(5, l, 8*time.Second)
			done(lease != nil && lease.Until().After(c.env.Clock.Now().Add(4*time.Second)))
		})
	}},
	"watchdog-swaps-token": {faults: []string{"on reply MGET n1->c2 delay 2500ms"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			c.at(0, build(c.env), 2*time.Second)
			c.Until(20 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(1, build(c.env), 2*time.Second) != nil) })
	}},
	"watchdog-release-waits": {later: []string{"crash n1"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 4*time.Second) // its renewal at 1.3 s fails
			c.Until(2 * time.Second)
			ctx, cancel := context.WithCancel(c.ctx)
			c.env.Clock.AfterFunc(time.Minute, cancel)
			done(errors.Is(lease.Release(ctx), context.Canceled))
		})
	}},
	"watchdog-release-aborted": {faults: []string{"on reply GET n1->c1 delay 500ms"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 3*time.Second) // renewed at 1 s
			c.Until(800 * time.Millisecond)
			lease.Release(c.ctx)
			done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
		})
	}},
	"watchdog-doubles": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			c.at(0, build(c.env), 3*time.Second)
			c.Until(20 * time.Second)
			done(c.env.Nodes[0].PTTL(c.ctx, "lock").Val() > 3*time.Second)
		})
	}},
	"watchdog-off-after-error": {later: []string{"crash n1"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.faultsAt(3*time.Second, "restart n1")
		s.client("c1", func(c *client) {
			l := build(c.env)
			lease := c.at(0, l, 4*time.Second) // its renewal at 1.3 s fails
			c.Until(5 * time.Second)
			lease.Release(c.ctx)
			c.at(10, l, 3*time.Second)
			c.Until(20 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(15, build(c.env), 3*time.Second) != nil) })
	}},
	"single-key-window": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			c.at(1, build(c.env), 4*time.Second)
			c.Until(10 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(4.5, build(c.env), 4*time.Second) != nil) })
	}},
	"single-counts":        {play: lateRelease},
	"single-counter-token": {play: lateRelease},
	"single-client-token": {later: []string{"on request EVALSHA c1->n1 delay 8s"}, play: func(s *stage, build clients.New, done func(bool)) {
		var held clients.Lease
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.release(c.at(0, l, 2*time.Second), nil) // the script is known from now on
			lease := c.at(0.5, l, 2*time.Second)
			c.Until(1500 * time.Millisecond)
			lease.Release(c.ctx)
			held = c.at(7, l, 20*time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(11, build(c.env), time.Second) != nil && held != nil) })
	}},
	"single-timeout-is-ours": {faults: []string{"on request SET c1->n1 hold"}, play: relied(20*time.Second, 6)},
	"single-error-is-refusal": {faults: []string{"on reply SET n1->c1 reset", "on reply SETNX n1->c1 reset"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			_, err := build(c.env).Acquire(c.ctx, "lock", 10*time.Second)
			done(errors.Is(err, clients.ErrNotAcquired) && c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
		})
	}},
	"single-pipelined-expire": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) { c.at(0, build(c.env), 2*time.Second) })
		s.client("c2", func(c *client) {
			c.at(1.5, build(c.env), 2*time.Second)
			done(c.at(3, build(c.env), 2*time.Second) == nil)
		})
	}},
	"single-late-watch": {faults: []string{"on request WATCH c1->n1 delay 2500ms"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 2*time.Second)
			c.Until(time.Second)
			lease.Release(c.ctx)
		})
		s.client("c2", func(c *client) {
			lease := c.at(2.5, build(c.env), 10*time.Second)
			c.Until(6 * time.Second)
			done(lease.Release(c.ctx) != nil)
		})
	}},
	"single-zset-rank": {faults: []string{"jump c2 -2s"}, play: relied(8*time.Second, 1)},
	"single-stale-cleanup": {faults: []string{"on request PTTL c2->n1 delay 1s", "on request DEL c2->n1 delay 1s"}, play: func(s *stage, build clients.New, done func(bool)) {
		var held clients.Lease
		s.client("c1", func(c *client) { c.at(0, build(c.env), 2*time.Second) })
		s.client("c2", func(c *client) { done(c.at(1.5, build(c.env), 10*time.Second) != nil && held != nil) })
		s.client("c3", func(c *client) { held = c.at(3, build(c.env), 10*time.Second) })
	}},
	"redlock-half-rounded-up": {nodes: 4, faults: []string{"cut c1-n3", "cut c1-n4", "cut c2-n1", "cut c2-n2"}, play: relied(10*time.Second, 1)},
	"single-extend-sha": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second).(clients.Extender)
			lease.Extend(c.ctx, 10*time.Second)
			c.env.Nodes[0].ScriptFlush(c.ctx)
			done(lease.Extend(c.ctx, 10*time.Second) != nil)
		})
	}},
	"single-extend-prolongs": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second).(clients.Extender)
			for range 5 {
				lease.Extend(c.ctx, 10*time.Second)
			}
		})
		s.client("c2", func(c *client) { done(c.at(15, build(c.env), 10*time.Second) == nil) })
	}},
	"single-release-parts": {play: func(s *stage, build clients.New, done func(bool)) {
		var held clients.Lease
		s.client("c1", func(c *client) {
			if lease := c.at(0, build(c.env), 10*time.Second); lease != nil {
				c.Until(2 * time.Second)
				lease.Release(c.ctx)
			}
		})
		s.client("c2", func(c *client) {
			c.Until(time.Second)
			held, _ = build(c.env).Acquire(c.ctx, "lock:2", 10*time.Second)
		})
		s.client("c3", func(c *client) {
			c.Until(3 * time.Second)
			lease, _ := build(c.env).Acquire(c.ctx, "lock:2", 10*time.Second)
			done(lease != nil && held != nil)
		})
	}},
	"single-reentrant-flag": {play: func(s *stage, build clients.New, done func(bool)) {
		var held clients.Lease
		s.client("c1", func(c *client) {
			l := build(c.env)
			held = c.at(0, l, 10*time.Second)
			for _, inner := range []clients.Lease{c.at(1, l, 10*time.Second), c.at(1, l, 10*time.Second)} {
				if inner != nil {
					inner.Release(c.ctx)
				}
			}
		})
		s.client("c2", func(c *client) { done(c.at(3, build(c.env), 10*time.Second) != nil && held != nil) })
	}},
	"single-reentrant-extends": {play: func(s *stage, build clients.New, done func(bool)) {
		var held clients.Lease
		s.client("c1", func(c *client) {
			l := build(c.env)
			held = c.at(0, l, 10*time.Second)
			if inner := c.at(1, l, 10*time.Second); inner != nil {
				inner.(clients.Extender).Extend(c.ctx, time.Second)
				inner.Release(c.ctx)
			}
		})
		s.client("c2", func(c *client) { done(c.at(4, build(c.env), 10*time.Second) != nil && held != nil) })
	}},
	"single-reentrant-resets": {play: func(s *stage, build clients.New, done func(bool)) {
		var held clients.Lease
		s.client("c1", func(c *client) {
			l := build(c.env)
			held = c.at(0, l, 10*time.Second)
			if inner := c.at(1, l, 2*time.Second); inner != nil {
				inner.Release(c.ctx)
			}
		})
		s.client("c2", func(c *client) {
			done(c.at(4, build(c.env), 2*time.Second) != nil && held != nil && c.env.Clock.Now().Before(held.Until()))
		})
	}},
	"single-reentrant": {play: func(s *stage, build clients.New, done func(bool)) {
		var held clients.Lease
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 2*time.Second)
			held = c.at(1.5, l, 2*time.Second)
		})
		s.client("c2", func(c *client) {
			done(c.at(2.5, build(c.env), 2*time.Second) != nil && held != nil && c.env.Clock.Now().Before(held.Until()))
		})
	}},
	"single-token-in-locker": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			lease := c.at(0, l, 10*time.Second)
			c.at(1, l, 10*time.Second)
			done(lease.Release(c.ctx) != nil)
		})
	}},
	"single-token-of-name": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			old := c.at(0, l, 2*time.Second)
			c.at(3, l, 10*time.Second)
			old.Release(c.ctx)
			done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 0)
		})
	}},
	"single-one-end": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			first := c.at(0, l, 10*time.Second)
			c.Until(5 * time.Second)
			l.Acquire(c.ctx, "other", 10*time.Second)
			c.Until(12 * time.Second)
			done(first.Until().After(c.env.Clock.Now()))
		})
	}},
	"watchdog-one-stop": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			first := c.at(0, l, 3*time.Second)
			l.Acquire(c.ctx, "other", 3*time.Second)
			first.Release(c.ctx)
			c.Until(10 * time.Second)
			done(c.env.Nodes[0].Exists(c.ctx, "other").Val() == 0)
		})
	}},
	"watchdog-reacquires": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 3*time.Second)
			s.faults("pause c1 10s")
			c.Until(12 * time.Second)
			done(c.env.Clock.Now().Before(lease.Until()))
		})
		s.client("c2", func(c *client) { c.release(c.at(6, build(c.env), 3*time.Second), nil) })
	}},
	"single-ttl-whole-seconds": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			c.at(0, build(c.env), 700*time.Millisecond)
			done(c.env.Nodes[0].PTTL(c.ctx, "lock").Val() == -1)
		})
	}},
	"single-timer-left": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 10*time.Second).Release(c.ctx)
			lease := c.at(9, l, 10*time.Second)
			c.Until(11 * time.Second)
			done(lease.Release(c.ctx) != nil)
		})
	}},
	"single-stop-unheard": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			lease.Release(c.ctx)
			ctx, cancel := context.WithCancelCause(c.ctx)
			c.env.Clock.AfterFunc(time.Minute, func() { cancel(nil) })
			lease.Release(ctx)
			done(ctx.Err() != nil)
		})
	}},
	"single-lease-reused": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			first := c.at(0, l, 10*time.Second)
			first.Release(c.ctx)
			c.at(1, l, 10*time.Second)
			first.Release(c.ctx)
			done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 0)
		})
	}},
	"single-release-once": {faults: []string{"on request EVALSHA c1->n1 reset"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			lease.Release(c.ctx)
			done(lease.Release(c.ctx) != nil && c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
		})
	}},
	"redlock-release-once": {nodes: 3, faults: []string{"on request EVALSHA c1->n1 reset", "on request EVALSHA c1->n2 reset"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			lease.Release(c.ctx)
			done(lease.Release(c.ctx) != nil && c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
		})
	}},
	"watchdog-sha": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			c.at(0, build(c.env), 3*time.Second) // renewed at 1 s
			c.Until(1500 * time.Millisecond)
			c.env.Nodes[0].ScriptFlush(c.ctx)
			c.Until(8 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(6, build(c.env), 3*time.Second) != nil) })
	}},
	"redlock-release-sha": {nodes: 3, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.release(c.at(0, l, 10*time.Second), nil)
			lease := c.at(1, l, 10*time.Second)
			for _, n := range c.env.Nodes {
				n.ScriptFlush(c.ctx)
			}
			done(lease.Release(c.ctx) != nil)
		})
	}},
	"single-cancelled-counts": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			over, cancel := context.WithCancel(c.ctx)
			cancel()
			for range 16 {
				l.Acquire(over, "lock", 10*time.Second) // which fails
			}
			done(c.at(30, l, 10*time.Second) == nil)
		})
	}},
	"watchdog-seconds": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 2900*time.Millisecond) // renewed at 967 ms
			c.Until(time.Second)
			done(c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val()+500*time.Millisecond)
		})
	}},
	"watchdog-first-period": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.release(c.at(0, l, 30*time.Second), nil)
			c.at(1, l, 3*time.Second)
			c.Until(8 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(6, build(c.env), 3*time.Second) != nil) })
	}},
	"watchdog-last-ttl": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			lease := c.at(0, l, 9*time.Second) // renewed at 3 s
			l.Acquire(c.ctx, "other", time.Second)
			c.Until(3500 * time.Millisecond)
			done(c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val()+time.Second)
		})
	}},
	"single-extend-revives": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			c.env.Nodes[0].Del(c.ctx, "lock")
			done(lease.(clients.Extender).Extend(c.ctx, 10*time.Second) == nil)
		})
	}},
	"single-release-by-wall": {later: []string{"jump c1 +20s"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			c.Until(2 * time.Second)
			lease.Release(c.ctx)
			done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
		})
	}},
	"single-name-cut": {play: func(s *stage, build clients.New, done func(bool)) {
		const name = "orders/of/customers/in/the/north/"
		s.client("c1", func(c *client) {
			l := build(c.env)
			l.Acquire(c.ctx, name+"1", 10*time.Second)
			_, err := l.Acquire(c.ctx, name+"2", 10*time.Second)
			done(err != nil)
		})
	}},
	"single-name-folded": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			l.Acquire(c.ctx, "lock", 10*time.Second)
			_, err := l.Acquire(c.ctx, "Lock", 10*time.Second)
			done(err != nil)
		})
	}},
	"redlock-extend-first-drift": {nodes: 3, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			start := c.env.Clock.Now()
			lease.(clients.Extender).Extend(c.ctx, 40*time.Second)
			done(lease.Until().Sub(start) > 40*time.Second-400*time.Millisecond)
		})
	}},
	"redlock-leaves-unheard": {
		nodes:  3,
		faults: []string{"on reply SETNX n1->c1 delay 1s", "on reply SETNX n2->c1 delay 1s", "on reply SETNX n3->c1 delay 1s", "on reply SET n1->c1 delay 1s", "on reply SET n2->c1 delay 1s", "on reply SET n3->c1 delay 1s"},
		play: func(s *stage, build clients.New, done func(bool)) {
			s.client("c1", func(c *client) {
				ctx, cancel := context.WithCancel(c.ctx)
				c.env.Clock.AfterFunc(100*time.Millisecond, cancel)
				build(c.env).Acquire(ctx, "lock", 10*time.Second)
				done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
			})
		},
	},
	"redlock-drift-capped": {nodes: 3, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			start := c.env.Clock.Now()
			done(c.at(0, build(c.env), 40*time.Second).Until().Sub(start) > 40*time.Second-400*time.Millisecond)
		})
	}},
	"watchdog-renews-on": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			ctx, cancel := context.WithCancel(c.ctx)
			build(c.env).Acquire(ctx, "lock", 3*time.Second)
			cancel()
			c.Until(10 * time.Second)
			done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
		})
	}},
	"watchdog-batch": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 3*time.Second)
			other, _ := l.Acquire(c.ctx, "other", 3*time.Second)
			c.env.Nodes[0].Del(c.ctx, "other")
			c.Until(8 * time.Second)
			done(c.env.Clock.Now().Before(other.Until()))
		})
	}},
	"watchdog-sorted": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 3*time.Second)
			first, _ := l.Acquire(c.ctx, "a", 3*time.Second)
			c.env.Nodes[0].Del(c.ctx, "a")
			c.Until(3500 * time.Millisecond)
			done(c.env.Clock.Now().Before(first.Until()))
		})
	}},
	"watchdog-newest-period": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 3*time.Second)
			l.Acquire(c.ctx, "other", 30*time.Second)
			c.Until(8 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(6, build(c.env), 3*time.Second) != nil) })
	}},
	"watchdog-oldest-period": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			l.Acquire(c.ctx, "other", 30*time.Second)
			c.at(1, l, 3*time.Second)
			c.Until(8 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(6, build(c.env), 3*time.Second) != nil) })
	}},
	"watchdog-error-ends-all": {faults: []string{"on reply EVALSHA n1->c1 reset"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 3*time.Second)
			l.Acquire(c.ctx, "other", 3*time.Second)
			c.Until(8 * time.Second)
			done(c.env.Nodes[0].Exists(c.ctx, "other").Val() == 0)
		})
	}},
	"watchdog-timer-by-name": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			first := c.at(0, l, 3*time.Second)
			first.Release(c.ctx)
			c.at(1, l, 3*time.Second)
			first.Release(c.ctx)
			c.Until(8 * time.Second)
			done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 0)
		})
	}},
	"watchdog-asks-restart": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			c.env.Nodes[0].Set(c.ctx, "other", "another's", 0)
			l := build(c.env)
			c.at(0.1, l, 3*time.Second)
			for range 16 {
				c.env.Clock.Sleep(500 * time.Millisecond)
				l.Acquire(c.ctx, "other", 3*time.Second)
			}
		})
		s.client("c2", func(c *client) { done(c.at(6, build(c.env), 3*time.Second) != nil) })
	}},
	"single-extend-last-token": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			lease := c.at(0, l, 8*time.Second)
			l.Acquire(c.ctx, "other", 8*time.Second)
			done(lease.(clients.Extender).Extend(c.ctx, 8*time.Second) != nil)
		})
	}},
	"single-clears-table": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			lost, _ := l.Acquire(c.ctx, "other", time.Second)
			lease := c.at(0.5, l, 10*time.Second)
			c.Until(2 * time.Second)
			lost.Release(c.ctx)
			lease.Release(c.ctx)
			done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
		})
	}},
	"single-extend-adopts-end":  {faults: []string{"on reply EVAL n1->c1 reset"}, play: adoptsEnd},
	"redlock-extend-adopts-end": {nodes: 3, faults: []string{"on reply EVAL n1->c1 reset", "on reply EVAL n2->c1 reset"}, play: adoptsEnd},
	"single-extend-adopts-ttl": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			lease := c.at(0, l, 8*time.Second)
			lease.(clients.Extender).Extend(c.ctx, 2*time.Second)
			lease.Release(c.ctx)
			lease = c.at(1, l, 8*time.Second)
			done(c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val()+time.Second)
		})
	}},
	"single-extend-stays-lost": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			lease := c.at(0, l, 8*time.Second)
			c.env.Nodes[0].Del(c.ctx, "lock")
			lease.(clients.Extender).Extend(c.ctx, 8*time.Second) // which fails
			done(c.at(1, l, 8*time.Second).(clients.Extender).Extend(c.ctx, 8*time.Second) != nil)
		})
	}},
	"single-skips-over":  {later: []string{"jump n1 -1h"}, play: lateForRelease},
	"redlock-skips-over": {nodes: 3, later: []string{"jump n1 -1h", "jump n2 -1h"}, play: lateForRelease},
	"single-extend-skips-over": {faults: []string{"on reply EVAL n1->c1 reset"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 8*time.Second)
			lease.(clients.Extender).Extend(c.ctx, time.Minute)
			c.Until(9 * time.Second)
			lease.Release(c.ctx)
			done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
		})
	}},
	"watchdog-renews-gt": {later: []string{"jump n1 -1h"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0.5, build(c.env), 3*time.Second) // renewed at 1.5 s
			c.Until(5 * time.Second)
			done(!c.env.Clock.Now().Before(lease.Until()) && c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
		})
	}},
	"single-extend-unreplicated": {replicas: 1, strict: true, later: []string{"cut n1-r1"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(5, build(c.env), 20*time.Second)
			c.Until(20 * time.Second)
			lease.(clients.Extender).Extend(c.ctx, 20*time.Second)
			done(c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val()+time.Second)
		})
	}},
	"watchdog-error-renews": {replicas: 1, strict: true, later: []string{"cut n1-r1"}, play: renewedAway(func(_ *stage, c *client, lease clients.Lease, done func(bool)) {
		done(c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val()+time.Second)
	})},
	"watchdog-error-loses": {replicas: 1, strict: true, later: []string{"cut n1-r1"}, play: renewedAway(func(s *stage, c *client, lease clients.Lease, done func(bool)) {
		s.faults("heal n1-r1")
		c.Until(25 * time.Second)
		lease.Release(c.ctx)
		done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
	})},
	"single-avoids-node": {replicas: 1, strict: true, later: []string{"cut n1-r1"}, play: refusedOnce},
	"single-avoids-name": {replicas: 1, strict: true, later: []string{"cut n1-r1"}, play: refusedOnce},
	"single-closed-by-release": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			over, cancel := context.WithCancel(c.ctx)
			cancel()
			lease := c.at(0, l, 8*time.Second)
			lease.Release(over) // which fails
			lease.Release(c.ctx)
			done(c.at(30, l, 8*time.Second) == nil)
		})
	}},
	"redlock-three-votes": {nodes: 7, faults: []string{"cut c1-n4", "cut c1-n5", "cut c1-n6", "cut c1-n7"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) { done(c.at(0, build(c.env), 10*time.Second) != nil) })
	}},
	"redlock-drift-seconds": {nodes: 3, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			start := c.env.Clock.Now()
			done(c.at(0, build(c.env), 990*time.Millisecond).Until().Sub(start) > 985*time.Millisecond)
		})
	}},
	"single-extend-capped": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), time.Minute)
			lease.(clients.Extender).Extend(c.ctx, 5*time.Minute)
			done(c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val()+time.Minute)
		})
	}},
	"single-one-key": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) { c.at(0, build(c.env), 10*time.Second) })
		s.client("c2", func(c *client) {
			c.Until(time.Second)
			_, err := build(c.env).Acquire(c.ctx, "other", 10*time.Second)
			done(err != nil)
		})
	}},
	"single-release-prefix": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			c.Until(2 * time.Second)
			lease.Release(c.ctx)
		})
		s.client("c2", func(c *client) {
			c.Until(time.Second)
			lease, err := build(c.env).Acquire(c.ctx, "lock2", 10*time.Second)
			if err != nil {
				return
			}
			c.Until(3 * time.Second)
			done(lease.Release(c.ctx) != nil)
		})
	}},
	"single-capped-ttl": {play: func(s *stage, build clients.New, done func(bool)) {
		var held clients.Lease
		s.client("c1", func(c *client) {
			held = c.at(0, build(c.env), 5*time.Minute)
			c.Until(2 * time.Minute)
		})
		s.client("c2", func(c *client) { done(c.at(90, build(c.env), 10*time.Second) != nil && held != nil) })
	}},
	"single-ttl-of-first": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 2*time.Second).Release(c.ctx)
			lease := c.at(1, l, 10*time.Second)
			done(c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val()+time.Second)
		})
	}},
	"single-ttl-longest": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 10*time.Second).Release(c.ctx)
			c.at(1, l, 2*time.Second)
			done(c.env.Nodes[0].PTTL(c.ctx, "lock").Val() > 3*time.Second)
		})
	}},
	"single-polls-on": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 2*time.Second)
			ended, cancel := context.WithCancel(c.ctx)
			cancel()
			_, err := l.Acquire(ended, "lock", 10*time.Second)
			done(err == nil)
		})
	}},
	"single-token-prefix": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			first := c.at(0, l, time.Second)
			for i := range 8 {
				c.at(float64(2+i), l, time.Second).Release(c.ctx)
			}
			c.at(10, l, 10*time.Second)
			done(first.Release(c.ctx) == nil)
		})
	}},
	"single-microseconds-32": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 2*time.Hour)
			done(c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val()+time.Hour)
		})
	}},
	"single-one-at-a-time": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 10*time.Second)
			_, err := l.Acquire(c.ctx, "other", 10*time.Second)
			done(err != nil)
		})
	}},
	"single-wait-own-client": {replicas: 1, later: []string{"cut n1-r1"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.release(c.at(0, l, 10*time.Second), nil)
			done(c.at(1.5, l, 10*time.Second) != nil)
		})
	}},
	"single-letters-only": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) { c.at(0, build(c.env), 10*time.Second) })
		s.client("c2", func(c *client) {
			c.Until(time.Second)
			_, err := build(c.env).Acquire(c.ctx, "lock2", 10*time.Second)
			done(err != nil)
		})
	}},
	"single-ttl-in-key": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) { c.at(0, build(c.env), 10*time.Second) })
		s.client("c2", func(c *client) { done(c.at(1, build(c.env), 5*time.Second) != nil) })
	}},
	"single-extend-skips": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			c.Until(2 * time.Second)
			if e, ok := lease.(clients.Extender); ok {
				done(e.Extend(c.ctx, 10*time.Second) == nil && c.env.Nodes[0].PTTL(c.ctx, "lock").Val() < 9*time.Second)
			}
		})
	}},
	"redlock-extend-rotates": {nodes: 3, later: []string{"cut c1-n1", "cut c1-n2"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			c.Until(2 * time.Second)
			lease.(clients.Extender).Extend(c.ctx, 10*time.Second)
			s.faults("heal c1-n1", "heal c1-n2")
			c.Until(4 * time.Second)
			lease.Release(c.ctx)
			done(c.env.Nodes[0].Exists(c.ctx, "lock").Val() > 0)
		})
	}},
	"watchdog-dozen": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			c.at(0, build(c.env), 3*time.Second)
			c.Until(30 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(20, build(c.env), 3*time.Second) != nil) })
	}},
	"watchdog-refused-stops": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 3*time.Second)
			c.at(1, l, 3*time.Second)
			c.Until(8 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(5, build(c.env), 3*time.Second) != nil) })
	}},
	"watchdog-one-lost": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.at(0, l, 3*time.Second)
			l.Acquire(c.ctx, "other", 3*time.Second)
			c.env.Nodes[0].Del(c.ctx, "other")
			c.Until(8 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(6, build(c.env), 3*time.Second) != nil) })
	}},
	"single-wait-clean-up-cancelled": {replicas: 1, later: []string{"cut n1-r1"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			c.Until(1500 * time.Millisecond)
			ended, cancel := context.WithCancel(c.ctx)
			c.env.Clock.AfterFunc(500*time.Millisecond, cancel)
			build(c.env).Acquire(ended, "lock", 10*time.Second)
			s.faults("heal n1-r1")
		})
		s.client("c2", func(c *client) { done(c.at(4, build(c.env), 10*time.Second) == nil) })
	}},
	"single-wait-extend": {replicas: 1, later: []string{"cut n1-r1"}, lone: true, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			c.Until(2 * time.Second)
			lease.(clients.Extender).Extend(c.ctx, 10*time.Second)
			done(c.env.Clock.Until(lease.Until()) > 8*time.Second)
		})
	}},
	"single-wait-renews": {replicas: 1, later: []string{"cut n1-r1"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 3*time.Second)
			c.Until(5 * time.Second) // the replica has heard of no renewal after the first second
			done(c.env.Clock.Now().Before(lease.Until()))
		})
	}},
	"redlock-renew-no-drift": {nodes: 3, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			c.Until(5 * time.Second)
			done(c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val()-50*time.Millisecond)
		})
	}},
	"single-extend-error-loses": {faults: []string{"on reply EVALSHA n1->c1 reset"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			err := lease.(clients.Extender).Extend(c.ctx, 10*time.Second)
			done(errors.Is(err, clients.ErrNotHeld) && c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
		})
	}},
	"single-extend-by-wall": {later: []string{"jump c1 +12s"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			c.Until(2 * time.Second)
			err := lease.(clients.Extender).Extend(c.ctx, 10*time.Second)
			done(errors.Is(err, clients.ErrNotHeld) && c.env.Nodes[0].Exists(c.ctx, "lock").Val() == 1)
		})
	}},
	"single-milliseconds-32": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 50*24*time.Hour)
			done(c.env.Clock.Until(lease.Until()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val()+time.Hour)
			c.release(lease, nil)
		})
	}},
	"single-signs-folded": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) { build(c.env).Acquire(c.ctx, "orders:7", 10*time.Second) })
		s.client("c2", func(c *client) {
			c.Until(time.Second)
			_, err := build(c.env).Acquire(c.ctx, "orders_7", 10*time.Second)
			done(errors.Is(err, clients.ErrNotAcquired))
		})
	}},
	"single-wait-seconds": {replicas: 1, play: relied(1500*time.Millisecond, 1.2)},
	"single-wait-leaves": {replicas: 1, later: []string{"cut n1-r1"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			c.at(1.5, build(c.env), 10*time.Second)
			s.faults("heal n1-r1")
		})
		s.client("c2", func(c *client) { done(c.at(4, build(c.env), 10*time.Second) == nil) })
	}},
	"single-clean-up-cancelled": {later: []string{"delay c1->n1 1s"}, play: cancelled},
	"single-goes-on":            {later: []string{"delay c1->n1 1s"}, play: cancelled},
	"single-release-told-ok":    {play: lateRelease},
	"single-woken-owns": {play: func(s *stage, build clients.New, done func(bool)) {
		var held clients.Lease
		s.client("c1", func(c *client) {
			l := build(c.env)
			c.release(c.at(0, l, 10*time.Second), nil) // nobody waits
			held = c.at(0.5, l, 10*time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(1, build(c.env), 10*time.Second) != nil && held != nil) })
	}},
	"single-waits-for-message": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) { c.at(0, build(c.env), 2*time.Second) })
		waits := true
		s.client("c2", func(c *client) {
			c.at(1, build(c.env), 2*time.Second)
			waits = false
		})
		s.client("c3", func(c *client) {
			c.Until(10 * time.Second)
			done(waits)
			c.env.Nodes[0].Publish(c.ctx, "lock:free", "1") // so that the story ends
		})
	}},

	"redlock-recount": {nodes: 3, faults: []string{"cut c1-n2", "cut c1-n3"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) { done(c.at(0, build(c.env), 10*time.Second) != nil) })
	}},
	"redlock-shifted-tokens": {nodes: 3, play: left([]int{0}, 2)},
	"redlock-drift-added": {nodes: 3, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			start := c.env.Clock.Now()
			done(c.at(0, build(c.env), 10*time.Second).Until().Sub(start) > 10*time.Second)
		})
	}},
	"redlock-stale-validity": {nodes: 3, faults: []string{"on reply INCR n1->c1 delay 3s"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			start := c.env.Clock.Now()
			done(c.at(0, build(c.env), 10*time.Second).Until().Sub(start) > 10*time.Second)
		})
	}},
	"redlock-from-last-round": {nodes: 3, faults: []string{"crash n2", "cut c1-n3"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.faultsAt(200*time.Millisecond, "restart n2")
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			done(lease != nil && lease.Until().Sub(c.env.Clock.Now()) > c.env.Nodes[0].PTTL(c.ctx, "lock").Val())
		})
	}},
	"redlock-leaves-failed":    {nodes: 3, play: left([]int{1, 2}, 0)},
	"redlock-release-majority": {nodes: 3, play: left(nil, 2)},
	"redlock-same-token": {
		nodes: 3,
		later: []string{"on request SET c1->n2 reset", "on request SET c1->n3 reset", "on request EVALSHA c1->n2 delay 1s", "on request EVALSHA c1->n3 delay 1s"},
		play: func(s *stage, build clients.New, done func(bool)) {
			var held clients.Lease
			s.client("c1", func(c *client) {
				l := build(c.env)
				c.release(c.at(0, l, 10*time.Second), nil)
				held = c.at(1.5, l, 10*time.Second)
			})
			s.client("c2", func(c *client) { done(c.at(4, build(c.env), 10*time.Second) != nil && held != nil) })
		},
	},
	"redlock-sample": {nodes: 5, play: func(s *stage, build clients.New, done func(bool)) {
		relied(20*time.Second, 1)(s, build, done)
		s.client("c3", func(c *client) {
			for k := range 5 {
				done(c.at(float64(2*k+3), build(c.env), time.Second) != nil)
			}
		})
	}},
	"redlock-first-three": {nodes: 5, faults: []string{"crash n1", "crash n2"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) { done(c.at(0, build(c.env), 10*time.Second) == nil) })
	}},
	"redlock-collects": {nodes: 3, play: func(s *stage, build clients.New, done func(bool)) {
		var held clients.Lease
		s.client("other", func(c *client) {
			c.env.Nodes[1].Set(c.ctx, "lock", "another's", 600*time.Millisecond)
			c.env.Nodes[2].Set(c.ctx, "lock", "another's", 2*time.Second)
		})
		s.client("c1", func(c *client) { held = c.at(0.5, build(c.env), 2*time.Second) })
		s.client("c2", func(c *client) {
			done(c.at(2.55, build(c.env), 10*time.Second) != nil && held != nil && c.env.Clock.Now().Before(held.Until()))
		})
	}},
	"redlock-extend-counts-earlier": {nodes: 3, later: []string{"cut c1-n2", "cut c1-n3"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.faultsAt(3*time.Second, "cut c1-n1", "heal c1-n2")
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 10*time.Second)
			c.Until(2 * time.Second)
			lease.(clients.Extender).Extend(c.ctx, 10*time.Second)
			c.Until(4 * time.Second)
			done(lease.(clients.Extender).Extend(c.ctx, 10*time.Second) == nil)
		})
	}},
	"redlock-extend-adds": {nodes: 3, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 8*time.Second)
			c.Until(4 * time.Second)
			lease.(clients.Extender).Extend(c.ctx, 8*time.Second)
			done(c.env.Clock.Until(lease.Until()) > 8*time.Second)
		})
	}},

	"single-until-rounded":   {play: relied(1500*time.Millisecond, 1.7)},
	"single-until-wall":      {later: []string{"jump c1 -1m"}, play: relied(5*time.Second, 7)},
	"watchdog-uncompared":    {play: losesKey},
	"watchdog-reply-ignored": {play: losesKey},
	"watchdog-recreates": {later: []string{"cut c1-n1"}, play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 3*time.Second)
			c.Until(12 * time.Second)
			done(c.env.Clock.Now().Before(lease.Until()))
		})
		s.client("c2", func(c *client) {
			c.release(c.at(5, build(c.env), 3*time.Second), nil)
			s.faults("heal c1-n1")
		})
	}},
	"watchdog-recreates-late": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), 12*time.Second) // renewed after 4 s
			c.Until(5 * time.Second)
			s.faults("delay c1->n1 8s") // from 8 s to 16 s
			c.Until(11500 * time.Millisecond)
			s.faults("delay c1->n1 0s")
			c.Until(12 * time.Second)
			c.release(lease, nil)
			c.Until(20 * time.Second)
		})
		s.client("c2", func(c *client) { done(c.at(17, build(c.env), 10*time.Second) == nil) })
	}},
	"watchdog-from-reply": {later: []string{"on reply EVAL n1->c1 delay 2s"}, play: func(s *stage, build clients.New, done func(bool)) {
		var held clients.Lease
		s.client("c1", func(c *client) {
			held = c.at(0, build(c.env), 6*time.Second)
			c.Until(20 * time.Second)
		})
		s.client("c2", func(c *client) {
			c.Until(5 * time.Second)
			s.faults("cut c1-n1")
			lease := c.at(9, build(c.env), 6*time.Second)
			done(lease != nil && held != nil && c.env.Clock.Now().Before(held.Until()))
		})
	}},
	"watchdog-by-wall":      {later: []string{"jump c1 -1m"}, play: keptBeyond},
	"watchdog-until-early":  {later: []string{"cut c1-n1"}, play: relied(6*time.Second, 7)},
	"watchdog-fixed-period": {play: keptBeyond},
	"watchdog-least-period": {play: keptBeyond},

	"fenced-before": {faults: []string{"on request SET c1->n1 delay 1s", "on request EVAL c1->n1 delay 1s"}, play: func(s *stage, build clients.New, done func(bool)) {
		var first int64
		s.client("c1", func(c *client) {
			if lease := c.at(0, build(c.env), 8*time.Second); lease != nil {
				done(lease.(clients.Fenced).Fence() <= first)
			}
		})
		s.client("c2", func(c *client) {
			lease := c.at(0.2, build(c.env), 8*time.Second)
			first = lease.(clients.Fenced).Fence()
			lease.Release(c.ctx)
		})
	}},
	"fenced-wall": {faults: []string{"jump c2 -1m"}, play: fencedInTurn(time.Second, 3)},
	"fenced-node-time": {later: []string{"jump n1 -1m"}, play: func(s *stage, build clients.New, done func(bool)) {
		var first int64
		s.client("c1", func(c *client) {
			lease := c.at(0, build(c.env), time.Second)
			first = lease.(clients.Fenced).Fence()
			lease.Release(c.ctx)
		})
		s.client("c2", func(c *client) { done(c.at(3, build(c.env), time.Second).(clients.Fenced).Fence() <= first) })
	}},
	"fenced-expires": {play: fencedInTurn(time.Second, 3)},
	"fenced-hour":    {later: []string{"jump n1 +2h"}, play: fencedInTurn(time.Second, 3)},
	"fenced-last-fence": {play: func(s *stage, build clients.New, done func(bool)) {
		s.client("c1", func(c *client) {
			l := build(c.env)
			used, _ := l.Acquire(c.ctx, "other", 8*time.Second)
			used.Release(c.ctx)
			lease := c.at(0, l, 8*time.Second)
			l.Acquire(c.ctx, "other", 8*time.Second)
			done(lease.(clients.Fenced).Fence() != 1)
		})
	}},
	"fenced-after": {faults: []string{"drift c1 -400000ppm", "on request INCR c1->n1 delay 2400ms"}, play: func(s *stage, build clients.New, done func(bool)) {
		var first, second clients.Lease
		s.client("c1", func(c *client) {
			first = c.at(0, build(c.env), 2*time.Second)
			c.Until(3 * time.Second)
			done(first != nil && second != nil && first.(clients.Fenced).Fence() > second.(clients.Fenced).Fence())
		})
		s.client("c2", func(c *client) { second = c.at(2.2, build(c.env), 2*time.Second) })
	}},
}

// Each mistake does harm where the lock that it is like does none.
func TestMistakesDoHarm(t *testing.T) {
	for _, v := range broken.Mistakes() {
		h, ok := harms[v.Name]
		if !ok {
			t.Errorf("no story says what harm %s does", v.Name)
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			if !h.run(t, v.New) {
				t.Error("it does no harm")
			}
			if !h.lone && h.run(t, find(t, v.Like[0])) {
				t.Errorf("%s does harm, too", v.Like[0])
			}
		})
	}
}
