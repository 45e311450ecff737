package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/sim"
	"lockstep/sim/history"
)

// ceiling is where jobs that use more and more memory stop. If nothing stops them earlier, a test fails, but the machine survives.
const ceiling = 1200 * MB

const chunk = 8 * MB

// kept keeps memory in use.
var kept [][]byte

//go:noinline
func hoard(limit Memory) {
	for range limit / chunk {
		b := make([]byte, chunk)
		for i := 0; i < len(b); i += 1024 {
			b[i] = 1
		}
		kept = append(kept, b)
	}
}

// throng starts goroutines that wait for ever, and returns when each has begun.
//
//go:noinline
func throng(n int) {
	var begun sync.WaitGroup
	begun.Add(n)
	for range n {
		go func() {
			begun.Done()
			waitForNobody(make(chan int))
		}()
	}
	begun.Wait()
}

var memoryJobs = map[string]func(string) (any, error){
	"hoard": func(string) (any, error) { hoard(ceiling); return "nobody minded", nil },
	"hoard in a bubble": func(string) (any, error) {
		return "nobody minded", sim.Bubble(func() {
			w := sim.NewWorld(sim.Config{})
			w.Process("c1").Go(func(context.Context) { hoard(ceiling) })
			w.Run()
		})
	},
	"hoard slowly": func(string) (any, error) {
		hoard(176 * MB)
		for n := 0; ; n++ { // this one spins
			kept[0][0] = byte(n)
		}
	},
	"a little": func(string) (any, error) { hoard(80 * MB); kept = nil; return "done", nil },
	"much garbage": func(string) (any, error) {
		for range 20 {
			hoard(80 * MB)
			kept = nil
		}
		return "done", nil
	},
	"throng": func(string) (any, error) {
		throng(300_000)
		return "nobody minded", nil
	},
	"recurse": func(string) (any, error) { return recurse(1), nil },
	"panic at length": func(string) (any, error) {
		done := make(chan int)
		go func() { panic(strings.Repeat("x", 8<<20)) }()
		<-done
		return nil, nil
	},
	"throng and panic": func(string) (any, error) {
		throng(10_000)
		panicAfter(closed())
		return nil, nil
	},
}

func closed() chan int {
	c := make(chan int)
	close(c)
	return c
}

//go:noinline
func recurse(n int) int {
	if n < 0 {
		return 0
	}
	return recurse(n+1) + 1
}

// A job that uses more memory than allowed is ended. Its report says so, and what the memory was used for. The next job is carried
// out.
func TestMemory(t *testing.T) {
	t.Parallel()
	const limit = 250 * MB
	for name, want := range map[string]string{
		"hoard":             "the run used more than 250 MB of memory: at least .* was allocated in workers.hoard",
		"hoard in a bubble": "the run used more than 250 MB of memory: at least .* was allocated in workers.hoard",
		"hoard outside":     `the run used more than 250 MB of memory, last in workers.init\.\S+ \(memory_linux_test.go:\d+\)$`,
		"hoard elsewhere":   `the run used more than 250 MB of memory: .* of it by a process that it had started, sh\b|tail\b`,
		"throng":            `the run used more than 250 MB of memory: .* are stacks of \d+ goroutines, \d+ of them in workers.waitForNobody`,
		"a little":          "",
		"much garbage":      "",
		"recurse":           "fatal error: stack overflow",
		"panic at length":   `^panic: x+ … \(\d+ bytes\) … x+$`,
		"throng and panic":  "^panic: connection pool is closed|^panic: \\*errors",
	} {
		if memoryJobs[name] == nil {
			continue // not on this system
		}
		if testing.Short() && (name == "throng" || name == "hoard outside" || name == "hoard elsewhere") {
			continue // seconds each
		}
		if name == "hoard outside" && raceEnabled() {
			continue // from outside, the memory of a worker cannot be told apart from that of its race detector
		}
		t.Run(name, func(t *testing.T) {
			outcomes := supervise(t, Supervisor{Workers: 1, Memory: limit, Limit: time.Minute}, job(name), job("return", "this"))
			if got := fmt.Sprint(outcomes[1].Result); got != "did this" {
				t.Errorf("the next job: %s %v", got, outcomes[1].Report)
			}
			r := outcomes[0].Report
			if want == "" {
				if r != nil {
					t.Errorf("%v", r)
				}
				return
			}
			if r == nil {
				t.Fatalf("it ended: %s", outcomes[0].Result)
			}
			if !regexp.MustCompile(want).MatchString(r.Reason) || len(r.Reason) > 2*keptReason {
				t.Errorf("reason %q, want %q", r.Reason, want)
			}
			if whole, _ := json.Marshal(r); len(whole) > 200<<10 {
				t.Errorf("the report has %d bytes", len(whole))
			}
			if name == "throng and panic" && (strings.Count(r.Stacks, "workers.waitForNobody(") > 4 || !strings.Contains(r.Stacks, sim.AndMore) ||
				!regexp.MustCompile(`\(and \d{3,} more\) waits .*\n(.*\n)* +\(\d{4,} more goroutines\)`).MatchString(r.String())) {
				t.Errorf("%v\n%s", r, r.Stacks)
			}
		})
	}
}

