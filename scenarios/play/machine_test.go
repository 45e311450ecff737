// go-redis, and libraries, draw from the source that all of a process share: it must take a seed.
//
//go:debug randseednop=0

package play

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/checker"
	"lockstep/clients"
	lacking "lockstep/clients/broken"
	"lockstep/internal/draws"
	"lockstep/nodes"
	"lockstep/nodes/engine"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
)

// A machine is a world that is driven step by step, in which rapid draws what happens next, and a model of it: which keys the nodes
// have, which of them have had a key of each lease, and who believes that it holds the lock. The model knows what the history
// says; what it expects is compared with the nodes themselves.
type machine struct {
	world *sim.World
	page  *script.Scenario
	run   script.Section // resolved
	build clients.New
	seed  uint64

	nodes    []*nodes.Node
	addrs    []string
	resource string
	clients  []*contender
	left     leftovers
	stop     func()

	keys    map[string][]string         // that exist, by node
	granted map[string][]string         // the nodes that have had a key, by lease
	down    []string                    // nodes that have crashed
	broken  map[checker.Assumption]bool // by the faults so far
	did     []string                    // so far
}

// A contender is a client that does what it is told, one step after the other.
type contender struct {
	*sim.Process
	todo  chan script.Step
	busy  atomic.Int32  // steps that it has not ended
	gone  bool          // it has crashed
	wakes time.Duration // from its last pause

	lease string // that it believes to have; empty: none
	until time.Duration
}

// A run of a machine comes to the end of many leases.
const machineTTL = time.Second

// newMachine makes one of a section line; its three clients do what they are told, and not what their lanes say.
func newMachine(header string, build clients.New, seed uint64) *machine {
	page, err := script.Parse("machine.txtar", []byte("# A machine.\n\nttl "+machineTTL.String()+"\nclient c1\n  acquire\nclient c2\n  acquire\nclient c3\n  acquire\n\n-- "+header+" --\n"))
	if err != nil {
		panic(err)
	}
	m := &machine{
		world: sim.NewWorld(sim.Config{Seed: seed}), page: page, run: page.Resolve(page.Runs[0]), build: build, seed: seed,
		keys: map[string][]string{}, granted: map[string][]string{}, broken: map[checker.Assumption]bool{},
	}
	m.world.History().Meta = metaOf(m.run, page, OnSim, seed)
	for _, name := range m.run.NodeNames() {
		n := nodes.Serve(m.world, name)
		n.Persist(engine.Persistence(m.run.Persistence))
		m.nodes, m.addrs = append(m.nodes, n), append(m.addrs, n.Process.Addr())
	}
	m.resource, m.stop = serveResource(m.run, m.world)
	m.world.Watch(m.learn)
	for _, name := range m.run.Clients() {
		m.join(name)
	}
	return m
}

// join adds a client, which waits to be told what to do.
func (m *machine) join(name string) *contender {
	c := &contender{Process: m.world.Process(name), todo: make(chan script.Step, 2)}
	m.clients = append(m.clients, c)
	c.Go(func(ctx context.Context) {
		env := clients.NewEnv(c.Clock(), c.Wall(), sim.Rand(m.seed, "client", name), c.DialContext, m.addrs)
		defer env.Close()
		w := clients.NewWorker(c, env, m.build, LockName, m.run.TTL, m.resource)
		for {
			select {
			case step, ok := <-c.todo:
				if !ok {
					w.Exit()
					w.Close()
					return
				}
				do(ctx, w, step, m.run.TTL)
				c.busy.Add(-1)
			case <-ctx.Done():
				m.left.keep(w) // a process that is gone closes nothing
				return
			}
		}
	})
	return c
}

func (m *machine) close() {
	m.left.close()
	m.world.Close()
	m.stop()
	for _, n := range m.nodes {
		n.Redis.Close()
	}
}

