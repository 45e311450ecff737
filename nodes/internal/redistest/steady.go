package redistest

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// still is how late a timer must be for a failed test to be repeated.
const still = 5 * time.Millisecond

// Steady runs a test whose steps depend on real time. If the test fails while the machine stalled, it has tested something else,
// and is repeated. A failure while timers were on time counts, and so does the last of ten.
func Steady(t *testing.T, test func(t testing.TB)) {
	t.Helper()
	const tries = 10
	for try := 1; ; try++ {
		a := &attempt{TB: t}
		late := a.take(test)
		switch {
		case !a.failed:
			return
		case late < still, try == tries:
			t.Fatalf("try %d, timers were up to %v late:\n%s", try, late, strings.Join(a.said, "\n"))
		}
		t.Logf("once more, since timers were up to %v late:\n%s", late, strings.Join(a.said, "\n"))
		time.Sleep(time.Duration(try) * 100 * time.Millisecond) // the load on the machine may end
	}
}

// An attempt is a run of a test whose failure does not fail the test yet.
type attempt struct {
	testing.TB
	mu     sync.Mutex
	failed bool
	said   []string
	ends   []func()
}

// take makes the attempt, and returns the longest time by which a timer was late.
func (a *attempt) take(test func(t testing.TB)) (late time.Duration) {
	stop, measured := make(chan struct{}), make(chan time.Duration)
	go func() {
		most := time.Duration(0)
		for {
			begin := time.Now()
			select {
			case <-time.After(time.Millisecond):
				most = max(most, time.Since(begin)-time.Millisecond)
			case <-stop:
				measured <- max(most, time.Since(begin)-time.Millisecond)
				return
			}
		}
	}()
	var wg sync.WaitGroup
	wg.Go(func() { // Fatal ends this goroutine
		defer func() {
			for i := len(a.ends) - 1; i >= 0; i-- {
				a.ends[i]()
			}
		}()
		test(a)
	})
	wg.Wait()
	close(stop)
	return <-measured
}

func (a *attempt) Cleanup(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ends = append(a.ends, f)
}

func (a *attempt) Fail() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = true
}

func (a *attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

func (a *attempt) Log(args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, fmt.Sprintln(args...))
}

func (a *attempt) Logf(format string, args ...any)   { a.Log(fmt.Sprintf(format, args...)) }
func (a *attempt) Error(args ...any)                 { a.Log(args...); a.Fail() }
func (a *attempt) Errorf(format string, args ...any) { a.Logf(format, args...); a.Fail() }
func (a *attempt) FailNow()                          { a.Fail(); runtime.Goexit() }
func (a *attempt) Fatal(args ...any)                 { a.Log(args...); a.FailNow() }
func (a *attempt) Fatalf(format string, args ...any) { a.Logf(format, args...); a.FailNow() }
