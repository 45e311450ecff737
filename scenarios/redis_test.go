package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/nodes"
	"lockstep/sim"
)

// alone runs the test that calls it in a process of its own, and says whether this is that process: go-redis pools timers
// for the whole process, so a run on real servers must not come after one in a bubble. Where there is no redis-server the
// test is skipped; in CI it fails.
func alone(t *testing.T) bool {
	t.Helper()
	const self = "LOCKSTEP_TEST_ALONE"
	if os.Getenv(self) == t.Name() {
		quietRedis()
		return true
	}
	if err := nodes.FindServer(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v", "-test.parallel=3"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	c := exec.Command(os.Args[0], args...)
	// What it leaves behind in its own directory for temporary files is easy to find.
	tmp := t.TempDir()
	c.Env = append(os.Environ(), self+"="+t.Name(), "TMPDIR="+tmp)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return false
}

// The speeds at which a scenario still is the one that it describes: delays and timeouts that a lock keeps for itself do
// not scale, and a busy machine makes everybody wait a little.
const (
	fast = 20 // a TTL of 500 ms
	calm = 5
	slow = 2
)

// onRedis lists what of the catalogue is run on real servers, and how fast.
var onRedis = map[string]float64{
	"clock-jump-back/redlock":                 calm,
	"clock-jump-back/redlock/only-reachable":  calm,
	"clock-jump/redlock":                      calm,
	"crash-restart-3/redlock":                 calm,
	"crash-restart-5/redlock":                 calm,
	"crash-restart-5/redlock/durable":         calm,
	"delay-to-lock-server/redlock":            calm,
	"delay-to-lock-server/redlock/replies":    calm,
	"delay-to-resource/single":                fast,
	"delay-to-resource/redlock":               fast,
	"delay-to-resource/fenced":                fast,
	"delayed-restart/redlock":                 calm,
	"delayed-restart/redlock/too-short":       calm,
	"fence-zombie-first/fenced":               fast,
	"fence-zombie-first/fenced/write-at-once": fast,
	"pause-after-acquire/single":              fast,
	"pause-after-acquire/fenced":              fast,
	"pause-after-acquire/redlock":             fast,
	"pause-after-acquire/redlock-sequential":  fast,
	"pause-after-check/single":                fast,
	"pause-after-check/redlock":               fast,
	"pause-fenced/fenced":                     fast,
	"pause-fenced/fenced/unchecked":           fast,
	"pause-fenced/single":                     fast,
	"redlock-calm/redlock":                    fast,
	"redlock-calm/redlock-sequential":         fast,
	"redlock-contended/redlock":               calm,
	"redlock-contended/redlock-sequential":    calm,
	"redlock-majority-down/redlock":           calm,
	"redlock-minority-down/redlock":           calm,
	"redlock-partition-halves/redlock":        slow,
}

// Real Redis gives the verdicts of simulation, property by property.
func TestOnRedis(t *testing.T) {
	if !alone(t) {
		return
	}
	for name, speed := range onRedis {
		if testing.Short() && speed != fast {
			continue
		}
		s, r := find(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build, err := clients.Find(r.Lock)
			if err != nil {
				t.Fatal(err)
			}
			var o *Outcome
			// A busy machine can keep a run from the states that it must reach, since Redlock gives a node 50 ms and no
			// more; then it proves nothing. It can also keep the second client from getting what it should not get; then the
			// lock was lucky. Both deserve another try. A violation that should not be does not.
			for try := 1; try <= 4 && (o == nil || o.Result.Verdict == checker.Inconclusive || lucky(o)); try++ {
				if o != nil {
					t.Logf("before try %d: %s", try, strings.Join(append(o.Unexpected(), o.Result.Unmet...), "; "))
				}
				if o, err = OnRedis(t.Context(), s, r, build, 1, speed); err != nil {
					t.Fatal(err)
				}
			}
			if len(o.Result.Unmet) > 0 {
				t.Errorf("nothing is proved: %s\n%s", strings.Join(o.Result.Unmet, "; "), o.Timeline())
			}
			if diffs := o.Unexpected(); len(diffs) > 0 {
				t.Errorf("%s\n%s", strings.Join(diffs, "; "), o.Timeline())
			}
		})
	}
}

// lucky says whether something that was expected to be violated was not, and nothing else was.
func lucky(o *Outcome) bool {
	for _, p := range checker.Properties() {
		if o.Result.Status(p) == checker.Violated && o.Run.Expected(p) != checker.Violated {
			return false
		}
	}
	return o.Result.Verdict == checker.Safe && o.ExpectedVerdict() == checker.Unsafe
}