// learn keeps the model up to date.
func (m *machine) learn(e history.Event) {
	if e.Kind == history.State {
		switch keys := m.keys[e.Process]; e.Op {
		case history.Set:
			m.keys[e.Process] = append(keys, e.Key)
			m.granted[e.Lease] = append(m.granted[e.Lease], e.Process)
		case history.Delete, history.Expire, history.Lose:
			m.keys[e.Process] = slices.DeleteFunc(keys, func(k string) bool { return k == e.Key })
		}
		return
	}
	i := slices.IndexFunc(m.clients, func(c *contender) bool { return c.Name == e.Process })
	if i < 0 {
		return
	}
	c := m.clients[i]
	switch op := e.Op; {
	case op == history.Acquire && e.Kind == history.OK:
		c.lease, c.until = e.Lease, e.Until
	case (op == history.Extend && e.Kind == history.OK || op == history.Renew) && c.lease == e.Lease:
		c.until = e.Until
	case op == history.Acquire && e.Kind == history.Invoke, op == history.Release && e.Kind == history.Invoke, op == history.Lost, op == history.Exit:
		c.lease = ""
	}
}

// inject injects a fault.
func (m *machine) inject(f history.Fault, breaks checker.Assumption) {
	m.did = append(m.did, fmt.Sprintf("at %s %s", m.world.Now(), f))
	m.broken[breaks] = true
	m.world.Inject(f)
	m.advance(0)
}

// advance lets time pass, and at least as much as what was just done takes to be noticed.
func (m *machine) advance(d time.Duration) { m.world.RunFor(d + time.Microsecond) }

// tell has a client do something, and lets it have the time that it takes, or less, or more.
func (m *machine) tell(rt *rapid.T, c *contender, steps ...script.Step) {
	for _, step := range steps {
		m.did = append(m.did, fmt.Sprintf("at %s %s %s", m.world.Now(), c.Name, step))
		c.busy.Add(1)
		c.todo <- step
	}
	m.advance(rapid.SampledFrom([]time.Duration{10 * time.Millisecond, 0, machineTTL / 3, machineTTL * 6 / 5}).Draw(rt, "for"))
}

