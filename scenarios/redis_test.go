package scenarios

import (
	"context"
	"errors"
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
				if o, err = onServers(t.Context(), s, r, build, 1, speed); err != nil {
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

// A counter is one more server; a node without persistence forgets; a client that stays is not waited for.
func TestOnRedisServers(t *testing.T) {
	if !alone(t) {
		return
	}
	const counting = `# Two clients count, and a node forgets.

ttl 5s
client c1
  repeat 20 increment
  until 2s
  acquire
  stay
client c2
  repeat 20 increment
nemesis
  at 3s crash n1
  at 3500ms restart n1
must n1 drops the key of c1 early

-- single nodes=1 persistence=none resource=counter --
`
	s, err := Parse("counting.txtar", []byte(counting))
	if err != nil {
		t.Fatal(err)
	}
	o, err := onServers(t.Context(), s, s.Runs[0], clients.NewSingle, 1, calm)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, e := range o.History.Events {
		if e.Process == resourceName && e.Kind == sim.State && e.Key == clients.CounterKey {
			last = e.Value
		}
	}
	if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 || last != "40" {
		t.Errorf("%s; the counter is %q, want 40\n%s", strings.Join(diffs, "; "), last, o.Timeline())
	}
}

func TestOnRedisRefuses(t *testing.T) {
	s, r := find(t, "pause-after-acquire/single")
	ctx := t.Context()
	_, err := onServers(ctx, s, r, clients.NewSingle, 1, 25)
	if err == nil || !strings.Contains(err.Error(), "TTL of 10s is 400ms") || !strings.Contains(err.Error(), "greatest speed for this run is 20") {
		t.Errorf("a TTL that is too short: %v", err)
	}
	if _, err := onServers(ctx, s, r, clients.NewSingle, 1, 0); err == nil || !strings.Contains(err.Error(), "speed 0") {
		t.Errorf("no speed: %v", err)
	}
	s, err = Parse("drift.txtar", []byte("# A drift.\n\nclient c1\n  acquire\nnemesis\n  at 1s drift c1 +5ppm\n\n-- single nodes=1 --\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = onServers(ctx, s, s.Runs[0], clients.NewSingle, 1, 1)
	if !errors.Is(err, nodes.ErrSimOnly) || !strings.Contains(err.Error(), "sim only: drift c1 +5ppm") {
		t.Errorf("a drift: %v", err)
	}
	for _, c := range []struct{ nemesis, header, want string }{
		{"heal", "replicas=1", "sim only: replicas=1"},
		{"heal", "replicas=1 sentinels=3", "sim only: replicas=1"},
		{"stop n1", "", "sim only: stop n1"},
		{"at 1s crash n1 power", "", "sim only: crash n1 power: the machine would go down with it"},
		{"crash n1", "persistence=rdb", "sim only: persistence=rdb"},
		{"crash n1", "persistence=aof-everysec-slow", "sim only: persistence=aof-everysec-slow"},
		{"crash n1", "persistence=none", "sim only: persistence=none with a crash n1 that no step undoes"},
		{"jump resource +1s", "", "sim only: jump resource +1s"},
		{"jump resource +1s", "resource=counter", ""},
		{"crash n1\n  at 1s restart n1", "persistence=none", ""},
		{"crash n1\n  at 1s restart n1", "persistence=aof-everysec", ""},
		{"crash n1", "persistence=aof-lying", ""},
	} {
		s, err := Parse("x.txtar", []byte("# A title.\n\nclient c1\n  acquire\nnemesis\n  "+c.nemesis+"\n\n-- single nodes=1 "+c.header+" --\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = CheckRedis(s, s.Runs[0], 1)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, nodes.ErrSimOnly) || !strings.HasSuffix(err.Error(), ": "+c.want)) {
			t.Errorf("%s, %s: %v, want %q", c.nemesis, c.header, err, c.want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	s, r = find(t, "pause-after-acquire/single")
	if _, err := onServers(ctx, s, r, clients.NewSingle, 1, 20); !errors.Is(err, nodes.ErrNoServer) {
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
		if _, err := onServers(t.Context(), s, r, clients.NewRedlock, 1, fast); err != nil {
			t.Error(err)
		}
		clean(t)
	})
	t.Run("after the end of its context", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := onServers(ctx, s, r, clients.NewRedlock, 1, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("it took %v to notice", d)
		}
		clean(t)
	})
	t.Run("after a panic of the lock", func(t *testing.T) {
		_, err := onServers(t.Context(), s, r, func(clients.Env) clients.Locker { return panics{} }, 1, fast)
		if err == nil || !strings.Contains(err.Error(), "panic: as ordered") || !strings.Contains(err.Error(), "panics.Acquire") {
			t.Errorf("got %v", err)
		}
		clean(t)
	})
	t.Run("after a lock that never ends", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := onServers(ctx, s, r, func(clients.Env) clients.Locker { return waits{} }, 1, fast); !errors.Is(err, context.DeadlineExceeded) {
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

// A node without persistence restarts empty, and nothing else changes.
func TestForgetful(t *testing.T) {
	const lanes = "# A title.\n\nclient c1\n  acquire\nnemesis\n  crash n1\n  at 1s restart n1\n  when c1 acquired restart n2 empty\n  at 2s restart resource\n  restart n3\n\n-- redlock nodes=3 persistence="
	s, err := Parse("x.txtar", []byte(lanes+"none --\n-- redlock nodes=3 label=aof persistence=aof-everysec --\n"))
	if err != nil {
		t.Fatal(err)
	}
	const steps = "nemesis\n  crash n1\n  at 1s restart n1 empty\n  when c1 acquired restart n2 empty\n  at 2s restart resource\n  restart n3 empty\n"
	if got := s.Resolve(s.Runs[0]).forgetful().Lanes[1].String(); got != steps {
		t.Errorf("without persistence:\n%swant\n%s", got, steps)
	}
	if r := s.Resolve(s.Runs[1]); !r.forgetful().equal(r) {
		t.Error("a node with persistence forgets")
	}
}

func TestFaster(t *testing.T) {
	const lanes = `client c1
  until %s
  acquire within %s
  repeat 3 acquire within %s
  pause %s
  sleep %s
  repeat 2 pause %s
  write A
  check
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

-- single nodes=1 replicas=1 sentinels=1 down-after=%s ttl=%s --
`
	text := func(d string) string { return "# A title.\n\n" + strings.ReplaceAll(lanes, "%s", d) }
	parse := func(text string) (*Scenario, Section) {
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
	half := func(d time.Duration) time.Duration { return d / 2 }
	if got := scaleStep(Repeat{N: 5, Step: Increment{Within: 4 * time.Second}}, half); got != (Repeat{N: 5, Step: Increment{Within: 2 * time.Second}}) {
		t.Errorf("an increment became %s", got)
	}
}
