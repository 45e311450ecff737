package workers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"lockstep/sim/history"
)

// child is the supervisor's side of a worker.
type child struct {
	cmd     *exec.Cmd
	jobs    *os.File      // to the worker
	encoder encoder       // of requests, to jobs
	answers chan answer   // from it; closed when there are no more
	notice  func(string)  // called with its notices; may be nil
	broken  error         // why there are no more answers, unless the worker ended; read only after that
	dead    chan struct{} // closed when the process has ended
	left    chan struct{} // closed when answers are no longer read
	printed *tail
	spent   bool // fit for no more jobs
}

// hire starts a worker and waits until it reports that it is one.
func (r *run) hire() (*child, error) {
	c := &child{
		cmd:     r.Command(),
		answers: make(chan answer),
		dead:    make(chan struct{}),
		left:    make(chan struct{}),
		printed: &tail{also: r.Output, mu: &r.mu},
	}
	if r.Notice != nil {
		c.notice = func(text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.Notice(text)
		}
	}
	if err := r.launch(c); err != nil {
		return nil, fmt.Errorf("sim: start worker: %w", err)
	}
	if err := c.await(r.ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// launch starts the process of a worker, connected by pipes. When the process ends, those that it has started end too.
func (r *run) launch(c *child) error {
	jobs, toWorker, err := os.Pipe()
	if err != nil {
		return err
	}
	fromWorker, answers, err := os.Pipe()
	if err != nil {
		jobs.Close()
		toWorker.Close()
		return err
	}
	c.jobs, c.encoder = toWorker, newEncoder(toWorker)

	cmd := c.cmd
	cmd.Stdout, cmd.Stderr = c.printed, c.printed
	pipes := "std"
	if runtime.GOOS == "windows" { // other files cannot be inherited
		cmd.Stdin, cmd.Stdout = jobs, answers
	} else {
		pipes = fmt.Sprintf("%d,%d", 3+len(cmd.ExtraFiles), 4+len(cmd.ExtraFiles))
		cmd.ExtraFiles = append(cmd.ExtraFiles, jobs, answers)
	}
	mark := fmt.Sprintf("%s%016x", markEnv, rand.Uint64())
	cmd.Env = append(workerEnviron(cmd.Environ(), pipes), mark+"=1")
	cmd.WaitDelay = time.Second // in case a process that the worker has started keeps the pipe open
	tether(cmd)
	lead(cmd)

	started := make(chan error)
	r.tasks <- func() {
		err := cmd.Start()
		if err == nil {
			r.cleaner.note("+", cmd.Process.Pid)
		}
		started <- err
	}
	err = <-started
	jobs.Close()
	answers.Close()
	if err != nil {
		toWorker.Close()
		fromWorker.Close()
		return err
	}
	go c.listen(fromWorker)
	go func() {
		cmd.Wait()
		killGroup(cmd.Process.Pid)
		killMarked(mark)
		r.cleaner.note("-", cmd.Process.Pid)
		fromWorker.SetReadDeadline(time.Now().Add(time.Second)) // as WaitDelay
		close(c.dead)
	}()
	return nil
}

// await waits until the process reports that it is a worker, and kills it if it does not.
func (c *child) await(ctx context.Context) error {
	startTimer := time.NewTimer(startLimit)
	defer startTimer.Stop()
	select {
	case a, ok := <-c.answers:
		if ok && a.Ready {
			return nil
		}
		c.kill()
		if ok {
			return fmt.Errorf("sim: %v is not a worker of this version", c.cmd)
		}
		return fmt.Errorf("sim: %v ended before it took a job: %v\n%s", c.cmd, cmp.Or[any](c.broken, c.cmd.ProcessState), lastLines(c.printed.String(), shownPrinted))
	case <-startTimer.C:
		c.kill()
		return fmt.Errorf("sim: %v did not call Work within %v\n%s", c.cmd, startLimit, lastLines(c.printed.String(), shownPrinted))
	case <-ctx.Done():
		c.kill()
		return context.Cause(ctx)
	}
}

// markEnv is the prefix of a variable that marks a worker and all its descendants; each worker has its own.
const markEnv = "LOCKSTEP_WORKER_"

// workerEnviron adds to env what a worker needs. If a variable has two values, the last counts.
func workerEnviron(env []string, pipes string) []string {
	value := func(name string) string {
		v := ""
		for _, e := range env {
			if s, ok := strings.CutPrefix(e, name+"="); ok {
				v = s
			}
		}
		return v
	}
	// rand.Seed has had no effect since Go 1.24 without this; a worker seeds the source that libraries share.
	debug := "randseednop=0"
	if v := value("GODEBUG"); v != "" {
		debug = v + "," + debug
	}
	env = append(env, workerEnv+"="+pipes, "GOMAXPROCS=1", "GODEBUG="+debug)
	if v := value("GOTRACEBACK"); v != "system" && v != "crash" {
		env = append(env, "GOTRACEBACK=all") // other goroutines often explain a panic
	}
	return env
}

// listen reads answers until there are no more.
func (c *child) listen(from *os.File) {
	defer close(c.answers)
	defer from.Close()
	dec := newDecoder(from)
	for {
		var a answer
		if err := dec.Decode(&a); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
				c.broken = err
			}
			return
		}
		if a.Notice != "" {
			if c.notice != nil {
				c.notice(history.Shortened(a.Notice, keptReason))
			}
			continue
		}
		select {
		case c.answers <- a:
		case <-c.left:
			return
		}
	}
}

