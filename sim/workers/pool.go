package workers

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
)

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
	return p.run.remembering(job, func() (Outcome, error) { return p.do(ctx, job) })
}

func (p *Pool) do(ctx context.Context, job json.RawMessage) (Outcome, error) {
	c, i, err := p.take()
	if err != nil {
		return Outcome{}, err
	}
	o, err := c.do(ctx, i, job, p.run.limitOf(job), p.run.Memory)
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
