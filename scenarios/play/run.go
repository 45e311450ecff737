package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/nodes"
	"lockstep/nodes/engine"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
)

// LockName is the lock that the clients of a scenario contend for, unless their lanes name another.
const LockName = "lock"

// Simulate puts a lock through a run of the scenario in simulation. The error is a [sim.LeakError], or reports a panic of the
// code under test; everything else is in the outcome. Runs of a lock that draws from math/rand are reproducible only in a process
// that was started with GODEBUG=randseednop=0, as workers are: others ignore the seed of that source.
func Simulate(s *script.Scenario, run script.Section, build clients.New, seed uint64) (*Outcome, error) {
	return simulateWith(nil, Variant{}, s, run, build, seed)
}

// simulateWith is Simulate of a variant, and for a series, which caches clients.
func simulateWith(cache *clientCache, v Variant, s *script.Scenario, run script.Section, build clients.New, seed uint64) (*Outcome, error) {
	h, err := record(cache, v, s, run, build, seed)
	if err != nil {
		return nil, err
	}
	return Judge(s, s.Resolve(run), h), nil
}

// record is simulateWith without a judgement.
func record(cache *clientCache, v Variant, s *script.Scenario, run script.Section, build clients.New, seed uint64) (h *history.History, err error) {
	// Unmodified libraries draw from the randomness of the whole process: the delays of redsync, the backoff of go-redis.
	reseed(int64(seed))
	r := s.Resolve(run)
	var g *guests
	if r.Guests {
		if g, err = newGuests(s, run, seed); err != nil {
			return nil, err
		}
	}
	var left leftovers
	err = sim.Bubble(func() { h = simulate(cache, v, s, r, build, seed, g, &left) })
	if g != nil && err == nil {
		err = g.err()
	}
	return h, cmp.Or(err, left.err())
}

// metaOf describes a resolved run.
func metaOf(r script.Section, s *script.Scenario, on string, seed uint64) history.Meta {
	return history.Meta{
		Scenario: s.Name,
		Lock:     r.Lock,
		Names:    namesOf(r),
		For:      r.InPlaceOf,
		Label:    r.Label,
		On:       on,
		Seed:     seed,
		Nodes:    r.NodeNames(),
		Replicas: copiesOf(r),
		Others:   slices.Concat(r.SentinelNames(), r.ShardNames()),
		Clients:  r.Clients(),
		Resource: r.Resource,
		TTL:      r.TTL,
		Probe:    script.ProbeName,
		Pace:     paceOf(r),
		Bound:    boundOf(r),
		Guests:   r.Guests && on == OnSim,

		Persistence: r.Persistence,
	}
}

// namesOf returns the names of the locks that clients ask for, if a lane names another than [LockName].
func namesOf(r script.Section) []string {
	names := []string{LockName}
	for _, lane := range r.Lanes {
		for _, step := range lane.Steps {
			if l, ok := step.(script.Lock); ok && !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
		}
	}
	if len(names) == 1 {
		return nil
	}
	return names
}

// copiesOf returns the lock node that each replica copies.
func copiesOf(r script.Section) map[string]string {
	if r.Replicas == 0 {
		return nil
	}
	of := map[string]string{}
	for _, name := range r.ReplicaNames() {
		of[name] = "n1"
	}
	return of
}

// paceOf returns the longest interval between the tries of one acquire that its lanes set.
func paceOf(r script.Section) time.Duration {
	var pace time.Duration
	for _, lane := range r.Lanes {
		for _, step := range lane.Steps {
			if a, ok := script.Once(step).(script.Acquire); ok {
				pace = max(pace, a.Every)
			}
		}
	}
	return pace
}

// capOf returns the cap on virtual time: an hour after the last instant until which a lane waits.
func capOf(r script.Section) time.Duration {
	var last time.Duration
	for _, lane := range r.Lanes {
		for _, step := range lane.Steps {
			if u, ok := step.(script.Until); ok {
				last = max(last, u.Time)
			}
		}
	}
	return last + time.Hour
}

// boundOf returns how long the probe may take.
func boundOf(r script.Section) time.Duration { return r.TTL + r.Slack }

// reseed seeds the source that libraries draw from.
func reseed(seed int64) {
	rand.Seed(seed) //lint:ignore SA1019 nothing else does
}

