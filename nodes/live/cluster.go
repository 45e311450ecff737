// Package live plays runs on real servers: redis-server processes that it starts, alone or as a group with replicas and
// Sentinels, or servers that already run. A proxy in front of each server sees every message, can hold, drop or delay it, and
// watches the keys, so that the history has the same events as that of a simulation. Each client is a process of its own; faults
// pause it, kill it, or set its clocks.
package live

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lockstep/nodes/engine"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
	"lockstep/sim/link"
	"lockstep/sim/workers"
)

// Cluster is for real servers what a [sim.World] is for simulated ones: redis-server processes, other servers on the network, and
// client processes, with a [Proxy] in front of each server that sees every message. Time is real. All events are stamped under
// one lock, which determines their order.
type Cluster struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	start   time.Time // of the run; it has a wall and a monotonic reading
	dir     string    // with all files of the run
	cleaner *workers.Cleaner
	agenda  *agenda
	work    sync.WaitGroup // goroutines of proxies and clients

	mu        sync.Mutex // guards the fields below, and those of processes, links and relays
	changed   *sync.Cond // on mu: something has changed that others may wait for
	closed    bool
	history   []history.Event
	instant   time.Duration // the time with which events are stamped; 0: the current time
	watchers  []func(history.Event)
	leases    *history.Leases
	faults    []injected
	processes map[string]*process
	links     *link.Table[struct{}]
	group     *realGroup // nil if the nodes are independent
}

// process is a client or a server, as faults see it.
type process struct {
	name    string
	client  *Client // nil for servers
	proxy   *Proxy  // nil for clients
	paused  bool
	resumed time.Duration // when it last resumed
	pauses  int           // how many so far, to tell them apart
	pauseID int           // the fault that paused it
	crashed bool
	crashes int
	revived bool           // it has crashed and is about to restart
	ahead   time.Duration  // how far its wall clock is ahead, if it is a server without a clock of its own
	clocks  *history.Clock // of a server that has a clock of its own; else nil
}

