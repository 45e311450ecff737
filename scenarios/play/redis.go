package play

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand"
	"net"
	"os/exec"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/clients"
	"lockstep/nodes"
	"lockstep/nodes/engine"
	"lockstep/nodes/live"
	"lockstep/nodes/redisserver"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// LeastTTL is the least TTL on real servers, which is long compared with the delays of a busy machine.
const LeastTTL = 500 * time.Millisecond

// realSlack is how much longer than one TTL the probe may take on real servers: the TTL is short there, but the delays of a lock
// between its tries are not.
const realSlack = 2 * time.Second

// onServers plays a job on redis-server processes that it starts and stops, with every duration divided by the job's speed. Each
// client is a process too: this program, started in the same way, which must call [Serve] as this one has. The error is
// [redisserver.ErrNoServer] if there is no redis-server, wraps [live.ErrSimOnly] if a fault exists only in simulation, and is a
// [*live.ClientError] if the process of a client ended by itself, or that of ctx if ctx ended.
//
// It must not be called in a process that has had a bubble: go-redis pools timers for the whole process, and a timer from a
// bubble does not work outside of it.
//
// Durations inside a lock, such as the timeout of Redlock for one node, do not scale with the speed.
func onServers(ctx context.Context, s *script.Scenario, run script.Section, j job) (*Outcome, error) {
	if j.Servers != "" {
		return onRemote(ctx, s, run, j)
	}
	if err := CheckRedis(s, run, j.Speed); err != nil {
		return nil, err
	}
	client, err := j.client()
	if err != nil {
		return nil, err
	}
	r := realRun(s, run, j.Speed)
	servers := slices.Concat(r.NodeNames(), r.ReplicaNames())
	if r.Resource == script.Counter {
		servers = append(servers, script.ResourceName)
	}
	c, err := startServers(r, ctx, servers)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if r.Replicas > 0 {
		if err := c.Group(groupOf(r, s.SpeedOf(run, j.Speed))); err != nil {
			return nil, err
		}
	}
	if err := onCluster(r, c, j, client); err != nil {
		if o := upTo(r, err, s, c.Events(), j.Seed); o != nil {
			return o, nil
		}
		return nil, err
	}
	return Judge(s, r, &history.History{Meta: metaOf(r, s, OnReal, j.Seed), Events: c.Events()}), nil
}

// upTo judges what happened before the machine stood still, if that ended the run. It returns nil unless there is an unexpected
// violation: that is final, whatever the rest of the run would show.
func upTo(r script.Section, err error, s *script.Scenario, events []history.Event, seed uint64) *Outcome {
	var stall *live.StallError
	if !errors.As(err, &stall) {
		return nil
	}
	before := slices.DeleteFunc(slices.Clone(events), func(e history.Event) bool { return e.At >= stall.From })
	o := Judge(s, r, &history.History{Meta: metaOf(r, s, OnReal, seed), Events: before})
	for _, p := range []checker.Property{checker.LeaseExclusion, checker.ResourceExclusion, checker.OwnerOnly, checker.NoLostVote, checker.Tokens} {
		if o.Result.Status(p) == checker.Violated && r.Expected(p) != checker.Violated {
			o.Result.Unmet = append(o.Result.Unmet, err.Error())
			return o
		}
	}
	return nil
}

// startServers starts the servers of a resolved run, with clocks of their own where it sets one.
func startServers(r script.Section, ctx context.Context, servers []string) (*live.Cluster, error) {
	if ownClocks(r) {
		c, err := live.StartClusterWithClocks(ctx, servers, disksOf(r)...)
		switch {
		case !errors.Is(err, redisserver.ErrNoClocks):
			return c, err
		case !onlyJumps(r):
			return nil, fmt.Errorf("%w: %w", live.ErrSimOnly, err)
		}
	}
	return live.StartCluster(ctx, servers, disksOf(r)...)
}

// realRun returns a run as it is played on real servers.
func realRun(s *script.Scenario, run script.Section, speed float64) script.Section {
	return faster(s.Resolve(run), s.SpeedOf(run, speed))
}

