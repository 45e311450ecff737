package workers

import (
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"lockstep/sim/history"
)

// Supervisor runs jobs in worker processes. So failures that a bubble cannot contain (a panic in a goroutine of a library, a busy
// loop, a concurrent map write, a mutex held across I/O, state that a library keeps for the whole process) end only one job.
//
// A worker is a process that calls [Work]. It has one processor, which suits worlds, and does one job at a time.
type Supervisor struct {
	Command func() *exec.Cmd // starts a worker, in which IsWorker is true
	Workers int              // how many at once; default one per core
	Limit   time.Duration    // real time after which a worker is asked for its stacks and killed; default 20s
	Memory  Memory           // limit for all processes of a job; default 2 GB, or the limit of this process if it is a worker
	Output  io.Writer        // receives what workers print to stdout and stderr, up to 256 kB per job; default none
	// Notice, if set, is called with each text that a worker sends by [Notify], one call at a time.
	Notice func(text string)
}

// Outcome is the outcome of a job.
type Outcome struct {
	Result any     // what [Work] got from its function
	Report *Report // why there is none
}

const (
	defaultLimit = 20 * time.Second
	startLimit   = 30 * time.Second // for a worker to report that it is one
	grace        = 2 * time.Second  // for a worker to do what it was asked before the next step
	keptOutput   = 1 << 20          // bytes kept of a worker's last output; a dump of 500 goroutines fits
	keptHead     = 1 << 16          // bytes kept of its first output
	passedOn     = 1 << 18          // bytes of a worker's output during one job that are passed to Output
)

// errSupervises is for a worker that does not call Work but Run: it would start itself for ever.
var errSupervises = errors.New("sim: this process is a worker, which has to call Work; it cannot supervise")

// Run distributes the jobs and calls done once for each, in the order in which they end, from the calling goroutine.
//
// The outcome of a job whose worker dies or exceeds the limit is a Report, and the other jobs continue with a new worker. Run
// itself fails only if ctx ends, with its error, or if a worker cannot be started. When Run returns, no worker is left.
func (s *Supervisor) Run(ctx context.Context, jobs []json.RawMessage, done func(i int, o Outcome)) error {
	if IsWorker() {
		return errSupervises
	}
	if len(jobs) == 0 {
		return ctx.Err()
	}

	parent := ctx
	ctx, cancel := context.WithCancelCause(parent)
	r := &run{Supervisor: *s, ctx: ctx, jobs: jobs, todo: make(chan int, len(jobs)), ended: make(chan ended), tasks: make(chan func())}
	r.Limit, r.Memory = cmp.Or(r.Limit, defaultLimit), s.memoryLimit()
	for i := range jobs {
		r.todo <- i
	}
	close(r.todo)

	var starter, hands sync.WaitGroup
	starter.Go(r.start)
	for range min(cmp.Or(max(s.Workers, 0), runtime.NumCPU()), len(jobs)) {
		hands.Go(func() {
			if err := r.work(); err != nil {
				cancel(err)
			}
		})
	}
	defer func() {
		cancel(nil)
		hands.Wait()
		close(r.tasks)
		starter.Wait()
	}()
	for range jobs {
		select {
		case e := <-r.ended:
			done(e.job, e.Outcome)
		case <-ctx.Done():
			return cmp.Or(parent.Err(), context.Cause(ctx))
		}
	}
	return nil
}

// A Pool is a set of workers for jobs that come one by one. A worker that is fit for another job is kept.
type Pool struct {
	run    *run
	cancel context.CancelFunc
	start  sync.WaitGroup

	mu    sync.Mutex
	idle  []*child
	taken int // number of jobs so far
}

// Start returns a pool. It starts no worker before the first job, and has as many as there are jobs at once; Workers is ignored.
func (s *Supervisor) Start() (*Pool, error) {
	if IsWorker() {
		return nil, errSupervises
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pool{run: &run{Supervisor: *s, ctx: ctx, tasks: make(chan func())}, cancel: cancel}
	p.run.Limit, p.run.Memory = cmp.Or(p.run.Limit, defaultLimit), s.memoryLimit()
	p.start.Go(p.run.start)
	return p, nil
}

// Do makes a worker do a job. The error is that of ctx, or says why no worker could be started; failures of the job are in the
// outcome. Do may be called concurrently, but not after Close.
func (p *Pool) Do(ctx context.Context, job json.RawMessage) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, err
	}
	c, i, err := p.take()
	if err != nil {
		return Outcome{}, err
	}
	o, err := c.do(ctx, i, job, p.run.Limit, p.run.Memory)
	if err != nil || c.spent {
		c.kill()
		return o, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
	return o, nil
}

// take returns an idle worker, and a number for its job.
func (p *Pool) take() (*child, int, error) {
	p.mu.Lock()
	p.taken++
	i := p.taken
	var c *child
	if n := len(p.idle); n > 0 {
		c, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	p.mu.Unlock()
	if c != nil {
		select {
		case <-c.dead: // it was killed while it was idle
			c.reap()
		default:
			return c, i, nil
		}
	}
	c, err := p.run.hire()
	return c, i, err
}

// Close ends the workers, and waits for them. No job may be in progress.
func (p *Pool) Close() {
	for _, c := range p.idle {
		c.release()
	}
	p.idle = nil
	p.cancel()
	close(p.run.tasks)
	p.start.Wait()
}

// run is one call of Run, or a pool.
type run struct {
	Supervisor
	ctx     context.Context
	jobs    []json.RawMessage
	todo    chan int
	ended   chan ended
	tasks   chan func() // for the thread that starts workers
	mu      sync.Mutex  // guards Output and Notice, and what is kept of the output
	cleaner *Cleaner    // kills the processes of locks if this process is killed; nil if there is no shell
}

type ended struct {
	job int
	Outcome
}

// start starts processes for other goroutines. On Linux a worker is killed when the thread that started it ends, which also ends
// a busy worker when the supervisor is killed. So this thread must not end before the last worker does, and must not run other
// goroutines, which might end it.
func (r *run) start() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if b, err := StartCleaner(groups); err == nil {
		r.cleaner = b
		defer b.End()
	}
	for f := range r.tasks {
		f()
	}
}