// newCluster returns a cluster without servers.
func newCluster(ctx context.Context) *Cluster {
	c := &Cluster{
		agenda: newAgenda(), leases: history.NewLeases(), processes: map[string]*process{}, links: link.NewTable[struct{}](nil),
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.changed = sync.NewCond(&c.mu)
	return c
}

// StartCluster starts a redis-server for each name. The run begins when all of them answer. The caller must [Cluster.Close] the
// cluster. The end of ctx closes it too, and unblocks everything that waits.
//
// kinds are the kinds of persistence of the servers, in the same order. A server without one keeps what a kill -9 leaves.
func StartCluster(ctx context.Context, names []string, kinds ...engine.Persistence) (*Cluster, error) {
	return startServers(ctx, false, names, kinds)
}

// StartClusterWithClocks is [StartCluster], but gives each server a wall clock of its own, which can jump, drift and
// slew. [redisserver.CanSetClocks] says whether this machine allows that.
func StartClusterWithClocks(ctx context.Context, names []string, kinds ...engine.Persistence) (*Cluster, error) {
	if err := redisserver.CanSetClocks(); err != nil {
		return nil, err
	}
	return startServers(ctx, true, names, kinds)
}

func startServers(ctx context.Context, ownClocks bool, names []string, kinds []engine.Persistence) (*Cluster, error) {
	path, err := redisserver.Path()
	if err != nil {
		return nil, err
	}
	c := newCluster(ctx)
	if c.dir, err = os.MkdirTemp("", "lockstep-"); err != nil {
		return nil, err
	}
	if c.cleaner, err = removeAtExit(c.dir); err != nil {
		os.RemoveAll(c.dir)
		return nil, err
	}
	library := ""
	if ownClocks {
		if library, err = redisserver.CompileClock(c.ctx, c.dir); err != nil {
			c.Close()
			return nil, err
		}
	}
	servers, errs := make([]*redisserver.Server, len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for i := range names {
		all.Go(func() {
			var clock *redisserver.Clock
			if ownClocks {
				if clock, errs[i] = redisserver.NewClock(library, filepath.Join(c.dir, names[i]+".clock")); errs[i] != nil {
					return
				}
			}
			servers[i], errs[i] = redisserver.StartIn(c.ctx, path, c.dir, clock, extra(kindAt(kinds, i))...)
		})
	}
	all.Wait()
	for i, s := range servers {
		if s != nil {
			n := newRealNode(c, names[i], s, kindAt(kinds, i))
			n.proxy = c.serve(names[i], n)
			if ownClocks {
				n.proxy.clocks = &history.Clock{}
			}
			errs[i] = n.begin()
		}
	}
	context.AfterFunc(c.ctx, c.halt)
	for _, err := range errs {
		if err != nil {
			c.Close()
			return nil, err
		}
	}
	c.start = time.Now()
	c.work.Go(c.agenda.run)
	c.work.Go(c.watchForStalls)
	return c, nil
}

// Begin waits until every client process has connected. Then the run begins, for all clients at once.
func (c *Cluster) Begin() error {
	c.mu.Lock()
	var clients []*Client
	for _, p := range c.processes {
		if p.client != nil && p.client.listener != nil {
			clients = append(clients, p.client)
		}
	}
	c.mu.Unlock()
	for _, p := range clients {
		select {
		case <-p.called:
		case <-c.ctx.Done():
			return c.Err()
		}
	}
	c.awaitSecond()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start, c.history = time.Now(), nil // the servers of a group have already talked to each other
	if c.group != nil {
		c.group.begin()
	}
	return nil
}

// Now is the time since the start of the run.
func (c *Cluster) Now() time.Duration { return time.Since(c.start) }

// Events returns the events so far.
func (c *Cluster) Events() []history.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.history[:len(c.history):len(c.history)]
}

// Err returns why the run cannot go on; nil if it can.
func (c *Cluster) Err() error { return context.Cause(c.ctx) }

// Watch registers f to be called with every event of the history, in order. f must not call the cluster, except for Now and Plan.
func (c *Cluster) Watch(f func(history.Event)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers = append(c.watchers, f)
}

// Plan plans to inject a fault at time t of the run, or now if t has passed. [Cluster.Run] waits for it as for a lane.
func (c *Cluster) Plan(t time.Duration, f history.Fault) { c.PlanStep(0, t, f) }

// PlanStep is Plan for a step of the nemesis, which the history then names; see [history.Event.Step].
func (c *Cluster) PlanStep(step int, t time.Duration, f history.Fault) {
	c.agenda.begin()
	c.agenda.at(c.start.Add(t), func() {
		c.injectStep(step, f)
		c.agenda.end()
	})
}

// Run waits until every lane has ended and every planned fault has been injected, or until the run cannot go on.
func (c *Cluster) Run() { c.agenda.wait() }

// RunFor lets time d pass.
func (c *Cluster) RunFor(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.ctx.Done():
	}
}

// Cap says why the run ended early; empty if it did not.
func (c *Cluster) Cap() string {
	if err := c.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// fail ends the run.
func (c *Cluster) fail(err error) { c.cancel(err) }

// halt unblocks everything that waits. Nothing is recorded after it.
func (c *Cluster) halt() {
	c.agenda.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, p := range c.processes {
		if p.proxy != nil {
			p.proxy.close()
		}
	}
	if c.group != nil {
		c.group.close()
	}
	c.changed.Broadcast()
}

// Close ends the run and leaves nothing behind: no process, no listener, no directory. If this process is killed first, the
// kernel (on Linux) and a [workers.Cleaner] (on Unix) do the same.
func (c *Cluster) Close() {
	c.cancel(errClosed)
	c.halt()
	var all sync.WaitGroup
	c.mu.Lock()
	for _, p := range c.processes {
		if p.proxy != nil {
			all.Go(p.proxy.backend.stop)
		}
	}
	c.mu.Unlock()
	all.Wait()
	c.work.Wait()
	if c.cleaner != nil { // there is a directory
		os.RemoveAll(c.dir)
		c.cleaner.End()
	}
}

var errClosed = errors.New("the cluster was closed")
