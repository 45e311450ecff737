package scenarios

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lockstep/clients"
	"lockstep/nodes"
	"lockstep/sim"
)

// leastTTL is what a TTL must be on real servers, so that it is long compared with what a busy machine makes a process wait.
const leastTTL = 500 * time.Millisecond

// realSlack is how much longer the probe may take on real servers than one TTL, which is short there while the delays of a
// lock between its tries are as long as ever.
const realSlack = 5 * time.Second

// onServers puts a lock through a run of the scenario on redis-server processes that it starts and stops, with every duration
// divided by speed. The error is [nodes.ErrNoServer] where there is no redis-server, wraps [nodes.ErrSimOnly] where a fault
// exists in simulation only, is that of ctx if that ended, or tells of a panic of the code under test.
//
// A process that has had a bubble in it should not call this: go-redis pools timers for the whole process, and one from a
// bubble is of no use outside it.
//
// Durations that a lock keeps for itself, such as the timeout of Redlock for one node, know nothing of speed.
func onServers(ctx context.Context, s *Scenario, run Section, build clients.New, seed uint64, speed float64) (o *Outcome, err error) {
	if err := CheckRedis(s, run, speed); err != nil {
		return nil, err
	}
	r := s.Resolve(run).faster(speed).forgetful()
	servers := r.NodeNames()
	if r.Resource == Counter {
		servers = append(servers, resourceName)
	}
	c, err := nodes.StartCluster(ctx, servers)
	if err != nil {
		return nil, err
	}
	defer func() {
		if left := c.Close(); err == nil && left != nil {
			o, err = nil, left
		}
	}()
	if err := r.onCluster(c, build, seed); err != nil {
		return nil, err
	}
	return judge(s, r, &sim.History{Meta: r.meta(s, OnReal, seed), Events: c.Events()}), nil
}

func (r Section) onCluster(c *nodes.Cluster, build clients.New, seed uint64) error {
	if r.Resource != Counter {
		store, err := clients.NewResource(r.Resource)
		if err != nil {
			panic("scenarios: " + err.Error()) // the parser knows the kinds
		}
		c.Handle(resourceName, store)
	}
	processes := map[string]*nodes.Client{}
	for _, name := range append(r.clients(), probeName) {
		var err error
		if processes[name], err = c.Client(name); err != nil {
			return err
		}
	}
	r.play(c, func(name string, steps []Step) {
		p := processes[name]
		var addrs []string
		for _, node := range r.NodeNames() {
			addrs = append(addrs, p.Addr(node))
		}
		p.Go(func(ctx context.Context) {
			env := clients.NewEnv(p.Clock(), p.Clock(), sim.Rand(seed, "client", name), p.DialContext, addrs)
			defer leave(ctx, env, steps)
			work(ctx, clients.NewWorker(p, env, build, theLock, r.TTL, p.Addr(resourceName)), steps, r.TTL)
		})
	})
	return c.Err()
}

// CheckRedis says why [onServers] would refuse a run at a speed; nil if it would not.
func CheckRedis(s *Scenario, run Section, speed float64) error {
	r := s.Resolve(run)
	if err := r.checkReal(speed); err != nil {
		return fmt.Errorf("%s/%s: %w", s.Name, r.ID(), err)
	}
	return nil
}

func (r Section) checkReal(speed float64) error {
	if !(speed > 0) {
		return fmt.Errorf("speed %v: it must be above zero", speed)
	}
	if ttl := r.faster(speed).TTL; ttl < leastTTL {
		return fmt.Errorf("at speed %v the TTL of %v is %v, and real servers need %v; the greatest speed for this run is %v",
			speed, r.TTL, ttl, leastTTL, float64(r.TTL)/float64(leastTTL))
	}
	for _, key := range []string{"replicas", "sentinels", "shards"} { // the rest comes with these
		if value := r.setting(key); value != "" {
			return fmt.Errorf("%w: %s=%s", nodes.ErrSimOnly, key, value)
		}
	}
	if err := r.checkRealPersistence(); err != nil {
		return err
	}
	isNode := func(name string) bool {
		return slices.Contains(r.NodeNames(), name) || name == resourceName && r.Resource == Counter
	}
	for _, step := range r.lane(Nemesis) {
		fault := faultOf(step)
		if err := nodes.Injectable(fault, isNode); err != nil {
			return err
		}
		if crash, ok := fault.(sim.Crash); ok && crash.Power {
			return fmt.Errorf("%w: %s: the machine would go down with it", nodes.ErrSimOnly, fault)
		}
	}
	return nil
}