// A job that runs for too long and uses much memory may be on its way to the memory limit. Its report says so, instead of saying
// that it spins.
func TestMemoryOfOverdueJob(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for six seconds, and takes much memory")
	}
	t.Parallel()
	for limit, want := range map[Memory]string{
		250 * MB: `^the job did not end within 3s: a goroutine still runs; it uses .* MB of memory: at least 1\d\d MB of it was allocated in workers.hoard`,
		2 * GB:   `^the job did not end within 3s: a goroutine computes without waiting$`,
	} {
		r := supervise(t, Supervisor{Workers: 1, Memory: limit, Limit: 3 * time.Second}, job("hoard slowly"))[0].Report
		if r == nil || r.Memory || !regexp.MustCompile(want).MatchString(r.Reason) {
			t.Errorf("%v: %v, want %s", limit, r, want)
		}
	}
}

func TestParseMemory(t *testing.T) {
	for _, m := range []Memory{MB, 250 * MB, GB, 2 * GB, 1500 * MB} {
		if got, err := ParseMemory(m.String()); got != m || err != nil {
			t.Errorf("%v: %v %v", m, got, err)
		}
	}
	for s, want := range map[string]Memory{"2GB": 2 * GB, "0.5gb": 500 * MB, " 300 mb ": 300 * MB} {
		if got, err := ParseMemory(s); got != want || err != nil {
			t.Errorf("%q: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "2", "GB", "-1GB", "0MB", "NaNGB", "1e300GB", "2GiB", "2 3GB", fmt.Sprint(math.Inf(1), "MB")} {
		if got, err := ParseMemory(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestShortened(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("ä", 50)} {
		if got := history.Shortened(s, 100); got != s {
			t.Errorf("%q: %q", s, got)
		}
	}
	if got := history.Shortened(strings.Repeat("ä", 1000), 101); got != strings.Repeat("ä", 38)+" … (1900 bytes) … "+strings.Repeat("ä", 12) {
		t.Errorf("%q", got)
	}
}

// A process without a supervisor caps its own memory.
func TestCap(t *testing.T) {
	const capped = "LOCKSTEP_TEST_CAPPED"
	if os.Getenv(capped) != "" {
		Cap(LeastMemory)
		hoard(3 * LeastMemory)
		time.Sleep(time.Second)
		t.Fatal("nothing has happened")
	}
	c := exec.Command(os.Args[0], "-test.run=^TestCap$")
	c.Env = append(os.Environ(), capped+"=yes")
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: the run used more than 100 MB of memory") {
		t.Errorf("%v\n%s", err, out)
	}
}