// simulate plays one run in a world of its own. If there are guests, its clients run as those. Locks that are still open at the
// end are in left.
func simulate(cache *clientCache, v Variant, s *script.Scenario, r script.Section, build clients.New, seed uint64, g *guests, left *leftovers) *history.History {
	w := sim.NewWorld(sim.Config{Seed: seed, MaxTime: capOf(r), Reseed: reseed, Branch: v.Branch, OnTime: v.OnTime})
	defer w.Close()
	h := w.History()
	h.Meta = metaOf(r, s, OnSim, seed)

	servers := serveNodes(r, w, seed)
	addrs, dial := servers.addrs, servers.dial
	resource, stopResource := serveResource(r, w)
	known, err := clients.Find(r.Lock)
	ours := err == nil // neither a library nor a lock of a user
	if !ours || !same(known, build) {
		cache = nil // its clients may have hooks that would carry state to another run
	}

	defer left.close()
	start := func(name string, steps []script.Step) {
		p := w.Process(name)
		if g != nil {
			g.start(w, p, r, servers, resource)
			return
		}
		random := w.Rand(seed, "client", name)
		var env clients.Env
		build := build
		if r.Pool == script.Warm {
			w.Warm(func() {
				if warm := cache.get(name, addrs); warm != nil {
					env = warm.Env(p.Clock(), p.Wall(), random, dial(p))
				} else {
					env = clients.NewEnv(p.Clock(), p.Wall(), random, dial(p), addrs)
					env.Warm()
				}
				build = env.Made(build)
			})
		}
		p.Go(func(ctx context.Context) {
			if r.Pool != script.Warm {
				env = clients.NewEnv(p.Clock(), p.Wall(), random, dial(p), addrs)
			}
			var host clients.Host = p
			if !ours {
				host = outOfStep(p, slices.Index(r.Clients(), name))
			}
			left.runLane(ctx, host, env, build, resource, r.TTL, steps)
		})
	}
	playLanes(r, w, start)
	if h.Meta.Cap, h.Meta.Checksum = w.Cap(), w.Checksum(); h.Meta.Cap != "" {
		h.Meta.CapAt = w.Now()
	}
	// Not if the run has panicked: a server that was in the middle of a command cannot be reused.
	servers.stop()
	stopResource()
	return h
}

// same reports whether two ways to build a lock are the same code.
func same(a, b clients.New) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

// late is a client that is some nanoseconds late whenever its lane waits for an instant.
type late struct {
	*sim.Process
	by time.Duration
}

func (l late) Until(t time.Duration) { l.Process.Until(t + l.by) }

// outOfStep keeps the clients of a run out of step with each other. An unmodified library sleeps by package time, for whole
// milliseconds, and draws from the randomness of the whole process. If two clients began at the same round times, and only
// timeouts came in between, they would wake in the same nanosecond, and which of them drew first would depend on the Go
// scheduler. So each client is some nanoseconds late, and no two by the same number. The client number -1 is the probe, which is
// alone.
func outOfStep(p *sim.Process, i int) clients.Host {
	by := time.Duration(i + 1)
	p.Until(by) // lanes begin at 0
	return late{p, by}
}

// servers are the Redis servers of a run.
type servers struct {
	addrs   []string                          // where clients find the lock nodes
	dial    func(*sim.Process) clients.Dialer // how a client dials
	guide   nodes.Guide                       // how it finds the primary
	resolve func(addr string) string          // returns the address of the primary that the operator chose
	stop    func()                            // frees the servers
}

// serveNodes adds the Redis servers of a run to the world.
func serveNodes(r script.Section, w *sim.World, seed uint64) servers {
	if r.Replicas > 0 {
		g := nodes.ServeGroup(w, nodes.GroupConfig{
			Replicas:    r.Replicas,
			Sentinels:   r.Sentinels,
			Shards:      r.Shards,
			DownAfter:   r.DownAfter,
			MinReplicas: r.MinReplicas,
			Persistence: r.Persistence,
			Seed:        seed,
		})
		return servers{g.Addrs(), func(p *sim.Process) clients.Dialer { return clients.Dialer(g.Dial(p)) }, g.Guide(), g.Resolve, g.Close}
	}
	var all []*nodes.Node
	var addrs []string
	for _, name := range r.NodeNames() {
		n := nodes.Serve(w, name)
		n.Persist(engine.Persistence(r.Persistence))
		all, addrs = append(all, n), append(addrs, n.Process.Addr())
	}
	return servers{
		addrs: addrs, dial: func(p *sim.Process) clients.Dialer { return p.DialContext }, resolve: func(addr string) string { return addr },
		stop: func() {
			for _, n := range all {
				n.Redis.Close()
			}
		},
	}
}

