package clients_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"lockstep/clients"
	"lockstep/nodes"
	"lockstep/sim"
	"lockstep/sim/history"
)

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{}) // it reports broken connections, and these tests break connections on purpose
	os.Exit(m.Run())
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// hop is how long every message takes, so that tests can tell to the nanosecond for how many messages somebody waited. The kernel
// makes delays odd.
const hop = time.Millisecond + 1

// A stage is a world with Redis nodes n1, n2, ... and, if asked for, a resource.
type stage struct {
	*sim.World
	t     rapid.TB
	seed  uint64
	addrs []string     // those of the nodes
	group *nodes.Group // n1 and its replicas, if the stage has these instead of nodes
}

// play makes a stage of n nodes, lets direct add clients and faults, and runs it to its end.
func play(t rapid.TB, n int, direct func(*stage)) record {
	t.Helper()
	return playSeed(t, 1, n, direct)
}

func playSeed(t rapid.TB, seed uint64, n int, direct func(*stage)) record {
	t.Helper()
	return playOn(t, seed, func(s *stage) (end func()) {
		var all []*nodes.Node
		for i := range n {
			node := nodes.Serve(s.World, fmt.Sprintf("n%d", i+1))
			all = append(all, node)
			s.addrs = append(s.addrs, node.Process.Addr())
		}
		direct(s)
		return func() {
			for _, node := range all {
				node.Redis.Close()
			}
		}
	})
}

// playGroup makes a stage of n1 and its replicas.
func playGroup(t rapid.TB, replicas int, direct func(*stage)) record {
	t.Helper()
	return playReplicated(t, replicas, false, direct)
}

// playReplicated is playGroup, except that n1, if strict is set, writes only while it hears from a replica.
func playReplicated(t rapid.TB, replicas int, strict bool, direct func(*stage)) record {
	t.Helper()
	return playOn(t, 1, func(s *stage) (end func()) {
		cfg := nodes.GroupConfig{Replicas: replicas}
		if strict {
			cfg.MinReplicas = 1
		}
		s.group = nodes.ServeGroup(s.World, cfg)
		s.addrs = s.group.Addrs()
		direct(s)
		return s.group.Close
	})
}

func playOn(t rapid.TB, seed uint64, set func(*stage) (end func())) record {
	t.Helper()
	var r record
	err := sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{Seed: seed, Latency: sim.Latency{Min: hop, Max: hop}})
		defer w.Close()
		defer set(&stage{World: w, t: t, seed: seed})()
		w.Run()
		if w.Cap() != "" {
			panic("the run hit " + w.Cap())
		}
		r.events = w.History().Events
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// faults injects faults before any lane begins.
func (s *stage) faults(faults ...string) { s.faultsAt(0, faults...) }

// faultsAt injects faults, given in their printed form, at a true time.
func (s *stage) faultsAt(at time.Duration, faults ...string) {
	for _, text := range faults {
		f, err := history.ParseFault(text)
		if err != nil {
			panic(err)
		}
		s.Plan(at, f)
	}
}

// when injects a fault at the first change of a given kind of a node's keys.
func (s *stage) when(op, node, fault string) {
	f, err := history.ParseFault(fault)
	if err != nil {
		panic(err)
	}
	done := false
	s.Watch(func(e history.Event) {
		if !done && e.Kind == history.State && e.Op == op && e.Process == node {
			done = true
			s.Plan(s.Now(), f)
		}
	})
}

// A client is what a lane uses.
type client struct {
	*sim.Process
	t     rapid.TB
	ctx   context.Context
	env   clients.Env
	world *sim.World
}