// An assignment tells a client process what it has to know besides the run.
type assignment struct {
	Name     string       `json:"name"`
	Contact  live.Contact `json:"contact"`
	Nodes    []string     `json:"nodes"` // the addresses at which it reaches them
	Guide    *live.Guide  `json:"guide,omitempty"`
	Group    nodes.Guide  `json:"group,omitzero"` // of a guest
	Resource string       `json:"resource"`
}

func onCluster(r script.Section, c *live.Cluster, j job, again func() *exec.Cmd) error {
	if r.Resource != script.Counter {
		store, err := clients.NewResource(r.Resource)
		if err != nil {
			panic("scenarios: " + err.Error()) // the parser has checked the kind
		}
		c.Handle(script.ResourceName, store)
	}
	processes := map[string]*live.Client{}
	for _, name := range append(r.Clients(), script.ProbeName) {
		p, err := c.Client(name)
		if err != nil {
			return err
		}
		processes[name] = p
		limit := clientLimit(r, j.Limit)
		if name == script.ProbeName {
			limit += DefaultLimit / 2 // it waits for the others, and must not be blamed for that
		}
		err = p.Start(again, limit, func(contact live.Contact) (json.RawMessage, error) {
			a := &assignment{Name: name, Contact: contact, Resource: p.Addr(script.ResourceName)}
			a.Nodes, a.Guide = contactsOf(r, p)
			own := j
			own.Client = a
			return json.Marshal(own)
		})
		if err != nil {
			return err
		}
	}
	if err := c.Begin(); err != nil {
		return err
	}
	playLanes(r, c, func(name string, _ []script.Step) { processes[name].Go() })
	return c.Err()
}

