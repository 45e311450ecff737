package workers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/sim"
)

// TestWorkerProcess is the worker of the other tests, which run the test binary again with this test only.
func TestWorkerProcess(t *testing.T) {
	if !IsWorker() {
		t.Skip("is for TestSupervisor to start")
	}
	err := Work(func(ctx context.Context, data json.RawMessage) (any, error) {
		var job struct{ Do, Arg string }
		if err := json.Unmarshal(data, &job); err != nil {
			return nil, err
		}
		if ctx.Done() != nil {
			return nil, errors.New("the context can end")
		}
		if job.Do == "notify" {
			Notify(ctx, job.Arg)
			return "notified", nil
		}
		do := testJobs[job.Do]
		if do == nil {
			do = memoryJobs[job.Do]
		}
		return do(job.Arg)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func job(do string, arg ...string) json.RawMessage {
	b, _ := json.Marshal(map[string]string{"Do": do, "Arg": strings.Join(arg, " ")})
	return b
}

// mirror is a service that sends back what it receives.
type mirror struct{}

func (*mirror) Open(*sim.Conn)                                             {}
func (*mirror) Closed(*sim.Conn)                                           {}
func (*mirror) Receive(c *sim.Conn, data []byte)                           { c.Write(data) }
func (*mirror) Describe(data []byte, _ bool, _ func(string) string) string { return string(data) }

var testJobs = map[string]func(arg string) (any, error){
	"return":  func(arg string) (any, error) { return "did " + arg, nil },
	"nothing": func(string) (any, error) { return nil, nil },
	"func":    func(string) (any, error) { return func() {}, nil },
	"error":   func(string) (any, error) { return nil, errors.New("no such scenario") },
	"environment": func(string) (any, error) {
		rand.Seed(7) //lint:ignore SA1019 that libraries can do this is what is tested
		first := rand.Int()
		rand.Seed(7) //lint:ignore SA1019 likewise
		return fmt.Sprintf("procs %d, seeds %v, worker %v, GODEBUG %s", runtime.GOMAXPROCS(0), rand.Int() == first, IsWorker(), os.Getenv("GODEBUG")), nil
	},
	"pid": func(string) (any, error) { return os.Getpid(), nil },
	"work": func(arg string) (any, error) {
		d, err := time.ParseDuration(arg)
		start := time.Now()
		for time.Since(start) < d {
			runtime.Gosched() // as goroutines of a run do
		}
		return fmt.Sprint(start.UnixNano(), " ", time.Now().UnixNano()), err
	},
	"print": func(string) (any, error) {
		fmt.Print("{\"job\":0,\"result\":\"forged\"}\n\x00garbage without an end")
		fmt.Fprint(os.Stderr, "more of it")
		return "printed", nil
	},
	"exit": func(string) (any, error) {
		fmt.Fprintln(os.Stderr, "configuration file not found")
		os.Exit(3)
		return nil, nil
	},
	"killed": func(string) (any, error) {
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		select {}
	},
	"close answers": func(arg string) (any, error) {
		fd, _ := strconv.Atoi(arg)
		os.NewFile(uintptr(fd), "answers").WriteString(strings.Repeat("}{\n", 100))
		select {}
	},
	"panic": func(string) (any, error) {
		return nil, sim.Bubble(func() {
			fmt.Fprint(os.Stderr, "half a line")
			go func() {
				var m map[string]int
				m["a"] = 1 //lint:ignore SA5000 it is meant to panic
			}()
			time.Sleep(time.Second)
		})
	},
	"panic outside the bubble": func(string) (any, error) {
		c := make(chan int)
		go panicAfter(c)
		return nil, sim.Bubble(func() {
			go waitForNobody(make(chan int))
			close(c)
			time.Sleep(time.Second)
			for {
				runtime.Gosched()
			}
		})
	},
	"panic in the scheduler": func(string) (any, error) {
		return nil, sim.Bubble(func() { panic("sim: two processes named c1") })
	},
	"leak": func(string) (any, error) {
		return nil, sim.Bubble(func() { go waitForNobody(make(chan int)) })
	},
	"spin": func(arg string) (any, error) {
		fmt.Fprintln(os.Stderr, "pid", os.Getpid())
		return nil, sim.Bubble(func() {
			w := sim.NewWorld(sim.Config{})
			w.Process("c1").Go(func(context.Context) { spinForEver() })
			w.Run()
		})
	},
	"go on": func(string) (any, error) {
		return nil, sim.Bubble(func() {
			w := sim.NewWorld(sim.Config{MaxEvents: math.MaxInt, MaxTime: 1 << 60})
			c := w.Process("c1")
			c.Go(func(context.Context) {
				for {
					c.Clock().Sleep(time.Second)
				}
			})
			w.Run()
		})
	},
	"stop": func(string) (any, error) {
		return nil, sim.Bubble(func() {
			w := sim.NewWorld(sim.Config{})
			c := w.Process("c1")
			c.Go(func(context.Context) { c.Clock().Sleep(time.Second); spinForEver() })
			w.Run()
		})
	},
	"spin outside a bubble": func(string) (any, error) { spinForEver(); return nil, nil },
	"wait for the world outside": func(string) (any, error) {
		c := make(chan int)
		return nil, sim.Bubble(func() {
			w := sim.NewWorld(sim.Config{})
			w.Process("c1").Go(func(context.Context) { waitForNobody(c) })
			w.Run()
		})
	},
	"mutex": func(string) (any, error) {
		return nil, sim.Bubble(func() {
			w := sim.NewWorld(sim.Config{})
			n1 := w.Serve("n1", &mirror{})
			p := w.Process("c1")
			p.Go(func(ctx context.Context) {
				conn, err := p.DialContext(ctx, "tcp", n1.Addr())
				if err != nil {
					panic(err)
				}
				c := &cache{conn: conn}
				go c.get()
				c.get()
			})
			w.Run()
		})
	},
	"mutex across a sleep": func(string) (any, error) {
		return nil, sim.Bubble(func() {
			w := sim.NewWorld(sim.Config{})
			p := w.Process("c1")
			c := &cache{}
			p.Go(func(context.Context) { c.slow(p) })
			p.Go(func(context.Context) { c.slow(p) })
			w.Run()
		})
	},
	"concurrent map writes": func(string) (any, error) {
		// The runtime detects only writes at the same time, which need two processors.
		runtime.GOMAXPROCS(2)
		return nil, sim.Bubble(func() {
			m := map[int]int{}
			go writeForEver(m)
			writeForEver(m)
		})
	},
	// A supervisor between the test and the workers is killed. Its workers spin and cannot be preempted.
	"supervise": func(string) (any, error) {
		s := Supervisor{Command: startTest("TestWorkerProcess", "GODEBUG=asyncpreemptoff=1"), Workers: 2, Output: os.Stderr, Limit: time.Minute}
		return nil, s.Run(context.Background(), []json.RawMessage{job("spin"), job("spin")}, func(int, Outcome) {})
	},
	"supervise spawning": func(string) (any, error) {
		s := Supervisor{Command: startTest("TestWorkerProcess"), Workers: 1, Output: os.Stderr, Limit: time.Minute}
		return nil, s.Run(context.Background(), []json.RawMessage{job("spawn", "wait")}, func(int, Outcome) {})
	},
}

//go:noinline
func waitForNobody(c chan int) { <-c }

//go:noinline
func panicAfter(c chan int) {
	<-c
	panic(errors.New("connection pool is closed"))
}

var spun int

//go:noinline
//go:norace
func spinForEver() {
	for {
		spun++ // no call, not even to the race detector, so that only a signal can preempt it
	}
}

//go:noinline
func writeForEver(m map[int]int) {
	for i := 0; ; i++ {
		m[i%64] = i
	}
}

// cache holds its mutex while it waits for a reply, like a client that looks up an address once and for all.
type cache struct {
	mu   sync.Mutex
	conn net.Conn
}

//go:noinline
func (c *cache) get() {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintln(c.conn, "hello")
	c.conn.Read(make([]byte, 100))
}

//go:noinline
func (c *cache) slow(p *sim.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.Clock().Sleep(time.Second)
}

func startTest(test string, env ...string) func() *exec.Cmd {
	return func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
		cmd.Env = append(os.Environ(), env...)
		return cmd
	}
}

// supervise runs jobs and returns their outcomes, after checking that each came once.
func supervise(t *testing.T, s Supervisor, jobs ...json.RawMessage) []Outcome {
	t.Helper()
	if s.Command == nil {
		s.Command = startTest("TestWorkerProcess")
	}
	s.Limit = cmp.Or(s.Limit, 10*time.Second)
	got := make([]Outcome, len(jobs))
	count := make([]int, len(jobs))
	if err := s.Run(t.Context(), jobs, func(i int, o Outcome) { got[i] = o; count[i]++ }); err != nil {
		t.Fatal(err)
	}
	for i, o := range got {
		if count[i] != 1 || o.Result != nil && o.Report != nil {
			t.Errorf("job %s ended %d times, with %s and %v", jobs[i], count[i], o.Result, o.Report)
		}
	}
	return got
}

// A worker goes from one job to the next in much less time than a job takes.
func TestWorkerIsNotIdle(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its pipes cannot be read through the poller")
	}
	const each = 25 * time.Millisecond
	jobs := slices.Repeat([]json.RawMessage{job("work", each.String())}, 40)
	var gaps []time.Duration
	var last int64
	for _, o := range supervise(t, Supervisor{Workers: 1}, jobs...) {
		var start, end int64
		if _, err := fmt.Sscan(o.Result.(string), &start, &end); err != nil {
			t.Fatal(err)
		}
		if last > 0 {
			gaps = append(gaps, time.Duration(start-last))
		}
		last = end
	}
	slices.Sort(gaps)
	if median := gaps[len(gaps)/2]; median > each/10 {
		t.Errorf("between two jobs of %v, a worker is idle for %v", each, median)
	}
}

func TestSupervisorReturnsResults(t *testing.T) {
	t.Parallel()
	var jobs []json.RawMessage
	for i := range 200 {
		jobs = append(jobs, job("return", strconv.Itoa(i)))
	}
	for i, o := range supervise(t, Supervisor{Workers: 2}, jobs...) {
		if want := fmt.Sprint("did ", i); fmt.Sprint(o.Result) != want {
			t.Errorf("job %d: %s, want %s", i, o.Result, want)
		}
	}
	if got := supervise(t, Supervisor{}, job("nothing"))[0]; got.Result != nil || got.Report != nil {
		t.Errorf("no result: %v, %v, want nothing", got.Result, got.Report)
	}
	if got := supervise(t, Supervisor{}); len(got) != 0 {
		t.Errorf("no jobs: %v", got)
	}
}

func TestSupervisorPreparesWorkers(t *testing.T) {
	t.Parallel()
	s := Supervisor{Command: startTest("TestWorkerProcess", "GODEBUG=panicnil=1", "GOMAXPROCS=8")}
	got := supervise(t, s, job("environment"))[0].Result
	if want := "procs 1, seeds true, worker false, GODEBUG panicnil=1,randseednop=0"; got != want {
		t.Errorf("environment %s, want %s", got, want)
	}
}

func TestSupervisorReports(t *testing.T) {
	for _, test := range []struct {
		do      string
		limit   time.Duration
		env     string
		reason  string
		blocked []string // each must be in some line
		stacks  string
		slow    time.Duration // how long it may take; 0 stands for a second
	}{
		{
			do:     "error",
			reason: "no such scenario",
		}, {
			do:     "func",
			reason: "sim: the result of the job cannot be sent: gob: type not registered for interface: func()",
		}, {
			do:      "panic",
			reason:  "panic: assignment to entry in nil map",
			blocked: []string{"failed in workers.init.func", "(supervisor_test.go:"},
			stacks:  "[running, synctest bubble",
		}, {
			do:      "panic outside the bubble",
			reason:  "panic: connection pool is closed",
			blocked: []string{"failed in workers.panicAfter (supervisor_test.go:"},
			stacks:  "workers.panicAfter",
		}, {
			do:      "panic in the scheduler",
			reason:  "panic: sim: two processes named c1",
			blocked: []string{"failed in workers.init.func"},
			stacks:  "supervisor_test.go:",
		}, {
			do:      "concurrent map writes",
			reason:  "fatal error: concurrent map writes",
			blocked: []string{"failed in workers.writeForEver (supervisor_test.go:"},
			stacks:  "workers.writeForEver",
			slow:    5 * time.Second,
		}, {
			do:      "leak",
			reason:  "goroutines left behind",
			blocked: []string{"waits (chan receive) in workers.waitForNobody (supervisor_test.go:"},
			stacks:  "workers.waitForNobody",
		}, {
			do:     "mutex",
			limit:  20 * time.Second,
			reason: "virtual time stands still: a goroutine waits for a mutex that another holds across I/O",
			blocked: []string{
				"waits for a mutex (sync.Mutex.Lock) in workers.(*cache).get (supervisor_test.go:",
				"is inside (*Conn).Read, called from workers.(*cache).get (supervisor_test.go:",
				"probably holds that mutex: it is in a method of the same ",
				"is the scheduler: it waits until all other goroutines wait",
			},
			stacks: "workers.(*cache).get",
			slow:   2 * time.Second,
		}, {
			do:     "mutex across a sleep",
			reason: "virtual time stands still: a goroutine waits for a mutex that another holds while it waits",
			blocked: []string{
				"waits for a mutex (sync.Mutex.Lock) in workers.(*cache).slow (supervisor_test.go:",
				"waits in (*clock).Sleep, called from workers.(*cache).slow (supervisor_test.go:",
			},
			slow: 2 * time.Second,
		}, {
			do:      "wait for the world outside",
			limit:   time.Second,
			reason:  "virtual time stands still, and the run was stopped after 1s of real time: a goroutine waits for something outside the bubble",
			blocked: []string{"waits (chan receive) in workers.waitForNobody (supervisor_test.go:"},
		}, {
			do:      "spin",
			limit:   time.Second,
			reason:  "virtual time stands still, and the run was stopped after 1s of real time: a goroutine computes without waiting",
			blocked: []string{"is runnable in workers.spinForEver (supervisor_test.go:", "is the scheduler"},
			stacks:  "workers.spinForEver",
		}, {
			do:      "spin outside a bubble",
			limit:   time.Second,
			reason:  "the job did not end within 1s: a goroutine computes without waiting",
			blocked: []string{"is runnable in workers.spinForEver (supervisor_test.go:"},
		}, {
			// A goroutine that cannot be preempted keeps the worker from answering, so the supervisor has to use a signal.
			do:      "spin",
			env:     "GODEBUG=asyncpreemptoff=1",
			limit:   time.Second,
			reason:  "virtual time stands still, and the run was stopped after 1s of real time: a goroutine computes without waiting",
			blocked: []string{"is running in workers.spinForEver (supervisor_test.go:", "is the scheduler"},
			stacks:  "workers.spinForEver",
			slow:    grace + time.Second,
		}, {
			do:     "exit",
			reason: "the worker exited: exit status 3",
			stacks: "configuration file not found",
		}, {
			do:     "killed",
			reason: "the worker was killed: signal: killed",
		},
	} {
		name := test.do
		if test.limit > 0 {
			name += " within " + test.limit.String()
		}
		t.Run(name+" "+test.env, func(t *testing.T) {
			t.Parallel()
			// The jobs before and after must not be affected.
			s := Supervisor{Command: startTest("TestWorkerProcess", test.env), Workers: 1, Limit: test.limit}
			start := time.Now()
			got := supervise(t, s, job("return", "before"), job(test.do), job("return", "after"))
			if took := time.Since(start); took > cmp.Or(test.slow, time.Second)+4*time.Second {
				t.Errorf("took %v", took)
			}
			if fmt.Sprint(got[0].Result) != "did before" || fmt.Sprint(got[2].Result) != "did after" {
				t.Errorf("the jobs before and after: %s, %s", got[0].Result, got[2].Result)
			}
			r := got[1].Report
			if r == nil {
				t.Fatalf("result %s", got[1].Result)
			}
			t.Log(r)
			if r.Reason != test.reason {
				t.Errorf("reason %q, want %q", r.Reason, test.reason)
			}
			for _, want := range test.blocked {
				if !slices.ContainsFunc(r.Blocked, func(line string) bool { return strings.Contains(line, want) }) {
					t.Errorf("no line says %q in\n%s", want, strings.Join(r.Blocked, "\n"))
				}
			}
			if !strings.Contains(r.Stacks, test.stacks) {
				t.Errorf("no %q in the stacks\n%s", test.stacks, r.Stacks)
			}
			if strings.HasPrefix(test.stacks, "sim.") && !strings.Contains(r.String(), "/"+test.stacks+"\n") {
				t.Errorf("the report does not show the stack of %s", test.stacks)
			}
			if n := strings.Count(r.String(), "\n"); n > 150 {
				t.Errorf("the report has %d lines", n)
			}
		})
	}
}

// If a run exceeds the limit but still makes progress, the report says so, and how far it has come. If it has stopped making
// progress, the report does not.
func TestSupervisorTellsSlowFromStopped(t *testing.T) {
	t.Parallel()
	s := Supervisor{Workers: 1, Limit: 300 * time.Millisecond}
	got := supervise(t, s, job("go on"), job("stop"))
	var seconds float64
	var events int
	const still = "the run had not ended after 300ms of real time, at %fs of virtual time and after %d events: with a longer limit it may end"
	if _, err := fmt.Sscanf(got[0].Report.Reason, still, &seconds, &events); err != nil || events < 10 || int(seconds) > events || int(seconds) < events-2 {
		t.Errorf("%v: %q", err, got[0].Report.Reason)
	}
	if want := "virtual time stands still, and the run was stopped after 300ms of real time: a goroutine computes without waiting"; got[1].Report.Reason != want {
		t.Errorf("%q, want %q", got[1].Report.Reason, want)
	}
}

// The limit of a job is multiplied by its patience.
func TestLimitOf(t *testing.T) {
	r := &run{Supervisor: Supervisor{Limit: time.Second}}
	for job, want := range map[string]time.Duration{
		`{"patience":5}`:  5 * time.Second,
		`{"patience":0}`:  time.Second,
		`{"patience":-2}`: time.Second,
		`{}`:              time.Second,
		`["go on"]`:       time.Second,
	} {
		if got := r.limitOf([]byte(job)); got != want {
			t.Errorf("%s: %v, want %v", job, got, want)
		}
	}
}

func TestSupervisorSurvivesOutput(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	got := supervise(t, Supervisor{Workers: 1, Output: &out}, job("print"), job("return", "it"))
	if fmt.Sprint(got[0].Result) != "printed" || fmt.Sprint(got[1].Result) != "did it" {
		t.Errorf("got %s and %s", got[0].Result, got[1].Result)
	}
	for _, want := range []string{"forged", "garbage without an end", "more of it"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
}

// A notice arrives before the job is done, whatever else the worker prints, and is not taken for the answer.
func TestNotify(t *testing.T) {
	t.Parallel()
	var said []string
	got := supervise(t, Supervisor{Workers: 1, Notice: func(text string) { said = append(said, text) }}, job("print"), job("notify", "once more"), job("return", "it"))
	if fmt.Sprint(got[1].Result) != "notified" || fmt.Sprint(got[2].Result) != "did it" {
		t.Errorf("got %s and %s", got[1].Result, got[2].Result)
	}
	if !slices.Equal(said, []string{"once more"}) {
		t.Errorf("%q", said)
	}
	Notify(t.Context(), "a process that is no worker has nobody to tell")
}

func TestSupervisorSurvivesBadAnswers(t *testing.T) {
	t.Parallel()
	got := supervise(t, Supervisor{Workers: 1}, job("close answers", "4"), job("return", "it"))
	if r := got[0].Report; r == nil || !strings.HasPrefix(r.Reason, "the worker wrote an answer that cannot be read") {
		t.Errorf("got %v", got[0])
	}
	if fmt.Sprint(got[1].Result) != "did it" {
		t.Errorf("got %v", got[1])
	}
}

func TestSupervisorReplacesSpentWorkers(t *testing.T) {
	t.Parallel()
	got := supervise(t, Supervisor{Workers: 1}, job("pid"), job("pid"), job("error"), job("pid"), job("leak"), job("pid"), job("exit"), job("pid"))
	pid := func(i int) string { return fmt.Sprint(got[i].Result) }
	if pid(0) != pid(1) || pid(1) != pid(3) {
		t.Errorf("a worker was replaced without need: %s %s %s", pid(0), pid(1), pid(3))
	}
	if pid(3) == pid(5) || pid(5) == pid(7) {
		t.Errorf("a worker was kept after a leak or an exit: %s %s %s", pid(3), pid(5), pid(7))
	}
}

func TestSupervisorRefusesBadWorkers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		command func() *exec.Cmd
		want    string
	}{
		{"not there", func() *exec.Cmd { return exec.Command(filepath.Join(t.TempDir(), "lockstep")) }, "sim: start worker: "},
		{"no worker", startTest("TestNoSuchTest"), "ended before it took a job: exit status 0\n"},
		{"fails", func() *exec.Cmd { return exec.Command(os.Args[0], "-no-such-flag") }, "ended before it took a job: exit status 2\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := Supervisor{Command: test.command, Workers: 2}
			err := s.Run(t.Context(), []json.RawMessage{job("pid"), job("pid"), job("pid")}, func(i int, o Outcome) {
				t.Errorf("job %d ended: %v", i, o)
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// A test binary that is started as a worker and does not call Work must not start workers of its own.
func TestWorkersDoNotSupervise(t *testing.T) {
	t.Setenv(workerEnv, "3,4")
	s := Supervisor{Command: func() *exec.Cmd { t.Error("started"); return exec.Command("false") }}
	if err := s.Run(t.Context(), []json.RawMessage{job("pid")}, nil); err == nil || !strings.Contains(err.Error(), "is a worker") {
		t.Errorf("error %v", err)
	}
}

// pids collects the process ids that workers print.
type pids struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (p *pids) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.Write(b)
}

func (p *pids) wait(t *testing.T, n int) []int {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		var found []int
		for _, m := range regexp.MustCompile(`pid (\d+)\n`).FindAllStringSubmatch(p.buf.String(), -1) {
			pid, _ := strconv.Atoi(m[1])
			found = append(found, pid)
		}
		p.mu.Unlock()
		if len(found) >= n {
			return found
		}
	}
	t.Errorf("%d workers did not start", n)
	return nil
}

// gone waits until the processes have ended. One that its parent has not waited for counts as ended.
func gone(t *testing.T, pids []int, within time.Duration) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	deadline := time.Now().Add(within)
	for _, pid := range pids {
		for {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil || bytes.Contains(stat, []byte(") Z ")) {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("process %d lives: %s", pid, stat)
				if p, err := os.FindProcess(pid); err == nil {
					p.Kill()
				}
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func TestSupervisorIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out pids
	var cancelled time.Time
	s := Supervisor{Command: startTest("TestWorkerProcess"), Workers: 2, Output: &out, Limit: time.Minute}
	var running []int
	go func() {
		running = out.wait(t, 2)
		cancelled = time.Now()
		cancel()
	}()
	err := s.Run(ctx, []json.RawMessage{job("pid"), job("spin"), job("spin"), job("pid")}, func(int, Outcome) {})
	if err != context.Canceled {
		t.Errorf("error %v", err)
	}
	if took := time.Since(cancelled); took > time.Second {
		t.Errorf("took %v", took)
	}
	gone(t, running, 0)
}

// If the supervisor is killed, none of its code runs; the kernel ends the workers.
func TestSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only linux ends a process with its parent")
	}
	var out pids
	s := Supervisor{Command: startTest("TestWorkerProcess"), Output: &out, Limit: time.Minute}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running []int
	go func() {
		defer cancel()
		running = out.wait(t, 2)
	}()
	if err := s.Run(ctx, []json.RawMessage{job("supervise")}, func(int, Outcome) {}); err != context.Canceled {
		t.Errorf("error %v", err)
	}
	gone(t, running, 3*time.Second)
}

// On other systems, and on other pipes than those of a worker on Linux, a worker ends when its job pipe ends.
func TestWorkerEndsWithItsPipe(t *testing.T) {
	t.Parallel()
	cmd := startTest("TestWorkerProcess", workerEnv+"=std", "GOMAXPROCS=1")()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var printed pids
	cmd.Stderr = &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := gob.NewDecoder(out)
	next := func() (a answer) {
		if err := answers.Decode(&a); err != nil {
			t.Error(err)
		}
		return a
	}
	if !next().Ready {
		t.Error("the worker is not ready")
	}
	requests := gob.NewEncoder(in)
	requests.Encode(request{Job: 5, Data: job("print")})
	if a := next(); a.Job != 5 || fmt.Sprint(a.Result) != "printed" {
		t.Errorf("answer %d %s", a.Job, a.Result)
	}
	requests.Encode(request{Job: 6, Data: job("spin")})
	printed.wait(t, 1)
	time.Sleep(50 * time.Millisecond) // let it spin
	closed := time.Now()
	in.Close()
	var status *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &status) || status.ExitCode() != 1 {
		t.Errorf("the worker ended with %v", err)
	}
	if took := time.Since(closed); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}
