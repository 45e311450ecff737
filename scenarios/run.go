package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/nodes"
	"lockstep/sim"
)

// theLock is the lock that all clients of a scenario contend for.
const theLock = "lock"

// Simulate puts a lock through a run of the scenario in simulation. The error is a [sim.LeakError], or tells of a panic of
// the code under test; what else the lock does is in the outcome.
func Simulate(s *Scenario, run Run, build clients.New, seed uint64) (*Outcome, error) {
	r := s.Resolve(run)
	var h *sim.History
	err := sim.Bubble(func() { h = simulate(s, r, build, seed) })
	if err != nil {
		return nil, err
	}
	return judge(s, r, h), nil
}

// meta describes a resolved run.
func (r Run) meta(s *Scenario, on string, seed uint64) sim.Meta {
	return sim.Meta{
		Scenario: s.Name,
		Lock:     r.Lock,
		Label:    r.Label,
		On:       on,
		Seed:     seed,
		Nodes:    r.NodeNames(),
		Clients:  r.clients(),
		Resource: r.Resource,
		TTL:      r.TTL,
		Probe:    probeName,
		Bound:    r.bound(),
	}
}

// bound is how long the probe may take.
func (r Run) bound() time.Duration { return r.TTL + r.slack }

// simulate plays one run in a world of its own.
func simulate(s *Scenario, r Run, build clients.New, seed uint64) *sim.History {
	w := sim.NewWorld(sim.Config{Seed: seed})
	defer w.Close()
	h := w.History()
	h.Meta = r.meta(s, "sim", seed)

	var addrs []string
	for _, name := range r.NodeNames() {
		n := nodes.Serve(w, name)
		defer n.Redis.Close()
		addrs = append(addrs, n.Process.Addr())
	}
	store, err := clients.NewResource(r.Resource)
	if err != nil {
		panic("scenarios: " + err.Error()) // the parser knows the kinds
	}
	resource := clients.ServeResource(w, resourceName, store).Addr()

	start := func(name string, steps []Step) {
		p := w.Process(name)
		p.Go(func(ctx context.Context) {
			env := clients.NewEnv(p.Clock(), p.Wall(), sim.Rand(seed, "client", name), p.DialContext, addrs)
			defer env.Close()
			work(ctx, clients.NewWorker(p, env, build, theLock, r.TTL, resource), steps)
		})
	}
	r.play(w, start)
	h.Meta.Cap, h.Meta.Checksum = w.Cap(), w.Checksum()
	return h
}

// play is what every run consists of: the lanes, then everything heals, one TTL passes, and a fresh client must acquire.
func (r Run) play(on stage, start func(name string, steps []Step)) {
	missed := arm(on, r.lane(Nemesis))
	for _, lane := range r.Lanes {
		if lane.Process != Nemesis {
			start(lane.Process, lane.Steps)
		}
	}
	on.Run()
	missed()
	if on.Cap() == "" {
		on.Restore()
		// A little more than one TTL: keys that were set by a message that the healing let through count from then.
		on.RunFor(r.TTL + r.TTL/50 + 100*time.Millisecond)
		start(probeName, []Step{Acquire{Within: r.bound()}, Release{}})
		on.Run()
	}
}

// work carries out a lane.
func work(ctx context.Context, w *clients.Worker, steps []Step) {
	for _, step := range steps {
		switch step := step.(type) {
		case Acquire:
			w.Acquire(ctx, step.Within)
		case Release:
			w.Release(ctx)
		case Write:
			w.Write(ctx, step.Value)
		case Read:
			w.Read(ctx)
		case Check:
			w.Check(ctx)
		case Pause:
			w.Pause(ctx, step.For)
		case Sleep:
			w.Sleep(ctx, step.For)
		case Until:
			w.Until(ctx, step.Time)
		default:
			panic(fmt.Sprintf("scenarios: no client can do %q", step))
		}
	}
	w.Exit()
}

// stage is where a run is played: a [sim.World], or a [nodes.Cluster].
type stage interface {
	Now() time.Duration
	Plan(t time.Duration, f sim.Fault)
	Miss(f sim.Fault)
	Watch(f func(sim.Event))
	Run()
	RunFor(d time.Duration)
	Restore()
	Cap() string // why the run ended before its time
}

// arm sets up what the nemesis will do. The caller calls missed when all lanes have ended: it notes the faults whose
// moment never came.
func arm(on stage, steps []Step) (missed func()) {
	var mu sync.Mutex // on real servers events go on while the lanes have ended
	var waiting []*When
	for _, step := range steps {
		switch step := step.(type) {
		case AtStart:
			on.Plan(0, step.Fault)
		case At:
			on.Plan(step.Time, step.Fault)
		case When:
			waiting = append(waiting, &step)
		default:
			panic(fmt.Sprintf("scenarios: the nemesis cannot do %q", step))
		}
	}
	on.Watch(func(e sim.Event) {
		mu.Lock()
		defer mu.Unlock()
		waiting = slices.DeleteFunc(waiting, func(s *When) bool {
			if !s.Event.matches(e) {
				return false
			}
			on.Plan(on.Now()+s.After, s.Fault)
			return true
		})
	})
	return func() {
		mu.Lock()
		never := waiting
		waiting = nil
		mu.Unlock()
		for _, s := range never {
			on.Miss(s.Fault)
		}
	}
}

// matches reports whether something in a history is what a When step waits for.
func (e Event) matches(h sim.Event) bool {
	if h.Process != e.Process || e.Value != "" && h.Value != e.Value {
		return false
	}
	op, kinds := e.What.means()
	return h.Op == op && slices.Contains(kinds, h.Kind)
}

// means says which events of a history the word stands for.
func (w What) means() (op string, kinds []sim.Kind) {
	switch w {
	case Acquires:
		return sim.Acquire, []sim.Kind{sim.Invoke}
	case Acquired:
		return sim.Acquire, []sim.Kind{sim.OK}
	case Refused:
		return sim.Acquire, []sim.Kind{sim.Fail}
	case Releases:
		return sim.Release, []sim.Kind{sim.Invoke}
	case Released:
		return sim.Release, []sim.Kind{sim.OK}
	case Writes:
		return sim.Write, []sim.Kind{sim.Invoke}
	case Wrote:
		return sim.Write, []sim.Kind{sim.OK, sim.Fail}
	case Paused:
		return sim.Pause{}.Verb(), []sim.Kind{sim.Injected}
	case Resumed:
		return sim.Resume{}.Verb(), []sim.Kind{sim.Injected}
	}
	panic("scenarios: no such event: " + string(w))
}