// client adds a client with one lane. dial, if given, wraps its network.
func (s *stage) client(name string, lane func(*client), dial ...func(clients.Dialer) clients.Dialer) {
	p := s.Process(name)
	var network clients.Dialer = p.DialContext
	if s.group != nil {
		network = s.group.Dial(p)
	}
	for _, d := range dial {
		network = d(network)
	}
	p.Go(func(ctx context.Context) {
		env := clients.NewEnv(p.Clock(), p.Wall(), sim.Rand(s.seed, "client", name), network, s.addrs)
		defer env.Close()
		lane(&client{p, s.t, ctx, env, s.World})
	})
}

// acquire acquires "lock". If this fails, it ends the lane and fails the test.
func (c *client) acquire(l clients.Locker, ttl time.Duration) clients.Lease {
	c.t.Helper()
	lease, err := l.Acquire(c.ctx, "lock", ttl)
	if err != nil {
		c.t.Errorf("%s, at %v: acquire: %v", c.Name, c.world.Now(), err)
		runtime.Goexit()
	}
	return lease
}

// refused tries to acquire "lock", which must certainly fail.
func (c *client) refused(l clients.Locker, ttl time.Duration) error {
	c.t.Helper()
	lease, err := l.Acquire(c.ctx, "lock", ttl)
	if !errors.Is(err, clients.ErrNotAcquired) || lease != nil {
		c.t.Errorf("%s, at %v: acquire: %v, %v; want %q", c.Name, c.world.Now(), lease, err, clients.ErrNotAcquired)
		runtime.Goexit()
	}
	c.legible(err)
	return err
}

// release gives a lease back; want is nil or the error that must be wrapped.
func (c *client) release(lease clients.Lease, want error) {
	c.t.Helper()
	if err := lease.Release(c.ctx); !errors.Is(err, want) {
		c.t.Errorf("%s, at %v: release: %v, want %v", c.Name, c.world.Now(), err, want)
	}
}

// legible checks the form of an error, which appears in timelines.
func (c *client) legible(err error) {
	c.t.Helper()
	if strings.Contains(err.Error(), "%!") {
		c.t.Errorf("%s: the error is not formatted well: %v", c.Name, err)
	}
}

// took returns how much true time f takes.
func (c *client) took(f func()) time.Duration {
	start := c.world.Now()
	f()
	return c.world.Now() - start
}

// A record is what happened on a stage.
type record struct{ events []history.Event }

// changes lists what happened to the key "lock" on a node, such as "set c1#1" or "expire c1#1".
func (r record) changes(node string) []string {
	var list []string
	for _, e := range r.events {
		if e.Kind != history.State || e.Process != node || e.Key != "lock" {
			continue
		}
		lease := e.Lease
		if lease == "" {
			lease = e.Owner
		}
		list = append(list, e.Op+" "+lease)
	}
	return list
}

// requests lists what reached a node, as messages.
func (r record) requests(node string) []history.Event {
	var list []history.Event
	for _, e := range r.events {
		if e.Kind == history.Message && e.Op == history.Deliver && e.Process == node {
			list = append(list, e)
		}
	}
	return list
}

// texts lists what reached a process, as text.
func (r record) texts(process string) []string {
	var list []string
	for _, e := range r.requests(process) {
		list = append(list, e.Value)
	}
	return list
}

// sets lists the SETs that reached a node.
func (r record) sets(node string) []history.Event {
	return slices.DeleteFunc(r.requests(node), func(e history.Event) bool { return !strings.HasPrefix(e.Value, "SET ") })
}

// operations lists what a client recorded: everything except messages, faults and states.
func (r record) operations(process string) []history.Event {
	var list []history.Event
	for _, e := range r.events {
		switch e.Kind {
		case history.Invoke, history.OK, history.Fail, history.Info:
			if e.Process == process {
				list = append(list, e)
			}
		}
	}
	return list
}

var leaseName = regexp.MustCompile(`\b[a-z]+\d*#\d+`)

// nodeNames returns n1, n2, ... up to n.
func nodeNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("n%d", i+1))
	}
	return names
}

// same compares two lists, and fails the test if they differ.
func same(t rapid.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
	}
}
