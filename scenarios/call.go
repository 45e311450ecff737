package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/search"
	"lockstep/sim/wasm"
	"lockstep/sim/workers"
)

// calls counts how often each test has called Test or RunFile: a worker process has to know which of the calls it serves, and
// only the number distinguishes two calls of one test.
var calls = struct {
	sync.Mutex
	of map[*testing.T]int
}{of: map[*testing.T]int{}}

// callEnv tells a worker which call it serves.
const callEnv = "LOCKSTEP_CALL"

// enter returns the name of the call. In a worker process that serves this call it does the worker's work, and does not return;
// in one that serves another call the name is empty.
func enter(t *testing.T, newLock clients.New) string {
	calls.Lock()
	n := calls.of[t]
	calls.of[t]++
	calls.Unlock()
	if n == 0 {
		t.Cleanup(func() {
			calls.Lock()
			defer calls.Unlock()
			delete(calls.of, t)
		})
	}
	call := fmt.Sprintf("%s %d", t.Name(), n)
	if workers.IsWorker() {
		serve(call, newLock, t.Failed)
		return ""
	}
	return call
}

// serve does the work of a worker process that serves this call, and ends it. In a worker for another call it returns. Failed
// reports whether the test that makes the call has failed.
func serve(call string, newLock clients.New, failed func() bool) {
	if os.Getenv(callEnv) != call {
		return
	}
	before := failed() // otherwise the test fails by itself
	find := func(lock string) (clients.New, error) {
		if build, err := clients.Find(lock); err == nil {
			return build, nil // for comparison; the lock under test has the name of its test
		}
		return proper(newLock), nil
	}
	if wasm.Inside {
		if err := play.Serve(find, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	play.QuietRedis()
	err := workers.Work(func(ctx context.Context, data json.RawMessage) (any, error) {
		d, err := play.Perform(ctx, data, find, search.SearchTask)
		if err == nil && failed() && !before {
			return nil, failedTest{}
		}
		return d, err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