// beClient carries out the lane of one client, in its process.
func beClient(ctx context.Context, s *script.Scenario, run script.Section, build clients.New, j job) error {
	r, a := realRun(s, run, j.Speed), j.Client
	env := clients.NewEnv(nil, nil, sim.Rand(j.Seed, "client", a.Name), a.dialer(new(net.Dialer).DialContext), a.Nodes)
	if r.Pool == script.Warm {
		env.Warm()
	}
	host, err := live.Join(a.Contact)
	if err != nil {
		return err
	}
	env.Clock, env.Wall = host.Clock(), host.Wall()
	if r.Pool == script.Warm {
		build = env.Made(build)
	}
	// Unmodified libraries draw from the randomness of the process. Two clients should not draw the same.
	//lint:ignore SA1019 nothing else seeds what libraries draw from
	mathrand.Seed(sim.Rand(j.Seed, "process", a.Name).Int64())
	steps := r.Lane(a.Name)
	if a.Name == script.ProbeName {
		steps = probeLane(r)
	}
	var left leftovers // until the process ends
	left.runLane(ctx, host, env, build, a.Resource, r.TTL, steps)
	if err := left.err(); err != nil {
		return err
	}
	host.End()
	if staysOn(steps) {
		select {} // until the process is killed
	}
	return nil
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// DefaultLimit is how much more time than its lane says a client may take.
const DefaultLimit = 20 * time.Second

// clientLimit is how long a client of a resolved run may take: as long as all lanes would take one after the other, plus a limit
// for what the lock does.
func clientLimit(r script.Section, limit time.Duration) time.Duration {
	all := 2*r.TTL + boundOf(r) + cmp.Or(limit, DefaultLimit)
	for _, lane := range r.Lanes {
		for _, step := range lane.Steps {
			n := 1
			if repeat, ok := step.(script.Repeat); ok {
				n = repeat.N
			}
			script.ScaleStep(step, func(d time.Duration) time.Duration {
				all += time.Duration(n) * d
				return d
			})
		}
	}
	return all
}

// stallsPerTry is how often the machine may be too busy, for each try of a job: such a run says nothing about the lock.
const stallsPerTry = 3

// trying plays a job on real servers, again if the outcome was due to chance or to the machine.
func trying(ctx context.Context, s *script.Scenario, run script.Section, j job) (*Outcome, error) {
	stalls := 0
	for try := 1; ; try++ {
		o, err := onServers(ctx, s, run, j)
		if errors.Is(err, live.ErrStalled) && stalls < stallsPerTry*max(j.Tries, 1) {
			stalls++
			try--
			workers.Notify(ctx, fmt.Sprintf("%s/%s on real servers, once more: %v", s.Name, run.ID(), err))
			wait(ctx, time.Duration(min(stalls, 5))*time.Second) // the machine may be less busy then
			continue
		}
		if err != nil || try >= j.Tries || !o.chancy() {
			return o, err
		}
		workers.Notify(ctx, fmt.Sprintf("%s on real servers, try %d of %d: %s", o.Name(), try, j.Tries, strings.Join(append(o.Unexpected(), o.Result.Unmet...), "; ")))
	}
}

// chancy reports whether a run on real servers should be repeated. A busy machine can keep it from the states that it must reach,
// because Redlock waits only 50 ms for a node; then it proves nothing. It can also keep the second client from acquiring the lock
// when that would be a violation; then the lock was lucky. An unexpected violation is final, and so is a process that ended; the
// only exception is a probe that was not served in time.
func (o *Outcome) chancy() bool {
	if o.Report != nil {
		return false
	}
	late := false
	for _, p := range checker.Properties() {
		if o.Result.Status(p) == checker.Violated && o.Run.Expected(p) != checker.Violated {
			if !o.lateness(p) {
				return false
			}
			late = true
		}
	}
	return late || o.Result.Verdict == checker.Inconclusive || o.Result.Verdict == checker.Safe && o.ExpectedVerdict() == checker.Unsafe
}

// lateness reports whether slow replies alone can be why p was violated: the probe got keys but no lease, and when it was last
// refused, a majority of the nodes had no key of another client.
func (o *Outcome) lateness(p checker.Property) bool {
	if p != checker.DeadlockFreedom {
		return false
	}
	f := o.Facts
	late := false
	for i, e := range f.Events {
		if e.Kind != history.Fail || e.Op != history.Acquire || e.Process != script.ProbeName {
			continue
		}
		blocked := map[string]bool{}
		for _, k := range f.Lives {
			if history.Client(k.Label) != script.ProbeName && k.Node == k.Group && k.From < i && i < k.To {
				blocked[k.Node] = true
			}
		}
		late = len(f.Meta.Nodes)-len(blocked) >= f.Meta.Quorum()
	}
	got := slices.ContainsFunc(f.Lives, func(k facts.Life) bool { return history.Client(k.Label) == script.ProbeName && k.Node == k.Group })
	return got && late
}

// CheckRedis returns the error with which [onServers] would refuse a run at a speed; nil if it would not.
func CheckRedis(s *script.Scenario, run script.Section, speed float64) error {
	r := s.Resolve(run)
	if err := checkReal(r, s.SpeedOf(run, speed)); err != nil {
		return fmt.Errorf("%s/%s: %w", s.Name, r.ID(), err)
	}
	return nil
}

// checkSyncs rejects a speed at which the scenario would be different: which writes have reached the disk. A server calls fsync
// once a second, whatever the speed.
func checkSyncs(r script.Section, speed float64) error {
	if speed == 1 {
		return nil
	}
	kind := engine.Persistence(r.Persistence)
	for _, step := range r.Lane(script.Nemesis) {
		crash, ok := script.FaultOf(step).(history.Crash)
		if ok && (kind == engine.AOFEverysecSlow || kind == engine.AOFEverysec && crash.Power) {
			return fmt.Errorf("at speed %v %s is a different scenario with persistence=%s: a server syncs once a second, whatever the speed; write speed=1", speed, crash, kind)
		}
	}
	return nil
}

func checkReal(r script.Section, speed float64) error {
	if !(speed > 0) {
		return fmt.Errorf("speed %v: it must be above zero", speed)
	}
	if r.SimOnly != "" {
		return fmt.Errorf("%w: %s", live.ErrSimOnly, r.SimOnly)
	}
	if r.TTL < LeastTTL {
		return fmt.Errorf("%w: the TTL is %v, and real servers need at least %v", live.ErrSimOnly, r.TTL, LeastTTL)
	}
	if ttl := faster(r, speed).TTL; ttl < LeastTTL {
		return fmt.Errorf("at speed %v the TTL of %v is %v, and real servers need at least %v; the greatest speed for this run is %v",
			speed, r.TTL, ttl, LeastTTL, float64(r.TTL)/float64(LeastTTL))
	}
	if err := checkSyncs(r, speed); err != nil {
		return err
	}
	if err := checkRealGroup(r, speed); err != nil {
		return err
	}
	isClient := func(name string) bool { return slices.Contains(r.Clients(), name) }
	ownClocks := ownClocks(r)
	injectable := func(f history.Fault) error {
		return live.Injectable(f, func(name string) bool { return isServer(r, name) }, isClient, ownClocks)
	}
	for _, lane := range r.Lanes {
		for _, step := range lane.Steps {
			if pause, ok := script.Once(step).(script.Pause); ok {
				if err := injectable(history.Pause{Process: lane.Process, For: pause.For}); err != nil {
					return err
				}
			}
		}
	}
	for _, step := range r.Lane(script.Nemesis) {
		if err := injectable(script.FaultOf(step)); err != nil {
			if why := redisserver.CanSetClocks(); why != nil && r.Replicas == 0 && clockFault(r, step) {
				return fmt.Errorf("%w: %w", err, why)
			}
			return err
		}
	}
	return nil
}

// isServer reports whether a process is a redis-server in a resolved run on real servers.
func isServer(r script.Section, name string) bool {
	return r.IsLock(name) || name == script.ResourceName && r.Resource == script.Counter
}

// clockFault reports whether a step sets the clock of a server, or its rate.
func clockFault(r script.Section, step script.Step) bool {
	switch f := script.FaultOf(step).(type) {
	case history.Jump:
		return isServer(r, f.Process)
	case history.Drift:
		return isServer(r, f.Process)
	case history.Slew:
		return isServer(r, f.Process)
	}
	return false
}

// onlyJumps reports whether the clock faults of the servers can be simulated by moving the deadlines of their keys.
func onlyJumps(r script.Section) bool {
	return !slices.ContainsFunc(r.Lane(script.Nemesis), func(step script.Step) bool {
		_, jump := script.FaultOf(step).(history.Jump)
		return clockFault(r, step) && !jump
	})
}

// ownClocks reports whether the servers of a resolved run have clocks of their own: if the run sets one, and this machine
// supports it. Otherwise a jump moves the deadlines of the keys, which is the same for a lock that neither asks a server for the
// time nor sends absolute deadlines. The keys of a group depend on two clocks, so their deadlines are moved.
func ownClocks(r script.Section) bool {
	return r.Replicas == 0 && slices.ContainsFunc(r.Lane(script.Nemesis), func(s script.Step) bool { return clockFault(r, s) }) && redisserver.CanSetClocks() == nil
}

// disksOf returns the persistence of the nodes of a resolved run. A node whose machine never loses power needs no fsync to keep
// everything.
func disksOf(r script.Section) []engine.Persistence {
	kind := engine.Persistence(r.Persistence)
	if kind == engine.AOFAlways && !slices.ContainsFunc(r.Lane(script.Nemesis), func(step script.Step) bool {
		crash, ok := script.FaultOf(step).(history.Crash)
		return ok && crash.Power
	}) {
		kind = ""
	}
	return slices.Repeat([]engine.Persistence{kind}, len(r.NodeNames())+r.Replicas)
}

// withSteps returns a resolved run with each step changed by f.
func withSteps(r script.Section, f func(script.Step) script.Step) script.Section {
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

// faster returns a resolved run with all durations divided by speed.
func faster(r script.Section, speed float64) script.Section {
	scale := func(d time.Duration) time.Duration {
		return time.Duration(float64(d) / speed).Round(time.Microsecond) // nanoseconds are of no interest
	}
	r.TTL, r.DownAfter = scale(r.TTL), scale(r.DownAfter)
	r.Slack = realSlack
	r = withSteps(r, func(step script.Step) script.Step { return script.ScaleStep(step, scale) })
	r.Musts = slices.Clone(r.Musts)
	for i, must := range r.Musts {
		r.Musts[i] = must.Scaled(scale)
	}
	return r
}
