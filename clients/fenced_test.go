package clients_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/clients"
	"lockstep/sim/history"
)

func fence(t rapid.TB, lease clients.Lease) int64 {
	f, ok := lease.(clients.Fenced)
	if !ok {
		t.Errorf("%T has no fence", lease)
		return 0
	}
	return f.Fence()
}

// Only a lock that promises fences has them: the worker asks each lease for one.
func TestWhoIsFenced(t *testing.T) {
	ofEach(t, func(t *testing.T, lock clients.Lock, n int) {
		play(t, n, func(s *stage) {
			s.client("c1", func(c *client) {
				lease := c.acquire(lock.New(c.env), 10*time.Second)
				if _, got := lease.(clients.Fenced); got != (lock.Name == "fenced") {
					t.Errorf("fenced: %v", got)
				}
			})
		})
	})
}

// Fences count the grants, whoever gets them and however the leases end. None is left out, so a request that is refused draws none.
func TestFencesCountGrants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"release", "expire", "contend"}), 1, 12).Draw(t, "steps")
		r := play(t, 1, func(s *stage) {
			s.client("c1", func(c *client) {
				l, rival := clients.NewFenced(c.env), clients.NewFenced(c.env)
				for i, how := range steps {
					lease := c.acquire(l, time.Second)
					l, rival = rival, l
					if got, want := fence(t, lease), int64(i+1); got != want {
						t.Errorf("%v: grant %d has fence %d", steps[:i+1], want, got)
					}
					switch how {
					case "release":
						c.release(lease, nil)
					case "contend":
						c.refused(l, time.Second)
						c.refused(l, time.Second)
						c.release(lease, nil)
					case "expire":
						c.env.Clock.Sleep(2 * time.Second)
					}
				}
			})
		})
		for _, e := range r.events {
			if e.Kind == history.State && e.Key == "lock:fence" && e.Until != history.NoEnd {
				t.Errorf("the counter ends at %v, and would begin again", e.Until)
			}
		}
	})
}

// The fences of one lock do not depend on those of another.
func TestFencesPerLock(t *testing.T) {
	play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			l := clients.NewFenced(c.env)
			for want := range int64(3) {
				for _, name := range []string{"a", "b"} {
					lease, err := l.Acquire(c.ctx, name, 10*time.Second)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
					if got := fence(t, lease); got != want+1 {
						t.Errorf("%s: fence %d, want %d", name, got, want+1)
					}
					c.release(lease, nil)
				}
			}
		})
	})
}

// Lock and fence are obtained with one request. Between two requests another client could draw a higher fence and be granted the
// lock earlier. A second request may be needed to load the script on the node; it does the same.
func TestFenceInOneStep(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			l := clients.NewFenced(c.env)
			c.acquire(l, time.Second)
			c.Until(2 * time.Second)
			c.acquire(l, time.Second)
		})
	})
	var sent []string
	for _, text := range r.texts("n1") {
		if word, args, _ := strings.Cut(text, " "); word != "HELLO" {
			_, args, _ = strings.Cut(args, " ") // the digest of the script
			sent = append(sent, word+" "+args)
		}
	}
	same(t, "requests", sent, []string{
		"EVALSHA 2 lock {lock}:fence c1#1 1000",
		"EVAL 2 lock {lock}:fence c1#1 1000",
		"EVALSHA 2 lock {lock}:fence c1#2 1000",
	})
	var states []string
	for _, e := range r.events {
		if e.Kind == history.State && e.At < 500*time.Millisecond {
			states = append(states, e.Op+" "+e.Key)
		}
	}
	same(t, "changes", states, []string{"set lock", "set {lock}:fence"})
}
