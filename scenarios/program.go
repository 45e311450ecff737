package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/search"
	"lockstep/sim/wasm"
	"lockstep/sim/workers"
)

// Run does in a program what [Test] does in a test: it plays a lock in the catalogue, and returns the outcome of each run, in the
// order of the catalogue. [play.Outcome.Broken] lists the claims that a run breaks; [Summary] prints the table. An error means
// that the runs were not possible: an option is invalid, a worker could not be started, or ctx has ended.
//
// The runs take place in worker processes, for which Run starts the program again with the same arguments. In a worker Run does
// not return. So main must call Run there, too, and the code of main before the call runs in each worker. If main does not get to
// the call, Run returns an error. Run searches the source for calls of package time and for package variables that may differ
// between processes, and compiles the program to WebAssembly if needed. For that, the source must still be where it was built,
// and main must call Run in its own goroutine. If main calls Run several times, it must do so one after the other: in a worker
// for a later call, the earlier calls return nil and nil.
func Run(ctx context.Context, newLock clients.New, opts ...Option) ([]*play.Outcome, error) {
	call := fmt.Sprintf("Run %d", runs.Add(1))
	if !testing.Testing() {
		wasm.SetSource(mainDir(), false)
	}
	if workers.IsWorker() {
		serve(call, newLock, func() bool { return false })
		return nil, nil
	}
	if testing.Testing() {
		return nil, errors.New("scenarios.Run is for programs, because its worker processes run main again; in a test use scenarios.Test")
	}
	o, err := gather(newLock, opts, (*options).forCatalogue)
	if err != nil {
		return nil, err
	}
	trials, err := o.trials("yours", newLock)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if trials, _, err = o.possible(trials); err != nil {
		return nil, err
	}
	var cases []play.Case
	for _, t := range trials {
		t.Case.Promise = t.promise
		cases = append(cases, t.Case)
	}
	s := &workers.Supervisor{Limit: o.limit, Memory: workers.Memory(o.memory), Command: func() *exec.Cmd {
		c := exec.Command(self, os.Args[1:]...)
		c.Env = append(c.Environ(), callEnv+"="+call)
		return c
	}}
	outcomes := make([]*play.Outcome, len(cases))
	err = search.RunAll(ctx, s, cases, func(i int, out *play.Outcome) { outcomes[i] = out })
	if err != nil {
		return nil, fmt.Errorf("scenarios.Run: %w", err)
	}
	return outcomes, nil
}

// mainDir returns the directory of the program's package main, if its source is on this machine and the caller was called by main.
func mainDir() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function == "main.main" {
			if _, err := os.Stat(f.File); err == nil {
				return filepath.Dir(f.File)
			}
		}
	}
	return ""
}

// runs counts the calls of Run: a worker process has to know which of them it serves.
var runs atomic.Int64