// The steps against a worker that exceeds its limit. The first step gives the best stacks, because the runtime stops every
// goroutine where it is, while a signal shows only the thread that receives it. But it requires that the runtime can still
// schedule a goroutine.
const (
	inTime = iota
	asked  // to report its stacks and exit
	told   // by SIGQUIT, to print its stacks and exit
	killed
)

// limitOf returns how long a job may take.
func (r *run) limitOf(job json.RawMessage) time.Duration {
	var asks struct {
		Patience int `json:"patience"`
	}
	if err := json.Unmarshal(job, &asks); err != nil { // a job of another form
		return r.Limit
	}
	return r.Limit * time.Duration(max(1, asks.Patience))
}

// do makes the worker do one job. The error is that of ctx.
func (c *child) do(ctx context.Context, i int, job json.RawMessage, limit time.Duration, memory Memory) (Outcome, error) {
	c.printed.reset()
	c.send(request{Job: i, Data: job, Memory: memory}, limit)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	scale := scale{pid: c.cmd.Process.Pid}
	weigh := time.NewTicker(weighEvery)
	defer weigh.Stop()
	for step := inTime; ; {
		select {
		case a, ok := <-c.answers:
			switch {
			case !ok:
				c.spent = true
				return Outcome{Report: c.autopsy(step, limit)}, nil
			case a.Job != i:
				continue
			}
			c.spent = a.Last || step != inTime
			return Outcome{a.Result, a.Report}, nil
		case <-weigh.C:
			if r := scale.exceeds(memory); r != nil {
				c.spent = true
				return Outcome{Report: c.putDown(r, memory)}, nil
			}
		case <-timer.C:
			step++
			switch step {
			case asked:
				c.send(request{Job: i, Stacks: limit}, grace)
			case told:
				quit(c.cmd.Process)
			case killed:
				c.cmd.Process.Kill()
			}
			timer.Reset(grace)
		case <-ctx.Done():
			return Outcome{}, ctx.Err()
		}
	}
}

// putDown kills a worker that uses too much memory, and adds to the report what it was doing, if it says so soon. It has not
// reported this itself, because otherwise it would have noticed before its supervisor.
func (c *child) putDown(r *Report, memory Memory) *Report {
	c.printed.reset()
	quit(c.cmd.Process)
	scale := scale{pid: c.cmd.Process.Pid}
	for range grace / weighEvery {
		select {
		case <-c.dead:
		case <-time.After(weighEvery):
			if scale.exceeds(memory+memory/4) == nil {
				continue
			}
		}
		break
	}
	c.kill()
	_, stacks := obituary(c.printed.String())
	d := diagnose(stacks)
	r.Blocked, r.Stacks = d.lines(), stacks
	for _, g := range d.suspect {
		if g.what == runs && !strings.Contains(r.Reason, ": ") {
			r.Reason += ", last in " + g.where()
			break
		}
	}
	return r.bounded()
}

// send writes a request. It ignores errors: a worker that cannot be written to is dead, or will exceed its limit.
func (c *child) send(r request, within time.Duration) {
	c.jobs.SetWriteDeadline(time.Now().Add(within))
	c.encoder.Encode(r)
}

// autopsy says why a worker died during a job.
func (c *child) autopsy(step int, limit time.Duration) *Report {
	return c.findings(step, limit).bounded()
}

func (c *child) findings(step int, limit time.Duration) *Report {
	c.kill()
	printed := c.printed.String()
	reason, stacks := obituary(printed)
	switch {
	case c.broken != nil:
		return &Report{Reason: "the worker wrote an answer that cannot be read: " + c.broken.Error(), Stacks: printed}
	case step >= told && (reason == "" || strings.Contains(printed, "SIGQUIT: ")):
		r := Overdue(limit, stacks)
		if reason != "" && !strings.HasPrefix(reason, "SIGQUIT") {
			// The runtime failed to print the stack of what was running. Of Go code it can always print the stack.
			r.Reason += "; it runs code that is not Go, such as WebAssembly, and never calls its host"
		}
		if r.Blocked == nil {
			r.Reason += "; the worker could not say why, and was killed"
			r.Stacks = printed
		}
		return r
	}
	return died(c.cmd.ProcessState.String(), printed)
}

// kill kills the process if it has not ended, and waits for its end.
func (c *child) kill() {
	select {
	case <-c.dead:
	default:
		c.cmd.Process.Kill()
		killGroup(c.cmd.Process.Pid)
	}
	c.reap()
}

// release lets the process end: an idle worker exits when there are no more jobs, in the normal way, because it may have profiles
// to write.
func (c *child) release() {
	c.jobs.Close()
	select {
	case <-c.dead:
	case <-time.After(grace):
		c.cmd.Process.Kill()
	}
	c.reap()
}

func (c *child) reap() {
	<-c.dead
	c.jobs.Close()
	select {
	case <-c.left:
	default:
		close(c.left)
	}
}
