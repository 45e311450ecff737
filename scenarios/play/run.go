package play

import (
	"cmp"
	"context"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"sync"
	"time"

	"lockstep/checker"
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

// record is simulateWith without its judgement. It plays the run in both orders if a pause leaves a choice.
func record(cache *clientCache, v Variant, s *script.Scenario, run script.Section, build clients.New, seed uint64) (*history.History, error) {
	h, either, err := recordOnce(cache, v, s, run, build, seed)
	if err != nil || !either || v != (Variant{}) {
		return h, err
	}
	timers, _, err := recordOnce(nil, Variant{TimersFirst: true}, s, run, build, seed)
	if err != nil {
		return nil, err
	}
	r := s.Resolve(run)
	first, second := Judge(s, r, h).Result, Judge(s, r, timers).Result
	if inShort(first) == inShort(second) {
		return h, nil
	}
	again, _, err := recordOnce(nil, v, s, run, build, seed)
	if err != nil {
		return nil, err
	}
	counts, other := h, second
	if worse(first, second) {
		counts, other = timers, first
	}
	if inShort(Judge(s, r, again).Result) == inShort(first) { // otherwise the run differs from itself, whatever the order
		counts.Meta.OtherOrder = inShort(other)
	}
	return counts, nil
}

// recordOnce plays a run once, in one order of messages and timers after a pause, and reports whether the other order was possible, too.
func recordOnce(cache *clientCache, v Variant, s *script.Scenario, run script.Section, build clients.New, seed uint64) (h *history.History, either bool, err error) {
	// Unmodified libraries draw from the randomness of the whole process: the delays of redsync, the backoff of go-redis.
	reseed(int64(seed))
	r := s.Resolve(run)
	var g *guests
	if r.Guests {
		if g, err = newGuests(s, run, seed); err != nil {
			return nil, false, err
		}
	}
	var left leftovers
	err = sim.Bubble(func() { h, either = simulate(cache, v, s, r, build, seed, g, &left) })
	if g != nil && err == nil {
		err = g.err()
	}
	return h, either, cmp.Or(err, left.err())
}

// worse reports whether the run with timers first counts instead of the one with messages first, which is far more likely. It must be UNSAFE,
// unless the one with messages first is UNKNOWN, and it must have a violation that the other one lacks: of another property, or with another
// assumption that broke. A violation for which no assumption broke is never given up for one that a broken assumption excuses.
func worse(messages, timers checker.Result) bool {
	if timers.Verdict != checker.Unsafe && messages.Verdict != checker.Inconclusive {
		return false
	}
	type breach struct {
		p checker.Property
		a checker.Assumption
	}
	of := func(r checker.Result) (all, bare []breach) {
		for _, v := range r.Violations {
			b := breach{v.Property, v.Assumption}
			if all = append(all, b); v.Assumption == checker.None {
				bare = append(bare, b)
			}
		}
		return all, bare
	}
	without := func(a, b []breach) bool { // reports whether something in a is not in b
		return slices.ContainsFunc(a, func(x breach) bool { return !slices.Contains(b, x) })
	}
	first, firstBare := of(messages)
	second, secondBare := of(timers)
	return without(secondBare, firstBare) || without(second, first) && !without(firstBare, secondBare)
}

// inShort returns the verdict, and the violated properties with the assumptions that broke.
func inShort(r checker.Result) string {
	if violated := assumptions(r); violated != "" {
		return fmt.Sprintf("%s: %s", r.Verdict, violated)
	}
	return string(r.Verdict)
}

// reseed seeds the source that libraries draw from.
func reseed(seed int64) {
	rand.Seed(seed) //lint:ignore SA1019 nothing else does
}

// simulate plays one run in a world of its own. If there are guests, its clients run as those. Locks that are still open at the
// end are in left.
func simulate(cache *clientCache, v Variant, s *script.Scenario, r script.Section, build clients.New, seed uint64, g *guests, left *leftovers) (h *history.History, either bool) {
	w := sim.NewWorld(sim.Config{Seed: seed, MaxTime: capOf(r), Reseed: reseed, Branch: v.Branch, OnTime: v.OnTime, TimersFirst: v.TimersFirst})
	defer w.Close()
	h = w.History()
	h.Meta = metaOf(r, s, OnSim, seed)
	h.Meta.TimersFirst = v.TimersFirst

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
		if staysOn(steps) {
			p.Stay()
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
	return h, w.EitherOrder()
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
