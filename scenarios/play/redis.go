package play

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/nodes/engine"
	"lockstep/nodes/live"
	"lockstep/nodes/redisserver"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// LeastTTL is what a TTL must be on real servers, so that it is long compared with what a busy machine makes a process wait.
const LeastTTL = 500 * time.Millisecond

// realSlack is how much longer the probe may take on real servers than one TTL, which is short there while the delays of a
// lock between its tries are as long as ever.
const realSlack = 2 * time.Second

// onServers does a job on redis-server processes that it starts and stops, with every duration divided by the job's speed. Each
// client is a process as well: this program once more, as it was started itself, which must come to [Serve] as this one has.
// The error is [redisserver.ErrNoServer] where there is no redis-server, wraps [live.ErrSimOnly] where a fault exists in simulation
// only, is a [*live.ClientError] if the process of a client ended by itself, or that of ctx if that ended.
//
// A process that has had a bubble in it should not call this: go-redis pools timers for the whole process, and one from a
// bubble is of no use outside it.
//
// Durations that a lock keeps for itself, such as the timeout of Redlock for one node, know nothing of speed.
func onServers(ctx context.Context, s *script.Scenario, run script.Section, j job) (*Outcome, error) {
	if j.Servers != "" {
		return onRemote(ctx, s, run, j)
	}
	if err := CheckRedis(s, run, j.Speed); err != nil {
		return nil, err
	}
	self, err := os.Executable()
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
	if err := onCluster(r, c, j, func() *exec.Cmd { return exec.Command(self, os.Args[1:]...) }); err != nil {
		if o := upTo(r, err, s, c.Events(), j.Seed); o != nil {
			return o, nil
		}
		return nil, err
	}
	return Judge(s, r, &history.History{Meta: metaOf(r, s, OnReal, j.Seed), Events: c.Events()}), nil
}

