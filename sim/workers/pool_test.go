package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A pool keeps its worker from one job to the next, replaces a worker that is spent or dead, and leaves none behind.
func TestPool(t *testing.T) {
	t.Parallel()
	s := Supervisor{Command: startTest("TestWorkerProcess"), Limit: 10 * time.Second}
	p, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	do := func(j json.RawMessage) Outcome {
		t.Helper()
		o, err := p.Do(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	first := do(job("pid"))
	if again := do(job("pid")); fmt.Sprint(again.Result) != fmt.Sprint(first.Result) {
		t.Errorf("a worker was replaced without need: %s, then %s", first.Result, again.Result)
	}
	if o := do(job("leak")); o.Report == nil || o.Report.Reason != "goroutines left behind" {
		t.Errorf("a leak: %v", o.Report)
	}
	second := do(job("pid"))
	if fmt.Sprint(second.Result) == fmt.Sprint(first.Result) {
		t.Error("a worker was kept after a leak")
	}

	pid, _ := strconv.Atoi(fmt.Sprint(second.Result))
	worker, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	worker.Kill()
	<-p.idle[0].dead
	third := do(job("pid"))
	if third.Report != nil || fmt.Sprint(third.Result) == fmt.Sprint(second.Result) {
		t.Errorf("after the idle worker was killed: %s, %v", third.Result, third.Report)
	}

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Do(cancelled, job("pid")); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled job: %v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := p.Do(late, job("go on")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a job that was cancelled while it was being done: %v", err)
	}
	if o := do(job("pid")); o.Report != nil || fmt.Sprint(o.Result) == fmt.Sprint(third.Result) {
		t.Errorf("after that: %s, %v", o.Result, o.Report)
	}
	p.Close()
	if len(p.idle) != 0 {
		t.Error("a worker is left")
	}
}

// Jobs that run at the same time have a worker each.
func TestPoolAtOnce(t *testing.T) {
	t.Parallel()
	s := Supervisor{Command: startTest("TestWorkerProcess"), Limit: 10 * time.Second}
	p, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	got := make(chan error)
	for i := range 6 {
		go func() {
			o, err := p.Do(t.Context(), job("return", strconv.Itoa(i)))
			if want := fmt.Sprint("did ", i); err == nil && fmt.Sprint(o.Result) != want {
				err = fmt.Errorf("job %d: %s, %v, want %s", i, o.Result, o.Report, want)
			}
			got <- err
		}()
	}
	for range 6 {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
}

func TestPoolRefusesBadWorkers(t *testing.T) {
	t.Parallel()
	s := Supervisor{Command: startTest("TestNoSuchTest")}
	p, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Do(t.Context(), job("pid")); err == nil || !strings.Contains(err.Error(), "ended before it took a job") {
		t.Errorf("error %v", err)
	}
}