// checkRealPersistence refuses what a real server would remember otherwise. It is killed with kill -9 and finds all that it
// had logged when it comes back, whatever was on the disk, which is not made slow; it is made to forget everything by a restart that is empty.
func (r Section) checkRealPersistence() error {
	steps := r.lane(Nemesis)
	switch nodes.Persistence(r.Persistence) {
	case nodes.RDB, nodes.AOFEverysecSlow:
		return fmt.Errorf("%w: persistence=%s", nodes.ErrSimOnly, r.Persistence)
	case nodes.NoPersistence:
		for _, step := range steps {
			crash, ok := faultOf(step).(sim.Crash)
			if ok && !slices.ContainsFunc(steps, func(s Step) bool {
				restart, ok := faultOf(s).(sim.Restart)
				return ok && restart.Process == crash.Process
			}) {
				return fmt.Errorf("%w: persistence=%s with a %s that no step undoes", nodes.ErrSimOnly, r.Persistence, crash)
			}
		}
	}
	return nil
}

// forgetful returns a resolved run whose nodes restart empty where they have no persistence: a real server always has some.
func (r Section) forgetful() Section {
	if nodes.Persistence(r.Persistence) != nodes.NoPersistence {
		return r
	}
	return r.withSteps(func(step Step) Step {
		return withFault(step, func(f sim.Fault) sim.Fault {
			if restart, ok := f.(sim.Restart); ok && slices.Contains(r.NodeNames(), restart.Process) {
				restart.Empty = true
				return restart
			}
			return f
		})
	})
}

// withSteps returns a resolved run in which f has changed each step.
func (r Section) withSteps(f func(Step) Step) Section {
	r.Lanes = slices.Clone(r.Lanes)
	for i, lane := range r.Lanes {
		steps := slices.Clone(lane.Steps)
		for j, step := range steps {
			steps[j] = f(step)
		}
		r.Lanes[i].Steps = steps
	}
	return r
}

// withFault returns a step of the nemesis with its fault changed by f.
func withFault(step Step, f func(sim.Fault) sim.Fault) Step {
	switch step := step.(type) {
	case AtStart:
		step.Fault = f(step.Fault)
		return step
	case At:
		step.Fault = f(step.Fault)
		return step
	case When:
		step.Fault = f(step.Fault)
		return step
	}
	return step
}

// faster returns a resolved run in which everything takes less time, by a factor.
func (r Section) faster(speed float64) Section {
	scale := func(d time.Duration) time.Duration { return time.Duration(float64(d) / speed) }
	r.TTL, r.DownAfter = scale(r.TTL), scale(r.DownAfter)
	r.slack = realSlack
	r = r.withSteps(func(step Step) Step { return scaleStep(step, scale) })
	r.Musts = slices.Clone(r.Musts)
	for i, must := range r.Musts {
		r.Musts[i] = must.Scaled(scale)
	}
	return r
}

func scaleStep(step Step, scale func(time.Duration) time.Duration) Step {
	faster := func(f sim.Fault) sim.Fault { return scaleFault(f, scale) }
	switch step := step.(type) {
	case Acquire:
		step.Within = scale(step.Within)
		return step
	case Increment:
		step.Within = scale(step.Within)
		return step
	case Repeat:
		step.Step = scaleStep(step.Step, scale)
		return step
	case Pause:
		step.For = scale(step.For)
		return step
	case Sleep:
		step.For = scale(step.For)
		return step
	case Until:
		step.Time = scale(step.Time)
		return step
	case At:
		step.Time = scale(step.Time)
		return withFault(step, faster)
	case When:
		step.After = scale(step.After)
		return withFault(step, faster)
	}
	return withFault(step, faster)
}

func scaleFault(f sim.Fault, scale func(time.Duration) time.Duration) sim.Fault {
	switch f := f.(type) {
	case sim.Pause:
		f.For = scale(f.For)
		return f
	case sim.Jump:
		f.By = scale(f.By)
		return f
	case sim.Delay:
		f.By = scale(f.By)
		return f
	case sim.Chosen:
		f.By = scale(f.By)
		return f
	}
	return f
}