// upTo judges what happened before the machine stood still, if that is why a run has ended. It returns nil unless there is a
// violation that should not be: such a one is final, and the rest of the run says nothing.
func upTo(r script.Section, err error, s *script.Scenario, events []history.Event, seed uint64) *Outcome {
	var stall *live.StallError
	if !errors.As(err, &stall) {
		return nil
	}
	before := slices.DeleteFunc(slices.Clone(events), func(e history.Event) bool { return e.At >= stall.From })
	o := Judge(s, r, &history.History{Meta: metaOf(r, s, OnReal, seed), Events: before})
	for _, p := range []checker.Property{checker.LeaseExclusion, checker.ResourceExclusion, checker.OwnerOnly, checker.Tokens} {
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

// realRun returns a run as it is on real servers.
func realRun(s *script.Scenario, run script.Section, speed float64) script.Section {
	return faster(s.Resolve(run), s.SpeedOf(run, speed))
}

// An assignment is what a client process has to know beside the run that it is a client of.
type assignment struct {
	Name     string       `json:"name"`
	Contact  live.Contact `json:"contact"`
	Nodes    []string     `json:"nodes"` // where it reaches them
	Guide    *live.Guide  `json:"guide,omitempty"`
	Resource string       `json:"resource"`
}

func onCluster(r script.Section, c *live.Cluster, j job, again func() *exec.Cmd) error {
	if r.Resource != script.Counter {
		store, err := clients.NewResource(r.Resource)
		if err != nil {
			panic("scenarios: " + err.Error()) // the parser knows the kinds
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
			limit += DefaultLimit / 2 // it waits for the others, and should not be blamed for them
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

// beClient is what the process of one client does: its lane.
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
	// Unmodified libraries draw from the randomness of the process, and two clients should not draw the same.
	//lint:ignore SA1019 nothing else seeds what libraries draw from
	mathrand.Seed(sim.Rand(j.Seed, "process", a.Name).Int64())
	steps := r.Lane(a.Name)
	if a.Name == script.ProbeName {
		steps = probeLane(r)
	}
	var left leftovers // to the end of the process
	left.runLane(ctx, host, env, build, a.Resource, r.TTL, steps)
	host.End()
	if len(steps) > 0 && steps[len(steps)-1] == (script.Stay{}) {
		select {} // until the process is killed
	}
	return nil
}

// wait lets time pass, unless ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// DefaultLimit is how much more time than its lane says a client may take.
const DefaultLimit = 20 * time.Second

// clientLimit is how long a client of a resolved run may take: as long as if everybody did everything one after the other, and
// more, by a limit, for what the lock does.
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

// stallsPerTry is how often the machine may have been too busy, for each try that a job has: that says nothing about the lock.
const stallsPerTry = 3

// trying does a job on real servers, again if it was chance that decided, or the machine.
func trying(ctx context.Context, s *script.Scenario, run script.Section, j job) (*Outcome, error) {
	stalls := 0
	for try := 1; ; try++ {
		o, err := onServers(ctx, s, run, j)
		if errors.Is(err, live.ErrStalled) && stalls < stallsPerTry*max(j.Tries, 1) {
			stalls++
			try--
			workers.Notify(ctx, fmt.Sprintf("%s/%s on real servers, once more: %v", s.Name, run.ID(), err))
			wait(ctx, time.Duration(min(stalls, 5))*time.Second) // it may be over by then
			continue
		}
		if err != nil || try >= j.Tries || !o.chancy() {
			return o, err
		}
		workers.Notify(ctx, fmt.Sprintf("%s on real servers, try %d of %d: %s", o.Name(), try, j.Tries, strings.Join(append(o.Unexpected(), o.Result.Unmet...), "; ")))
	}
}

// chancy reports whether a run on real servers deserves another try. A busy machine can keep it from the states that it must
// reach, since Redlock gives a node 50 ms and no more; then it proves nothing. It can also keep the second client from getting
// what it should not get; then the lock was lucky. A violation that should not be is final, and so is a process that ended; all but
// that of a probe that was not served in time.
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

// lateness reports whether slow replies, and nothing else, can be why p was violated: the probe got keys and no lease, and when it
// was refused for the last time, a majority of the nodes had no key of anybody else.
func (o *Outcome) lateness(p checker.Property) bool {
	if p != checker.DeadlockFreedom {
		return false
	}
	m := o.History.Meta
	got, taken := false, map[string]map[string]bool{} // by node, the keys that are not the probe's
	for _, node := range m.Nodes {
		taken[node] = map[string]bool{}
	}
	blocked := func() (n int) {
		for _, keys := range taken {
			if len(keys) > 0 {
				n++
			}
		}
		return n
	}
	late := false
	for _, e := range o.History.Events {
		keys := taken[e.Process]
		switch {
		case e.Kind == history.Fail && e.Op == history.Acquire && e.Process == script.ProbeName:
			late = len(m.Nodes)-blocked() >= m.Quorum()
		case e.Kind != history.State || keys == nil:
		case e.Op == history.Set || e.Op == history.Over || e.Op == history.Retime:
			if history.Client(e.Lease) == script.ProbeName {
				got = true
				delete(keys, e.Key)
				continue
			}
			keys[e.Key] = true
		case e.Op == history.Delete || e.Op == history.Expire || e.Op == history.Lose:
			delete(keys, e.Key)
		}
	}
	return got && late
}

// CheckRedis says why [onServers] would refuse a run at a speed; nil if it would not.
func CheckRedis(s *script.Scenario, run script.Section, speed float64) error {
	r := s.Resolve(run)
	if err := checkReal(r, s.SpeedOf(run, speed)); err != nil {
		return fmt.Errorf("%s/%s: %w", s.Name, r.ID(), err)
	}
	return nil
}

// checkSyncs refuses what would be another story at another speed: which writes have reached the disk. A server syncs once a
// second, whatever the speed.
func checkSyncs(r script.Section, speed float64) error {
	if speed == 1 {
		return nil
	}
	kind := engine.Persistence(r.Persistence)
	for _, step := range r.Lane(script.Nemesis) {
		crash, ok := script.FaultOf(step).(history.Crash)
		if ok && (kind == engine.AOFEverysecSlow || kind == engine.AOFEverysec && crash.Power) {
			return fmt.Errorf("at speed %v %s is another story with persistence=%s: a server syncs once a second, whatever the speed; write speed=1", speed, crash, kind)
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
		return fmt.Errorf("%w: the TTL is %v, and real servers need %v", live.ErrSimOnly, r.TTL, LeastTTL)
	}
	if ttl := faster(r, speed).TTL; ttl < LeastTTL {
		return fmt.Errorf("at speed %v the TTL of %v is %v, and real servers need %v; the greatest speed for this run is %v",
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

// clockFault reports whether a step is one that sets the clock of a server, or its rate.
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

// onlyJumps reports whether what is done to the clocks of the servers can be done to their keys as well.
func onlyJumps(r script.Section) bool {
	return !slices.ContainsFunc(r.Lane(script.Nemesis), func(step script.Step) bool {
		_, jump := script.FaultOf(step).(history.Jump)
		return clockFault(r, step) && !jump
	})
}

// ownClocks reports whether the servers of a resolved run have clocks of their own: where one is set, and where they can. Else a jump
// is one of the keys, which is the same to a lock that does not ask a server for the time, or name ends by it. Keys that are
// copied end by two clocks, and jump.
func ownClocks(r script.Section) bool {
	return r.Replicas == 0 && slices.ContainsFunc(r.Lane(script.Nemesis), func(s script.Step) bool { return clockFault(r, s) }) && redisserver.CanSetClocks() == nil
}

// disksOf says how the nodes of a resolved run persist. One whose machine keeps its power needs no fsync to remember everything.
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

// withSteps returns a resolved run in which f has changed each step.
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

// faster returns a resolved run in which everything takes less time, by a factor.
func faster(r script.Section, speed float64) script.Section {
	scale := func(d time.Duration) time.Duration {
		return time.Duration(float64(d) / speed).Round(time.Microsecond) // no reader wants to know the nanoseconds of a third
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
