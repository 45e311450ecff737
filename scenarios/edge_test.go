package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/checker"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// bisect finds the least value above lo, up to hi, at which something is unsafe, by bisection: how fast a clock may run, or how
// late a message may come, before a lock breaks. Unsafe must be false at lo, true at hi, and change once in between; bisect checks
// only the ends. The error is that of unsafe, or says which end is wrong.
func bisect(lo, hi int64, unsafe func(int64) (bool, error)) (int64, error) {
	if lo >= hi {
		return 0, fmt.Errorf("there is no edge between %d and %d", lo, hi)
	}
	for _, end := range []int64{lo, hi} {
		broken, err := unsafe(end)
		switch {
		case err != nil:
			return 0, fmt.Errorf("at %d: %w", end, err)
		case broken && end == lo:
			return 0, fmt.Errorf("it is unsafe at %d already", lo)
		case !broken && end == hi:
			return 0, fmt.Errorf("it is safe up to %d", hi)
		}
	}
	for hi-lo > 1 {
		middle := lo + (hi-lo)/2
		broken, err := unsafe(middle)
		if err != nil {
			return 0, fmt.Errorf("at %d: %w", middle, err)
		}
		if broken {
			hi = middle
		} else {
			lo = middle
		}
	}
	return hi, nil
}