// work keeps one worker busy until no job is left.
func (r *run) work() error {
	var c *child
	defer func() {
		if c != nil {
			c.release()
		}
	}()
	for i := range r.todo {
		if r.ctx.Err() != nil {
			return nil
		}
		if c == nil {
			var err error
			if c, err = r.hire(); err != nil {
				return err
			}
		}
		o, err := c.do(r.ctx, i, r.jobs[i], r.Limit, r.Memory)
		if err != nil {
			c.kill()
			c = nil
			return nil // cancelled
		}
		if c.spent {
			c.kill()
			c = nil
		}
		select {
		case r.ended <- ended{i, o}:
		case <-r.ctx.Done():
			return nil
		}
	}
	return nil
}

// child is the supervisor's side of a worker.
type child struct {
	cmd     *exec.Cmd
	jobs    *os.File      // to the worker
	encoder *gob.Encoder  // of requests, to jobs
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
	cmd := r.Command()
	c := &child{
		cmd:     cmd,
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
	jobs, toWorker, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("sim: start worker: %w", err)
	}
	fromWorker, answers, err := os.Pipe()
	if err != nil {
		jobs.Close()
		toWorker.Close()
		return nil, fmt.Errorf("sim: start worker: %w", err)
	}
	c.jobs, c.encoder = toWorker, gob.NewEncoder(toWorker)

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
		return nil, fmt.Errorf("sim: start worker: %w", err)
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

	startTimer := time.NewTimer(startLimit)
	defer startTimer.Stop()
	select {
	case a, ok := <-c.answers:
		if ok && a.Ready {
			return c, nil
		}
		c.kill()
		if ok {
			return nil, fmt.Errorf("sim: %v is not a worker of this version", cmd)
		}
		return nil, fmt.Errorf("sim: %v ended before it took a job: %v\n%s", cmd, cmp.Or[any](c.broken, cmd.ProcessState), lastLines(c.printed.String(), shownPrinted))
	case <-startTimer.C:
		c.kill()
		return nil, fmt.Errorf("sim: %v did not call Work within %v\n%s", cmd, startLimit, lastLines(c.printed.String(), shownPrinted))
	case <-r.ctx.Done():
		c.kill()
		return nil, context.Cause(r.ctx)
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
	dec := gob.NewDecoder(from)
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

// putDown kills a worker that uses too much memory, and adds to the report what it was doing, if it says so at once. It has not
// reported this itself, because otherwise it would have noticed before its supervisor.
func (c *child) putDown(r *Report, memory Memory) *Report {
	c.printed.reset()
	quit(c.cmd.Process)
	scale := scale{pid: c.cmd.Process.Pid}
	for range 5 {
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
	case step >= told && (reason == "" || strings.HasPrefix(reason, "SIGQUIT")):
		r := Overdue(limit, stacks)
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

// tail keeps the beginning and the end of a worker's output: the runtime first says why it ends a process, and then what each
// goroutine did, and there may be very many.
type tail struct {
	mu   *sync.Mutex
	also io.Writer
	sent int // bytes that were passed to also
	head []byte
	buf  []byte
	cut  bool // the beginning is no longer in buf

	recent []byte // the end of what was passed on
	dead   bool   // the process prints the stacks of all goroutines
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := keptHead - len(t.head); room > 0 {
		t.head = append(t.head, b[:min(room, len(b))]...)
	}
	t.buf = append(t.buf, b...)
	if cut := len(t.buf) - keptOutput; cut > keptOutput { // not at each write, because it copies
		t.buf, t.cut = append(t.buf[:0], t.buf[cut:]...), true
	}
	t.passOn(b)
	return len(b), nil
}

// lastStacks matches the beginning of the stacks that the Go runtime prints after it has said why it ends a process.
var lastStacks = regexp.MustCompile(`(?s)(?:^|\n)(?:panic: |fatal error: ).*?\n\n(goroutine \d+ [^\n]*\[)`)

// keptRecent is how much of what was passed on is searched for the reason why a process ends.
const keptRecent = 4 << 10

// passOn passes output to also, up to a limit. The stacks of a process that ends are not passed on: its report has them.
func (t *tail) passOn(b []byte) {
	if t.also == nil || t.sent > passedOn || t.dead {
		return
	}
	before := len(t.recent)
	t.recent = append(t.recent, b...)
	if m := lastStacks.FindSubmatchIndex(t.recent); m != nil {
		t.dead = true
		b = b[:max(0, m[2]-before)]
	}
	t.recent = slices.Clone(t.recent[max(0, len(t.recent)-keptRecent):])
	room := passedOn - t.sent
	t.sent += len(b)
	if len(b) <= room {
		t.also.Write(b)
		return
	}
	t.also.Write(b[:room])
	io.WriteString(t.also, leftOut)
}

func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head, t.buf, t.cut, t.sent = t.head[:0], t.buf[:0], false, 0
	t.recent, t.dead = nil, false
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	cut := len(t.buf) - keptOutput
	if cut <= 0 && !t.cut {
		return string(t.buf)
	}
	return string(t.head) + leftOut + string(t.buf[max(0, cut):])
}

// leftOut stands for text that was left out.
const leftOut = "\n\n(...)\n\n"

// lastLines returns the last n lines of s.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
