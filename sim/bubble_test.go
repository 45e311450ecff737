package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/sim/history"
)

func TestBubbleReturnsPanic(t *testing.T) {
	err := Bubble(func() { explode() })
	if err == nil || !strings.HasPrefix(err.Error(), "panic: boom\n") || !strings.Contains(err.Error(), "sim.explode") {
		t.Errorf("got %v", err)
	}
	err = Bubble(func() { go func() { select {} }(); explode() })
	if err == nil || !strings.HasPrefix(err.Error(), "panic: boom\n") {
		t.Errorf("a leak hides the panic that caused it: %v", err)
	}
	if err := Bubble(runtime.Goexit); err == nil {
		t.Error("a run that was not carried out to its end looks like one that was")
	}
}

func explode() { panic("boom") }

// TestBubbleReportsLeak: a goroutine that is left behind is an error with its stack, and no other stacks.
func TestBubbleReportsLeak(t *testing.T) {
	outside := make(chan int)
	go leaked(outside)
	defer close(outside)
	leak(t, "first")
	stacks := leak(t, "second")
	if strings.Count(stacks, "goroutine ") != 2 || strings.Count(stacks, "sim.leaked(") != 1 { // "created by ... in goroutine 7"
		t.Errorf("more than what was left behind:\n%s", stacks)
	}
}

func leak(t *testing.T, what string) string {
	t.Helper()
	err := Bubble(func() { go leaked(make(chan int)) })
	var le *LeakError
	if !errors.As(err, &le) || !strings.Contains(le.Error(), "sim.leaked(") {
		t.Fatalf("%s leak: %v", what, err)
	}
	return le.Stacks
}

func leaked(c chan int) { <-c }

// TestLeakOfLane: goroutines of a client are a leak if they go on after its lane has ended.
func TestLeakOfLane(t *testing.T) {
	for name, left := range map[string]func(p *Process){
		"a ticker": func(p *Process) {
			for range p.Clock().NewTicker(time.Second).Chan() {
			}
		},
		"package time": func(p *Process) {
			for {
				time.Sleep(time.Second)
			}
		},
		"another channel": func(p *Process) { leaked(make(chan int)) },
	} {
		err := Bubble(func() {
			w := NewWorld(Config{})
			p := w.Process("c1")
			p.Go(func(context.Context) { go left(p) })
			w.Run()
			w.Close()
		})
		var le *LeakError
		if !errors.As(err, &le) || !strings.Contains(le.Stacks, "TestLeakOfLane") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoLeak: a goroutine is no leak if it ends when connections break, contexts end or timers fire. Neither are goroutines of the
// kernel.
func TestNoLeak(t *testing.T) {
	before := runtime.NumGoroutine()
	for seed := range uint64(100) {
		inWorld(t, Config{Seed: seed}, func(w *World) {
			n, c := w.Serve("n1", &echo{}), w.Process("c1")
			w.At(0, func() { w.Inject(history.Cut{Link: history.Link{From: "c1", To: "n1", Both: false}}) })
			c.Go(func(ctx context.Context) {
				for name, left := range map[string]func(){
					"dials":            func() { c.DialContext(context.Background(), "tcp", n.Addr()) },
					"sleeps":           func() { c.Clock().Sleep(time.Hour) },
					"waits":            func() { <-c.Clock().After(time.Hour) },
					"waits for a time": func() { c.Until(time.Hour) },
					"paused":           func() { c.Pause(time.Hour) },
					"package time":     func() { time.Sleep(30 * time.Second) },
					"context":          func() { <-ctx.Done() },
				} {
					_ = name
					go left()
				}
				time.Sleep(time.Second)
			})
		})
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * ms)
	}
	t.Errorf("%d goroutines before, %d after\n%s", before, runtime.NumGoroutine(), Stacks())
}

// TestBubblesInParallel: bubbles are independent.
func TestBubblesInParallel(t *testing.T) {
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			for range 5 {
				sum, _, err := crowd(1, nil)
				if errs[i] = err; err == nil && i%2 == 0 {
					errs[i] = leakOnce()
				}
				_ = sum
			}
		})
	}
	all.Wait()
	for i, err := range errs {
		if i%2 == 0 {
			if err == nil || strings.Count(err.Error(), "sim.leaked(") != 1 {
				t.Errorf("bubble %d: %v", i, err)
			}
		} else if err != nil {
			t.Errorf("bubble %d: %v", i, err)
		}
	}
}

func leakOnce() error {
	err := Bubble(func() { go leaked(make(chan int)) })
	if err == nil {
		return fmt.Errorf("no leak was seen")
	}
	return err
}

// TestCloseWaits: when Close returns, code that runs on by package time after the end has ended, or waits again.
func TestCloseWaits(t *testing.T) {
	err := Bubble(func() {
		w := NewWorld(Config{Seed: 1})
		ended := false
		w.Process("c1").Go(func(ctx context.Context) {
			go func() {
				<-ctx.Done()
				time.Sleep(time.Minute) // as long as Close does
				for range 1000 {
					runtime.Gosched()
				}
				ended = true
			}()
		})
		w.Run()
		w.Close()
		if !ended {
			t.Error("it still runs")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