// actions are what can happen next. Each says by Skip that it cannot.
func (m *machine) actions() map[string]func(*rapid.T) {
	client := func(rt *rapid.T, fit func(*contender) bool) *contender {
		var some []*contender
		for _, c := range m.clients {
			if !c.gone && fit(c) {
				some = append(some, c)
			}
		}
		if len(some) == 0 {
			rt.Skip("nobody can")
		}
		return some[rapid.IntRange(0, len(some)-1).Draw(rt, "client")]
	}
	idle := func(c *contender) bool { return c.busy.Load() == 0 && m.world.Now() > c.wakes } // who is paused hears nothing
	asked := func(c *contender) bool { return idle(c) && c.lease != "" }
	node := func(rt *rapid.T, down bool) *nodes.Node {
		var some []*nodes.Node
		for _, n := range m.nodes {
			if slices.Contains(m.down, n.Process.Name) == down {
				some = append(some, n)
			}
		}
		if len(some) == 0 {
			rt.Skip("there is none")
		}
		return some[rapid.IntRange(0, len(some)-1).Draw(rt, "node")]
	}
	long := rapid.SampledFrom([]time.Duration{machineTTL / 3, machineTTL * 6 / 5, machineTTL * 3})
	return map[string]func(*rapid.T){
		"acquire": func(rt *rapid.T) { m.tell(rt, client(rt, idle), script.Acquire{}) },
		"release": func(rt *rapid.T) { m.tell(rt, client(rt, asked), script.Release{}) },
		"extend":  func(rt *rapid.T) { m.tell(rt, client(rt, asked), script.Extend{}) },
		// A client that does not look at the end of its lease has only itself to blame.
		"write": func(rt *rapid.T) {
			c := client(rt, asked)
			m.tell(rt, c, script.Check{}, script.Write{Value: fmt.Sprintf("%s-%d", strings.ToUpper(c.Name), len(m.did))})
		},
		"advance": func(rt *rapid.T) {
			m.advance(rapid.SampledFrom([]time.Duration{time.Millisecond, 20 * time.Millisecond, machineTTL * 6 / 5}).Draw(rt, "by"))
		},
		"pause": func(rt *rapid.T) {
			c := client(rt, func(*contender) bool { return true })
			d := long.Draw(rt, "for")
			c.wakes = max(c.wakes, m.world.Now()+d)
			m.inject(history.Pause{Process: c.Name, For: d}, checker.BoundedPause)
		},
		"die": func(rt *rapid.T) {
			c := client(rt, func(c *contender) bool { return true })
			c.gone, c.lease = true, ""
			m.inject(history.Crash{Process: c.Name}, checker.None)
		},
		"stall": func(rt *rapid.T) {
			m.inject(history.Pause{Process: node(rt, false).Process.Name, For: long.Draw(rt, "for")}, checker.BoundedDelay)
		},
		"crash": func(rt *rapid.T) {
			n := node(rt, false)
			m.down = append(m.down, n.Process.Name)
			m.inject(history.Crash{Process: n.Process.Name}, checker.None)
		},
		"restart": func(rt *rapid.T) {
			n := node(rt, true)
			m.down = slices.DeleteFunc(m.down, func(name string) bool { return name == n.Process.Name })
			empty, breaks := rapid.IntRange(0, 3).Draw(rt, "empty") == 3, checker.None
			if empty {
				breaks = checker.DurableNodes
			}
			m.inject(history.Restart{Process: n.Process.Name, Empty: empty}, breaks)
		},
		"cut": func(rt *rapid.T) {
			c, n := client(rt, func(*contender) bool { return true }), node(rt, false)
			m.inject(history.Cut{Link: history.Link{From: c.Name, To: n.Process.Name, Both: true}}, checker.BoundedDelay)
		},
		"heal": func(*rapid.T) { m.inject(history.Heal{}, checker.None) },
		"jump": func(rt *rapid.T) {
			by := long.Draw(rt, "by")
			if rapid.Bool().Draw(rt, "back") {
				by = -by
			}
			m.inject(history.Jump{Process: node(rt, false).Process.Name, By: by}, checker.BoundedClockError)
		},
		"": m.invariants,
	}
}

// invariants compares the model with the nodes, and says what must be true of the model.
func (m *machine) invariants(rt *rapid.T) {
	for _, n := range m.nodes {
		name := n.Process.Name
		if slices.Contains(m.down, name) {
			continue
		}
		var have []string
		for _, k := range n.Keys() {
			have = append(have, k.Name)
		}
		want := slices.Sorted(slices.Values(m.keys[name]))
		if !slices.Equal(have, want) {
			rt.Fatalf("%s has the keys %v, and the history says %v\n%s", name, have, want, m.script())
		}
	}
	var believers []string
	for _, c := range m.clients {
		if c.lease == "" || c.Steady() >= c.until {
			continue
		}
		believers = append(believers, c.Name)
		if n := len(m.granted[c.lease]); n <= len(m.nodes)/2 {
			rt.Fatalf("%s believes to hold %s, of which %d of %d nodes have had a key\n%s", c.Name, c.lease, n, len(m.nodes), m.script())
		}
	}
	if len(believers) > 1 && !m.broken[checker.BoundedClockError] && !m.broken[checker.DurableNodes] {
		rt.Fatalf("%v believe to hold the lock, and no clock jumped and no node forgot\n%s", believers, m.script())
	}
}

func (m *machine) script() string { return "  " + strings.Join(m.did, "\n  ") }

// end ends the run as every run ends, and judges it.
func (m *machine) end() *Outcome {
	m.world.Restore()
	for _, c := range m.clients {
		if !c.gone {
			close(c.todo)
		}
	}
	m.world.Run()
	m.world.RunFor(m.run.TTL + m.run.TTL/50 + 100*time.Millisecond)
	probe := m.join(script.ProbeName)
	for _, step := range probeLane(m.run) {
		probe.busy.Add(1)
		probe.todo <- step
	}
	close(probe.todo)
	m.world.Run()
	h := m.world.History()
	h.Meta.Cap, h.Meta.Checksum = m.world.Cap(), m.world.Checksum()
	return Judge(m.page, m.run, h)
}

