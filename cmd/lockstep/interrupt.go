package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// How long an interrupted program may take.
const (
	// twice is how much later one signal may arrive a second time: Ctrl-C and timeout(1) send one to a process and to its group.
	twice = 300 * time.Millisecond
	// stopGrace is for a program that has nothing to put in order, and for one that nobody reads.
	stopGrace = 1200 * time.Millisecond
	// orderGrace is for one that stops servers, removes keys and saves what has been played.
	orderGrace = time.Minute
	stopPoll   = 50 * time.Millisecond
)

// holds counts the calls of hold that are not done.
var holds atomic.Int32

// hold delays the end of an interrupted program until done is called, but at most for orderGrace. It is for commands that have servers to stop,
// keys to remove, or results to save.
func hold() (done func()) {
	holds.Add(1)
	return sync.OnceFunc(func() { holds.Add(-1) })
}

// heed ends the program after an interruption if it does not end by itself, because it computes or because nobody reads what it prints. Then
// workers and servers are killed by the kernel, and their directories removed by cleaners (package workers). From then on a signal kills.
func heed(ctx context.Context, stop func(), all ...*output) {
	<-ctx.Done()
	begun := time.Now()
	time.Sleep(twice)
	stop()
	writes := make([]int64, len(all))
	for idle := twice; idle < stopGrace && time.Since(begun) < orderGrace; idle += stopPoll {
		stuck := false
		for i, o := range all {
			now := o.writes.Load()
			stuck = stuck || now%2 != 0 && now == writes[i]
			writes[i] = now
		}
		if holds.Load() > 0 && !stuck {
			idle = twice
		}
		time.Sleep(stopPoll)
	}
	told := make(chan bool)
	go func() {
		interrupted(os.Stderr)
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(stopPoll):
	}
	os.Exit(exitInput)
}

func interrupted(w io.Writer) { fmt.Fprintln(w, "lockstep: interrupted") }

// output is standard output or standard error. It remembers the first error of a write.
type output struct {
	*os.File
	err    error
	writes atomic.Int64 // that have begun or ended: an odd number while one is under way
}

func (o *output) Write(b []byte) (int, error) {
	o.writes.Add(1)
	defer o.writes.Add(1)
	n, err := o.File.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}