// serveResource adds the resource of a run to the world. It returns its address, and a function that frees it.
func serveResource(r script.Section, w *sim.World) (addr string, stop func()) {
	if r.Resource == script.Counter {
		n := nodes.Serve(w, script.ResourceName)
		return n.Process.Addr(), n.Redis.Close
	}
	store, err := clients.NewResource(r.Resource)
	if err != nil {
		panic("scenarios: " + err.Error()) // the parser has checked the kind
	}
	return clients.ServeResource(w, script.ResourceName, store).Addr(), func() {}
}

// playLanes plays a run: the lanes; then everything heals, the longest TTL passes, a fresh client must acquire, and messages in flight to
// the resource arrive.
func playLanes(r script.Section, on stage, start func(name string, steps []script.Step)) {
	missed := arm(on, r.Lane(script.Nemesis))
	for _, lane := range r.Lanes {
		if lane.Process != script.Nemesis {
			start(lane.Process, lane.Steps)
		}
	}
	on.Run()
	missed()
	if on.Cap() == "" {
		on.Restore()
		// A little more than the longest TTL: that of a key begins later if the healing released the message that set it.
		ttl := longestTTL(r)
		on.RunFor(ttl + ttl/50 + 100*time.Millisecond)
		start(script.ProbeName, probeLane(r))
		on.Run()
		// A write that is still in flight may violate a property.
		if left := on.UnderWay(script.ResourceName) - on.Now(); left > 0 {
			on.RunFor(left + 100*time.Millisecond)
		}
	}
}

// longestTTL returns for how long a key may still live after the lanes: the TTL, or that of an extension that asks for more.
func longestTTL(r script.Section) time.Duration {
	ttl := r.TTL
	for _, lane := range r.Lanes {
		for _, step := range lane.Steps {
			if e, ok := script.Once(step).(script.Extend); ok {
				ttl = max(ttl, e.TTL)
			}
		}
	}
	return ttl
}

// probeLane is the lane of that client.
func probeLane(r script.Section) []script.Step {
	return []script.Step{script.Acquire{Within: boundOf(r)}, script.Release{}}
}

// work carries out a lane of a client that contends for a lock with a TTL.
func work(ctx context.Context, w *clients.Worker, steps []script.Step, ttl time.Duration) {
	for _, step := range steps {
		n := 1
		if r, ok := step.(script.Repeat); ok {
			n, step = r.N, r.Step
		}
		if step == (script.Stay{}) {
			return
		}
		for i := range n {
			if i > 0 && ctx.Err() != nil {
				break // it has crashed
			}
			do(ctx, w, step, ttl)
		}
	}
	w.Exit()
}

// leftovers are what remains at the end of the lanes: locks that were not closed, and errors because of which the run proves
// nothing.
type leftovers struct {
	mu      sync.Mutex // lanes end concurrently
	workers []*clients.Worker
	errs    []string
}

// runLane carries out a lane, and then closes what its client has: the lock, then the clients to the nodes. A client that stays
// keeps them until its own end. If that is a crash or the end of the run, the lock is closed with the run: a process that is gone
// closes nothing, but the goroutines of its lock have to end.
func (l *leftovers) runLane(ctx context.Context, host clients.Host, env clients.Env, build clients.New, resource string, ttl time.Duration, steps []script.Step) {
	stays := len(steps) > 0 && steps[len(steps)-1] == (script.Stay{})
	defer func() {
		if stays {
			context.AfterFunc(ctx, func() { env.Close() })
			return
		}
		env.Close()
	}()
	w := clients.NewWorker(host, env, build, LockName, ttl, resource)
	defer func() {
		if stays || ctx.Err() != nil {
			l.keep(w)
			return
		}
		w.Close()
	}()
	returned := false
	defer func() {
		r := recover()
		if r == nil && !returned && ctx.Err() == nil { // a crash of the process is a Goexit too
			r = "the lock called runtime.Goexit, as t.FailNow and t.Fatal do; it must return an error instead"
		}
		if r != nil {
			panic(r)
		}
	}()
	work(ctx, w, steps, ttl)
	l.check(w)
	returned = true
}