func TestBisect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Int64Range(-1000, 1000).Draw(t, "lo")
		hi := lo + rapid.Int64Range(1, 1<<40).Draw(t, "range")
		want := rapid.Int64Range(lo+1, hi).Draw(t, "edge")
		asked := map[int64]int{}
		got, err := bisect(lo, hi, func(i int64) (bool, error) {
			asked[i]++
			return i >= want, nil
		})
		if got != want || err != nil {
			t.Fatalf("got %d, %v, want %d", got, err, want)
		}
		if len(asked) > 43 {
			t.Fatalf("it took %d steps", len(asked))
		}
		for i, n := range asked {
			if n > 1 || i < lo || i > hi {
				t.Fatalf("asked %d times about %d", n, i)
			}
		}
	})
	for name, c := range map[string]struct {
		lo, hi int64
		unsafe func(int64) (bool, error)
		want   string
	}{
		"unsafe from the start": {0, 10, func(int64) (bool, error) { return true, nil }, "it is unsafe at 0 already"},
		"safe to the end":       {0, 10, func(int64) (bool, error) { return false, nil }, "it is safe up to 10"},
		"no range":              {10, 10, func(int64) (bool, error) { return false, nil }, "there is no edge between 10 and 10"},
		"an error": {0, 10, func(i int64) (bool, error) {
			if i == 5 {
				return false, errors.New("as ordered")
			}
			return i > 4, nil
		}, "at 5: as ordered"},
	} {
		if _, err := bisect(c.lo, c.hi, c.unsafe); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// drift is a run in which the clock of n3 is fast, and c2 asks for the lock shortly before the lease of c1 is over. It has
// asked before, and so has its connections; both stay, so that what they hold ends by the clock only.
const drift = `# The clock of a node is fast.

ttl %v
client c1
  acquire
  stay
client c2
  until 10ms
  acquire
  until %v
  acquire
  stay
nemesis
  cut c1-n4
  cut c1-n5
  drift n3 %+dppm
must c1 holds exactly n1 n2 n3

-- redlock nodes=5 --
`

// Redlock takes one hundredth of the TTL and 2 ms off the validity for the error of clocks (redlock-rb; no other source gives
// a formula). The least rate at which it breaks is the one that uses this up, and what the requests take:
//
//	TTL / (1 + rate) + latency = TTL - TTL/100 - 2ms
//
// so that it moves with the TTL.
func TestDriftEdge(t *testing.T) {
	play.QuietRedis()
	for _, ttl := range []time.Duration{10 * time.Second, time.Second} {
		edge, least, most := driftEdge(t, ttl), allowance(ttl), rateOf(ttl, validity(ttl)-latencies)
		t.Logf("with a TTL of %v a clock that is %d ppm fast is too fast; the allowance of %v is for %d ppm", ttl, edge, ttl-validity(ttl), least)
		if edge < least || edge > most {
			t.Errorf("with a TTL of %v the edge is at %d ppm, want it between %d and %d", ttl, edge, least, most)
		}
	}
}

// driftEdge is the least rate, in ppm, at which two clients hold.
func driftEdge(t *testing.T, ttl time.Duration) int64 {
	t.Helper()
	edge, err := bisect(0, 100_000, func(ppm int64) (bool, error) { return breaksByDrift(t, ttl, validity(ttl), ppm) })
	if err != nil {
		t.Fatalf("TTL %v: %v", ttl, err)
	}
	return edge
}

// allowance is the rate, in ppm, at which a key ends with the validity of its lease, if messages take no time.
func allowance(ttl time.Duration) int64 { return rateOf(ttl, validity(ttl)) }

func rateOf(ttl, left time.Duration) int64 { return int64(1e6 * (float64(ttl)/float64(left) - 1)) }

func validity(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// latencies is what messages may add to the edge: the request of c1, then connections, the request and the reply of c2.
const latencies = 10 * time.Millisecond

// breaksByDrift reports whether c2 gets the lock in any of the last milliseconds of the lease of c1. Each is a run of its own: a
// client that asks every millisecond finds its own last try on n4 and n5.
func breaksByDrift(t *testing.T, ttl, validity time.Duration, ppm int64) (bool, error) {
	for late := range latencies / time.Millisecond {
		s, err := script.Parse("drift.txtar", fmt.Appendf(nil, drift, ttl, validity-late*time.Millisecond, ppm))
		if err != nil {
			return false, err
		}
		o := simulated(t, s, s.Runs[0], 1)
		if unmet := slices.DeleteFunc(o.Result.Unmet, func(s string) bool { return strings.Contains(s, "drift n3 +0ppm") }); len(unmet) > 0 {
			return false, errors.New(strings.Join(unmet, "; "))
		}
		for _, v := range o.Result.Violations {
			if v.Property != checker.LeaseExclusion || v.Assumption != checker.BoundedClockError {
				return false, fmt.Errorf("%s: %s (%s broken)", v.Property, v.What, v.Assumption)
			}
		}
		if o.Result.Status(checker.LeaseExclusion) == checker.Violated {
			return true, nil
		}
	}
	return false, nil
}

// isolated is a run in which a primary with min-replicas has been cut off at 1s, and a client on its side asks it for the lock.
const isolated = `# A client asks an isolated primary.

client c1
  until 500ms
  acquire
  release
  until %v
  acquire
  stay
nemesis
  at 1s cut n1-r1
  at 2s promote r1

-- single nodes=1 replicas=1 min-replicas=1 --
`

// TestIsolatedPrimary: with min-replicas a primary that has lost its replica grants for a while, and then no more. It counts in
// whole seconds since the last acknowledgement, of which there is one a second.
func TestIsolatedPrimary(t *testing.T) {
	play.QuietRedis()
	window := isolatedWindow(t)
	t.Logf("it grants for %v after it was cut off", window)
	if window < 9*time.Second || window > 12*time.Second {
		t.Errorf("it grants for %v", window)
	}
}

// isolatedWindow is how long after it was cut off the primary still grants a lock.
func isolatedWindow(t *testing.T) time.Duration {
	t.Helper()
	refused, err := bisect(2000, 60_000, func(ms int64) (bool, error) {
		s, err := script.Parse("isolated.txtar", fmt.Appendf(nil, isolated, time.Duration(ms)*time.Millisecond))
		if err != nil {
			return false, err
		}
		o := simulated(t, s, s.Runs[0], 1)
		granted := slices.ContainsFunc(o.History.Events, func(e history.Event) bool {
			return e.Kind == history.State && e.Op == history.Set && e.Process == "n1" && e.By == "c1" && e.At > 2*time.Second
		})
		return !granted, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(refused)*time.Millisecond - time.Second
}