func TestOnRedisRefuses(t *testing.T) {
	s, r := find(t, "pause-after-acquire/single")
	ctx := t.Context()
	_, err := OnRedis(ctx, s, r, clients.NewSingle, 1, 25)
	if err == nil || !strings.Contains(err.Error(), "TTL of 10s is 400ms") || !strings.Contains(err.Error(), "greatest speed for this run is 20") {
		t.Errorf("a TTL that is too short: %v", err)
	}
	if _, err := OnRedis(ctx, s, r, clients.NewSingle, 1, 0); err == nil || !strings.Contains(err.Error(), "speed 0") {
		t.Errorf("no speed: %v", err)
	}
	s, err = Parse("drift.txtar", []byte("# A drift.\n\nclient c1\n  acquire\nnemesis\n  at 1s drift c1 +5ppm\n\n-- single nodes=1 --\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = OnRedis(ctx, s, s.Runs[0], clients.NewSingle, 1, 1)
	if !errors.Is(err, nodes.ErrSimOnly) || !strings.Contains(err.Error(), "sim only: drift c1 +5ppm") {
		t.Errorf("a drift: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	s, r = find(t, "pause-after-acquire/single")
	if _, err := OnRedis(ctx, s, r, clients.NewSingle, 1, 20); !errors.Is(err, nodes.ErrNoServer) {
		t.Errorf("without redis-server: %v", err)
	}
}

// However a run ends, nothing of it is left.
func TestOnRedisLeavesNothing(t *testing.T) {
	if !alone(t) {
		return
	}
	s, r := find(t, "redlock-calm/redlock")
	before := runtime.NumGoroutine()
	clean := func(t *testing.T) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			dirs, _ := os.ReadDir(os.TempDir())
			more := runtime.NumGoroutine() - before
			if len(dirs) == 0 && more <= 1 && children(t) == "" { // 1 is that of this subtest
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("left behind: %d goroutines, processes %q, directories %v\n%s", more, children(t), dirs, sim.Stacks())
			}
		}
	}
	t.Run("after the run", func(t *testing.T) {
		if _, err := OnRedis(t.Context(), s, r, clients.NewRedlock, 1, fast); err != nil {
			t.Error(err)
		}
		clean(t)
	})
	t.Run("after the end of its context", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := OnRedis(ctx, s, r, clients.NewRedlock, 1, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("it took %v to notice", d)
		}
		clean(t)
	})
	t.Run("after a panic of the lock", func(t *testing.T) {
		_, err := OnRedis(t.Context(), s, r, func(clients.Env) clients.Locker { return panics{} }, 1, fast)
		if err == nil || !strings.Contains(err.Error(), "panic: as ordered") || !strings.Contains(err.Error(), "panics.Acquire") {
			t.Errorf("got %v", err)
		}
		clean(t)
	})
	t.Run("after a lock that never ends", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := OnRedis(ctx, s, r, func(clients.Env) clients.Locker { return waits{} }, 1, fast); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		clean(t)
	})
}

// children lists the processes that this one has started and that have not ended; nothing where /proc does not tell.
func children(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		pids, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		all.Write(pids)
	}
	return strings.TrimSpace(all.String())
}

type panics struct{}

func (panics) Acquire(context.Context, string, time.Duration) (clients.Lease, error) {
	panic("as ordered")
}

type waits struct{}

func (waits) Acquire(ctx context.Context, _ string, _ time.Duration) (clients.Lease, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestFaster(t *testing.T) {
	const lanes = `client c1
  acquire within %s
  pause %s
  sleep %s
  write A
  check
  until %s
  release
nemesis
  pause c1 %s
  at %s jump n1 -%s
  at %s delay c1->n1 %s
  at %s heal
  when c1 acquired +%s on request SET c1->n1 delay %s
  when c1 acquired crash n1
must a request from c1 to n1 takes over %s
must c1 acquires

-- single nodes=1 ttl=%s --
`
	text := func(d string) string {
		return "# A title.\n\n" + fmt.Sprintf(lanes, d, d, d, d, d, d, d, d, d, d, d, d, d, d)
	}
	parse := func(text string) (*Scenario, Run) {
		t.Helper()
		s, err := Parse("x.txtar", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s, s.Resolve(s.Runs[0])
	}
	s, r := parse(text("20s"))
	before := s.String()
	_, want := parse(text("4s"))
	if got := r.faster(5); !got.equal(want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if s.String() != before {
		t.Error("the scenario itself has changed")
	}
}