// check keeps the error of a worker whose lock is a program that failed.
func (l *leftovers) check(w *clients.Worker) {
	if err := w.Err(); err != nil {
		l.mu.Lock()
		l.errs = append(l.errs, err.Error())
		l.mu.Unlock()
	}
}

// err returns an error if the locks of any clients failed. Which one does not depend on whose lane ended first.
func (l *leftovers) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.errs) == 0 {
		return nil
	}
	return errors.New(slices.Min(l.errs))
}

func (l *leftovers) keep(w *clients.Worker) {
	l.mu.Lock()
	l.workers = append(l.workers, w)
	l.mu.Unlock()
}

// close closes the locks while the network goes down, so that none of them waits for a reply. A lock that does not end leaves a
// goroutine behind.
func (l *leftovers) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.workers {
		go w.Close()
	}
}

func do(ctx context.Context, w *clients.Worker, step script.Step, ttl time.Duration) {
	switch step := step.(type) {
	case script.Lock:
		w.Use(step.Name)
	case script.Acquire:
		if step.Cancelled > 0 {
			var stop func()
			ctx, stop = w.CancelAfter(ctx, step.Cancelled)
			defer stop()
		}
		w.Acquire(ctx, step.Within, step.Every)
	case script.Extend:
		w.Extend(ctx, step.TTL)
	case script.Release:
		if step.Cancelled {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			cancel()
		}
		w.Release(ctx)
	case script.Increment:
		w.Increment(ctx, cmp.Or(step.Within, ttl))
	case script.Enter:
		w.Enter(ctx)
	case script.Write:
		w.Write(ctx, step.Value, step.Blind)
	case script.Update:
		w.Update(ctx, step.Word)
	case script.Read:
		w.Read(ctx)
	case script.Check:
		w.Check(ctx)
	case script.Pause:
		w.Pause(ctx, step.For)
	case script.Sleep:
		w.Sleep(ctx, step.For)
	case script.Until:
		w.Until(ctx, step.Time)
	default:
		panic(fmt.Sprintf("scenarios: no client can do %q", step))
	}
}

// stage is the world in which a run is played: a [sim.World], or a [live.Cluster].
type stage interface {
	Now() time.Duration
	PlanStep(step int, t time.Duration, f history.Fault)
	Miss(step int, f history.Fault)
	Watch(f func(history.Event))
	Run()
	RunFor(d time.Duration)
	Restore()
	UnderWay(to string) time.Duration
	Cap() string // why the run ended early
}

// awaited is a step of the nemesis that waits for an event.
type awaited struct {
	script.When
	step int // of the nemesis, from 1
	seen int // how many events have matched
}

// arm sets up the steps of the nemesis. The caller calls missed when all lanes have ended: it notes the faults whose condition
// never occurred.
func arm(on stage, steps []script.Step) (missed func()) {
	var mu sync.Mutex // on real servers events continue after the end of the lanes
	var waiting []*awaited
	for i, step := range steps {
		switch step := step.(type) {
		case script.AtStart:
			on.PlanStep(i+1, 0, step.Fault)
		case script.At:
			on.PlanStep(i+1, step.Time, step.Fault)
		case script.When:
			waiting = append(waiting, &awaited{When: step, step: i + 1})
		default:
			panic(fmt.Sprintf("scenarios: the nemesis cannot do %q", step))
		}
	}
	if len(waiting) == 0 {
		return func() {} // a run is faster if nobody watches it
	}
	on.Watch(func(e history.Event) {
		mu.Lock()
		defer mu.Unlock()
		waiting = slices.DeleteFunc(waiting, func(s *awaited) bool {
			if !s.Event.Matches(e) {
				return false
			}
			if s.seen++; s.seen < s.Event.Nth {
				return false
			}
			on.PlanStep(s.step, on.Now()+s.After, s.Fault)
			return true
		})
	})
	return func() {
		mu.Lock()
		never := waiting
		waiting = nil
		mu.Unlock()
		for _, s := range never {
			on.Miss(s.step, s.Fault)
		}
	}
}
