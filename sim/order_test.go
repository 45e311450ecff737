package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockstep/sim/history"
)

// always runs f often enough for random map order to show, and fails if the results differ.
func always(t *testing.T, f func() string) {
	t.Helper()
	results := map[string]int{}
	for range 100 {
		results[f()]++
	}
	if len(results) != 1 {
		t.Errorf("100 runs had %d results: %v", len(results), results)
	}
}

// What a reset loses on several connections between the same two processes is recorded in a fixed order.
func TestResetHasAnOrder(t *testing.T) {
	always(t, func() string {
		return inWorld(t, Config{Seed: 1}, func(w *World) {
			s, c := w.Serve("n1", &echo{}), w.Process("c1")
			c.Go(func(ctx context.Context) {
				conns := []io.Writer{dial(ctx, c, s), dial(ctx, c, s), dial(ctx, c, s)}
				c.Until(time.Second)
				for i, line := range []string{"alpha\n", "beta\n", "gamma\n"} {
					io.WriteString(conns[i], line)
				}
				c.Until(2 * time.Second)
			})
			w.Plan(0, history.Delay{Link: history.Link{From: "c1", To: "n1"}, By: 100 * time.Millisecond})
			w.Plan(1050*time.Millisecond, history.Reset{Link: history.Link{From: "c1", To: "n1", Both: true}})
		}).Meta.Checksum
	})
}

// A fault takes effect on all its connections before any goroutine wakes. Otherwise the first to wake could record an event in a
// process that is only half dead, or write to a connection that is about to break. This would happen rarely, and only with a
// processor to spare.
func TestFaultsAreWhole(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const lanes = 100
	for _, f := range []history.Fault{history.Crash{Process: "c1"}, history.Reset{Link: history.Link{From: "c1", To: "n1", Both: true}}} {
		for range 10 {
			h := inWorld(t, Config{Seed: 1}, func(w *World) {
				s, c := w.Serve("n1", &echo{}), w.Process("c1")
				conns := make([]net.Conn, lanes)
				for i := range lanes {
					c.Go(func(ctx context.Context) {
						conns[i] = dial(ctx, c, s)
						if _, err := conns[i].Read(make([]byte, 1)); err == nil {
							t.Error("read what nobody wrote")
						}
						_, err := io.WriteString(conns[(i+lanes/2)%lanes], "a write that should fail\n")
						c.Record(history.Event{Kind: history.Fail, Op: history.Write, ID: i + 1, Error: fmt.Sprint(err)})
					})
				}
				w.Plan(time.Second, f)
			})
			failed := 0
			for _, e := range h.Events {
				switch {
				case e.Kind == history.Message:
					t.Errorf("%v: %s %s", f, e.Op, e.Value)
				case e.Kind == history.Fail && strings.Contains(e.Error, errReset.Error()):
					failed++
				case e.Kind == history.Fail:
					t.Errorf("%v: write %d: %s", f, e.ID, e.Error)
				}
			}
			if want := map[string]int{"crash": 0, "reset": lanes}[f.Verb()]; failed != want {
				t.Errorf("%v: %d records of failed writes, want %d", f, failed, want)
			}
			if t.Failed() {
				return
			}
		}
	}
}