// put is a property: whatever happens, the lock keeps what it should, or a fault that was injected is to blame.
func put(rt *rapid.T, header string, build clients.New) {
	m := newMachine(header, build, 1)
	defer m.close()
	rt.Repeat(m.actions())
	o := m.end()
	if o.Result.RanOn || m.world.Cap() != "" {
		rt.Fatalf("the run proves nothing: %v\n%s", o.Result.Unmet, m.script())
	}
	for _, v := range o.Result.Violations {
		f := Failing{v.Property, v.Assumption}
		switch {
		case v.Property == checker.FaultTolerance && len(m.nodes) < 3: // of which one may be gone
		case v.Property == checker.DeadlockFreedom && m.broken[checker.BoundedClockError]:
			// A clock that was set back keeps a key for longer than the probe has patience.
		case !excused(f) || !m.broken[v.Assumption]:
			rt.Fatalf("%s: %s\n%s\n%s", f, v.What, m.script(), o.Timeline())
		}
	}
}

// excused reports whether the lock is not to blame: clocks that jump and nodes that lose keys break every lock with leases, and
// no lease prevents a late write. But a lock can measure how long an acquire took, and see that its lease is over.
func excused(f Failing) bool {
	switch f.Assumption {
	case checker.BoundedClockError, checker.DurableNodes:
		return true
	case checker.BoundedPause, checker.BoundedDelay:
		return f.Property == checker.ResourceExclusion || f.Property == checker.NoLostUpdate
	}
	return false
}

// machineLock names a lock for TestMachine in the place of those that it is about.
const machineLock = "LOCKSTEP_TEST_MACHINE"

// machines are the locks that are put through it.
var machines = []string{"single nodes=1", "fenced nodes=1 resource=fenced", "watchdog nodes=1", "redlock nodes=3", "redlock-extend nodes=3"}

// Whatever clients and a nemesis do, step by step, a good lock keeps what it promises.
func TestMachine(t *testing.T) {
	QuietRedis()
	headers := machines
	if name := os.Getenv(machineLock); name != "" {
		headers = []string{name + " nodes=1"}
		if strings.HasPrefix(name, "redlock") {
			headers = []string{name + " nodes=3"}
		}
	}
	for _, header := range headers {
		lock, _, _ := strings.Cut(header, " ")
		t.Run(lock, func(t *testing.T) {
			build, err := clients.FindIn(slices.Concat(clients.Locks(), lacking.Locks()), lock)
			if err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(rt *rapid.T) {
				rapid.SyncTest(rt, func(rt *rapid.T) { put(rt, header, build) })
			})
		})
	}
}

// Locks that lack a safeguard do not pass.
func TestMachineFinds(t *testing.T) {
	draws.Seldom(t, 0, 4)
	for lock, want := range map[string]string{
		"single-uncompared":            "owner only violated, no broken assumption",
		"redlock-half-quorum":          "of which 1 of 3 nodes have had a key|lease exclusion violated, no broken assumption",
		"redlock-reachable-quorum":     "of which 1 of 3 nodes have had a key|lease exclusion violated, no broken assumption",
		"redlock-recreating-extension": "(owner only|lease exclusion) violated, no broken assumption",
		"redlock-no-elapsed-check":     "expired on return violated, broken assumption \"bounded (pause|delay)\"",
	} {
		t.Run(lock, func(t *testing.T) {
			c := exec.Command(os.Args[0], "-test.run=^TestMachine$", "-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1s", "-rapid.checks=5000")
			c.Env = append(os.Environ(), machineLock+"="+lock)
			out, err := c.CombinedOutput()
			if err == nil {
				t.Fatalf("the machine finds nothing:\n%s", out)
			}
			if head, _, _ := strings.Cut(string(out), "To reproduce"); !regexp.MustCompile(want).MatchString(head) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		})
	}
}
