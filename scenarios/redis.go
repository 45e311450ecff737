package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/nodes"
	"lockstep/sim"
)

// leastTTL is what a TTL must be on real servers, so that it is long compared with what a busy machine makes a process wait.
const leastTTL = 500 * time.Millisecond

// realSlack is how much longer the probe may take on real servers than one TTL, which is short there while the delays of a
// lock between its tries are as long as ever.
const realSlack = 5 * time.Second

// OnRedis puts a lock through a run of the scenario on redis-server processes that it starts and stops, with every duration
// divided by speed. The error is [nodes.ErrNoServer] where there is no redis-server, wraps [nodes.ErrSimOnly] where a fault
// exists in simulation only, is that of ctx if that ended, or tells of a panic of the code under test.
//
// A process that has had a bubble in it should not call this: go-redis pools timers for the whole process, and one from a
// bubble is of no use outside it.
//
// Durations that a lock keeps for itself, such as the timeout of Redlock for one node, know nothing of speed.
func OnRedis(ctx context.Context, s *Scenario, run Run, build clients.New, seed uint64, speed float64) (o *Outcome, err error) {
	if err := CheckRedis(s, run, speed); err != nil {
		return nil, err
	}
	r := s.Resolve(run).faster(speed)
	c, err := nodes.StartCluster(ctx, r.NodeNames())
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

func (r Run) onCluster(c *nodes.Cluster, build clients.New, seed uint64) error {
	store, err := clients.NewResource(r.Resource)
	if err != nil {
		panic("scenarios: " + err.Error()) // the parser knows the kinds
	}
	c.Handle(resourceName, store)
	processes := map[string]*nodes.Client{}
	for _, name := range append(r.clients(), probeName) {
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
			defer env.Close()
			work(ctx, clients.NewWorker(p, env, build, theLock, r.TTL, p.Addr(resourceName)), steps)
		})
	})
	return c.Err()
}

// CheckRedis says why [OnRedis] would refuse a run at a speed; nil if it would not.
func CheckRedis(s *Scenario, run Run, speed float64) error {
	r := s.Resolve(run)
	if err := r.checkReal(speed); err != nil {
		return fmt.Errorf("%s/%s: %w", s.Name, r.ID(), err)
	}
	return nil
}

func (r Run) checkReal(speed float64) error {
	if !(speed > 0) {
		return fmt.Errorf("speed %v: it must be above zero", speed)
	}
	if ttl := r.faster(speed).TTL; ttl < leastTTL {
		return fmt.Errorf("at speed %v the TTL of %v is %v, and real servers need %v; the greatest speed for this run is %v",
			speed, r.TTL, ttl, leastTTL, float64(r.TTL)/float64(leastTTL))
	}
	isNode := func(name string) bool { return slices.Contains(r.NodeNames(), name) }
	for _, step := range r.lane(Nemesis) {
		if err := nodes.Injectable(faultOf(step), isNode); err != nil {
			return err
		}
	}
	return nil
}

// faster returns a resolved run in which everything takes less time, by a factor.
func (r Run) faster(speed float64) Run {
	scale := func(d time.Duration) time.Duration { return time.Duration(float64(d) / speed) }
	r.TTL = scale(r.TTL)
	r.slack = realSlack
	r.Lanes = slices.Clone(r.Lanes)
	for i, lane := range r.Lanes {
		steps := slices.Clone(lane.Steps)
		for j, step := range steps {
			steps[j] = scaleStep(step, scale)
		}
		r.Lanes[i].Steps = steps
	}
	r.Musts = slices.Clone(r.Musts)
	for i, must := range r.Musts {
		r.Musts[i] = scaleMust(must, scale)
	}
	return r
}

func scaleStep(step Step, scale func(time.Duration) time.Duration) Step {
	switch step := step.(type) {
	case Acquire:
		step.Within = scale(step.Within)
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
	case AtStart:
		step.Fault = scaleFault(step.Fault, scale)
		return step
	case At:
		step.Time, step.Fault = scale(step.Time), scaleFault(step.Fault, scale)
		return step
	case When:
		step.After, step.Fault = scale(step.After), scaleFault(step.Fault, scale)
		return step
	}
	return step
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

// scaleMust scales the one duration that a must may have: "... takes over 10s".
func scaleMust(m checker.Must, scale func(time.Duration) time.Duration) checker.Must {
	words := strings.Fields(m.String())
	last := len(words) - 1
	if last < 1 || words[last-1] != "over" {
		return m
	}
	limit, err := time.ParseDuration(words[last])
	if err != nil {
		return m
	}
	words[last] = scale(limit).String()
	scaled, err := checker.ParseMust(strings.Join(words, " "))
	if err != nil {
		panic("scenarios: " + err.Error()) // it differs from one that parses by a number only
	}
	return scaled
}