// Goroutines of a client that wake at the same instant run one after the other, in the order of the nodes that they wait for.
// Libraries draw delays from math/rand when they wake; otherwise the Go scheduler would decide who draws first.
func TestGoroutinesWakeInOrder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	nodes := []string{"n1", "n2", "n3", "n4", "n5"}
	link := func(node string) history.Link { return history.Link{From: "c1", To: node} }
	for _, test := range []struct {
		name    string
		plan    func(w *World, node string)
		writes  string
		timeout time.Duration
	}{
		{"a reset of each request", func(w *World, node string) {
			w.Plan(0, history.Chosen{Link: link(node), Nth: 1, Action: history.ResetMessage})
		}, "a request that is lost\n", time.Hour},
		{"a reset of each connection", func(w *World, node string) { w.Plan(time.Second, history.Reset{Link: link(node)}) }, "", time.Hour},
		{"a timeout", func(*World, string) {}, "", time.Second},
		{"a crash", func(w *World, node string) {
			if node == "n1" {
				w.Plan(time.Second, history.Crash{Process: "c1"})
			}
		}, "", time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 100 {
				var woke []string
				inWorld(t, Config{Seed: 1}, func(w *World) {
					c := w.Process("c1")
					for _, node := range nodes {
						s := w.Serve(node, &echo{})
						test.plan(w, node)
						c.Go(func(ctx context.Context) {
							conn := dial(ctx, c, s)
							conn.SetReadDeadline(time.Now().Add(test.timeout - time.Duration(time.Now().Nanosecond())))
							c.Until(10 * time.Millisecond)
							if test.writes != "" {
								io.WriteString(conn, test.writes)
							}
							conn.Read(make([]byte, 1))
							runtime.Gosched()
							woke = append(woke, node) // the race detector notices if two are awake
						})
					}
				})
				if !slices.Equal(woke, nodes) {
					t.Fatalf("they wake in the order %v", woke)
				}
			}
		})
	}
}

// A client learns of the crash of a server on all its connections at once. The Go scheduler decides on which of them it waits and
// which is idle. This must not decide whether the idle one is known to be dead, even if the client was paused when the server crashed, and
// whether the connections were closed or, because the server had not read what the client wrote, reset.
func TestCrashIsHeardAtOnce(t *testing.T) {
	for i := range 12 {
		which, paused, unread := i%3, i/3%2 == 1, i >= 6
		var errs []string
		inWorld(t, Config{Seed: 1}, func(w *World) {
			s, c := w.Serve("n1", &echo{}), w.Process("c1")
			want := error(io.EOF)
			if unread {
				want = syscall.ECONNRESET
				w.Plan(100*time.Millisecond, history.Pause{Process: "n1", For: time.Minute})
			}
			c.Go(func(ctx context.Context) {
				conns := []net.Conn{dial(ctx, c, s), dial(ctx, c, s), dial(ctx, c, s)}
				if unread {
					c.Until(200 * time.Millisecond)
					for _, conn := range conns {
						io.WriteString(conn, "x")
					}
				}
				if _, err := conns[which].Read(make([]byte, 1)); err == nil {
					t.Error("read what nobody wrote")
				}
				for i, conn := range conns {
					raw, err := conn.(syscall.Conn).SyscallConn()
					if err == nil {
						err = raw.Read(func(uintptr) bool { return true })
					}
					if !errors.Is(err, want) {
						errs = append(errs, fmt.Sprintf("connection %d: %v", i, err))
					}
				}
			})
			w.Plan(time.Second, history.Crash{Process: "n1"})
			if paused {
				w.Plan(500*time.Millisecond, history.Pause{Process: "c1", For: time.Minute})
			}
		})
		if len(errs) > 0 {
			t.Errorf("waiting on connection %d, paused %v, unread %v: %v", which, paused, unread, errs)
		}
	}
}

// Crashes of two servers during a pause are two events, in the order in which they happened.
func TestCrashesInAPauseKeepTheirOrder(t *testing.T) {
	var woke []string
	inWorld(t, Config{Seed: 1}, func(w *World) {
		c := w.Process("c1")
		for _, node := range []string{"n1", "n2"} {
			s := w.Serve(node, &echo{})
			c.Go(func(ctx context.Context) {
				dial(ctx, c, s).Read(make([]byte, 1))
				woke = append(woke, node)
			})
		}
		w.Plan(500*time.Millisecond, history.Pause{Process: "c1", For: time.Minute})
		w.Plan(time.Second, history.Crash{Process: "n2"})
		w.Plan(2*time.Second, history.Crash{Process: "n1"})
	})
	if want := []string{"n2", "n1"}; !slices.Equal(woke, want) {
		t.Errorf("they wake in the order %v, want %v", woke, want)
	}
}

// If a fault is injected while the history is being written, nobody wakes before the scheduler has finished what it was doing:
// sending what was written, or delivering.
func TestFaultsWaitForTheScheduler(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, tt := range []struct {
		name string
		when func(history.Event) bool
		want []string
	}{
		{"flush", func(e history.Event) bool { return e.Kind == history.Invoke }, []string{"before", "0 " + errReset.Error(), "after"}},
		{"delivery", func(e history.Event) bool { return e.Value == "PING" && e.Process == "c1" }, []string{"before", "5 <nil>", "after"}},
	} {
		n2 := &echo{}
		h := inWorld(t, Config{Seed: 1}, func(w *World) {
			s1, s2, c := w.Serve("n1", &echo{}), w.Serve("n2", n2), w.Process("c1")
			c.Go(func(ctx context.Context) {
				a, b := dial(ctx, c, s1), dial(ctx, c, s2)
				c.Record(history.Event{Kind: history.Invoke, Op: history.Read, ID: 1})
				io.WriteString(b, "before\n")
				io.WriteString(a, "PING\n")
				n, err := a.Read(make([]byte, 100))
				io.WriteString(b, "after\n")
				if op := new(net.OpError); errors.As(err, &op) {
					err = op.Err
				}
				c.Record(history.Event{Kind: history.Info, Op: history.Read, ID: 1, Value: fmt.Sprint(n, " ", err)})
				c.Until(time.Second)
			})
			w.Watch(func(e history.Event) {
				if tt.when(e) {
					w.Inject(history.Reset{Link: history.Link{From: "c1", To: "n1", Both: true}})
					for range 1000 { // let those that woke run
						runtime.Gosched()
					}
				}
			})
		})
		var got []string
		for _, e := range h.Events {
			if e.Kind == history.Info || e.Kind == history.Message && e.Process == "n2" {
				got = append(got, e.Value)
			}
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// The goroutines of a dead process may run on for a while, but nothing that they do enters the history.
func TestTheDeadLeaveNoTrace(t *testing.T) {
	for _, useNetwork := range []func(c *Process){
		func(c *Process) { c.Pause(time.Second) },
		func(c *Process) { c.Clock().Now() },
		func(c *Process) { c.Clock().Sleep(time.Second); t.Error("woke up") },
		func(c *Process) { c.Clock().AfterFunc(500*ms, func() { t.Error("a dead process called a function") }) },
	} {
		h := inWorld(t, Config{Seed: 1}, func(w *World) {
			s, c := w.Serve("n1", &echo{}), w.Process("c1")
			for range 10 {
				c.Go(func(ctx context.Context) {
					io.ReadAll(dial(ctx, c, s))
					useNetwork(c)
				})
			}
			w.Plan(500*time.Millisecond, history.Drift{Process: "c1", PPM: 1000})
			w.Plan(time.Second, history.Crash{Process: "c1"})
			w.Process("c2").Go(func(context.Context) { time.Sleep(2 * time.Second) })
		})
		var got []string
		for _, e := range h.Events {
			got = append(got, fmt.Sprint(e.Kind, " ", e.Value))
		}
		if want := []string{"fault drift c1 +1000ppm", "fault crash c1", "bite crash c1"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Timers that are due together fire in the order in which they were set, even if the rate of their clock has changed.
func TestDriftKeepsTheOrderOfTimers(t *testing.T) {
	always(t, func() string {
		var got string
		inWorld(t, Config{Seed: 1}, func(w *World) {
			c := w.Process("c1")
			c.Go(func(context.Context) {
				var mu sync.Mutex
				for _, x := range []string{"a", "b", "c"} {
					c.Clock().AfterFunc(time.Second, func() { mu.Lock(); got += x; mu.Unlock() })
				}
				c.Clock().Sleep(2 * time.Second)
			})
			w.Plan(500*time.Millisecond, history.Drift{Process: "c1", PPM: 1000})
		})
		return got
	})
}

// A library that peeks at an idle connection learns whether it is alive, without a file descriptor.
func TestPeek(t *testing.T) {
	peek := func(c any) error {
		raw, err := c.(syscall.Conn).SyscallConn()
		if err != nil {
			return err
		}
		return raw.Read(func(uintptr) bool { t.Error("the peek was given a file descriptor"); return true })
	}
	inWorld(t, Config{Seed: 1}, func(w *World) {
		s, c := w.Serve("n1", &echo{}), w.Process("c1")
		c.Go(func(ctx context.Context) {
			idle, reset, unread := dial(ctx, c, s), dial(ctx, c, s), dial(ctx, c, s)
			idle.SetReadDeadline(time.Now().Add(-time.Second)) // a peek clears it
			if err := peek(idle); err != nil {
				t.Errorf("alive: %v", err)
			}
			io.WriteString(unread, "hello\n")
			c.Until(time.Second)
			if err := peek(unread); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("unread bytes: %v", err)
			}
			unread.Close()
			if err := peek(unread); err == nil {
				t.Error("closed, and the peek saw nothing")
			}
			c.Until(3 * time.Second)
			if err := peek(idle); err != io.EOF {
				t.Errorf("after a crash of the other end: %v", err)
			}
			again := dial(ctx, c, s)
			c.Until(5 * time.Second)
			if err := peek(again); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("after a reset: %v", err)
			}
			reset.Close()
		})
		w.Plan(2*time.Second, history.Crash{Process: "n1"})
		w.Plan(2500*time.Millisecond, history.Restart{Process: "n1"})
		w.Plan(4*time.Second, history.Reset{Link: history.Link{From: "c1", To: "n1", Both: true}})
	})
}

// Code that runs on during a pause, by package time, is reported once for each pause, whether it writes to the network or only
// records something. Code that stops is not reported, and neither is what was written right before the pause.
func TestUnpaused(t *testing.T) {
	count := func(write bool, sleep func(p *Process, d time.Duration)) (n int) {
		h := inWorld(t, Config{Seed: 1}, func(w *World) {
			s := w.Serve("n1", &echo{})
			var ps []*Process
			for _, name := range []string{"c1", "c2"} {
				ps = append(ps, w.Process(name))
			}
			for _, p := range ps {
				p.Go(func(ctx context.Context) {
					conn := dial(ctx, p, s)
					for range 12 {
						sleep(p, time.Second)
						p.Record(history.Event{Kind: history.OK, Op: history.Check})
						if write {
							io.WriteString(conn, "tick\n")
						}
					}
				})
			}
			seen := 0
			w.Watch(func(e history.Event) { // in the quiet period of the write
				if e.Kind == history.OK && e.Process == "c1" {
					if seen++; seen == 1 {
						w.Inject(history.Pause{Process: "c1", For: 3500 * time.Millisecond})
					}
				}
			})
			w.Plan(6500*time.Millisecond, history.Pause{Process: "c1", For: 3 * time.Second})
			w.Plan(6500*time.Millisecond, history.Pause{Process: "c2", For: 3 * time.Second})
		})
		for _, e := range h.Events {
			if e.Kind == history.Info && e.Op == history.Unpaused {
				n++
			}
		}
		return n
	}
	stops := func(p *Process, d time.Duration) { p.Clock().Sleep(d) }
	if n := count(true, stops); n != 0 {
		t.Errorf("the clock of the process: caught %d times", n)
	}
	runsOn := func(_ *Process, d time.Duration) { time.Sleep(d) }
	for _, write := range []bool{true, false} {
		if n := count(write, runsOn); n != 3 {
			t.Errorf("package time, writes %t: caught %d times in 3 pauses", write, n)
		}
	}
}

// TestJoins: the timers of one process that are due together are one event, unless a pause has delayed one of them.
func TestJoins(t *testing.T) {
	c1, c2 := &Process{Name: "c1"}, &Process{Name: "c2"}
	timer := item{at: 2, class: classTimer, due: 2, proc: c1}
	for _, test := range []struct {
		name   string
		change func(it *item)
		want   bool
	}{
		{"the same", func(*item) {}, true},
		{"later", func(it *item) { it.at = 3 }, false},
		{"put off", func(it *item) { it.due = 1 }, false},
		{"of another", func(it *item) { it.proc = c2 }, false},
		{"of nobody", func(it *item) { it.proc = nil }, false},
		{"a fault", func(it *item) { it.class = classFault }, false},
	} {
		it := timer
		test.change(&it)
		if got := it.joins(&timer); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
