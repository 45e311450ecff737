//go:build !wasm

package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"lockstep/scenarios/internal/source"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/wasm"
	"lockstep/sim/workers"
)

// guests are the clients of a run that is simulated with guests=yes. Each is an instance of this program, compiled to
// WebAssembly, and carries out the lane of one client ([beGuest]).
type guests struct {
	module *wasm.Module
	job    job // that of each guest, but without its page and its assignment
	page   script.Scenario
	all    map[string]*wasm.Instance
	ended  sync.Map // the names of those whose lanes have ended
}

func newGuests(s *script.Scenario, run script.Section, seed uint64) (*guests, error) {
	m, err := guestModule()
	if err != nil {
		return nil, err
	}
	return &guests{module: m, job: job{Lock: run.Lock, Seed: seed}, page: guestPage(s, run), all: map[string]*wasm.Instance{}}, nil
}

// guestPage returns a page with all that guests need to know of a run, except for their lanes. Each guest parses it at its start.
func guestPage(s *script.Scenario, run script.Section) script.Scenario {
	r := s.Resolve(run)
	return script.Scenario{
		Title: "The lane of a guest.",
		Runs: []script.Section{{
			Lock:  r.Reference(), // the page names the lock in whose place this one is played
			Nodes: r.Nodes, Replicas: r.Replicas, Sentinels: r.Sentinels, Shards: r.Shards,
			Pool: r.Pool, Guests: true, Resource: r.Resource, TTL: r.TTL,
		}},
	}
}

// withLane returns the page with the lane of one client. A client such as the probe may have no lane. A page must have one, so it then gets the
// lane of a client that does not exist.
func withLane(page script.Scenario, r script.Section, name string) script.Scenario {
	lane := script.Lane{Process: name, Steps: r.Lane(name)}
	if len(lane.Steps) == 0 {
		lane = script.Lane{Process: "nobody", Steps: []script.Step{script.Acquire{}}}
	}
	page.Lanes = []script.Lane{lane}
	return page
}

// start adds the lane of a client.
func (g *guests) start(w *sim.World, p *sim.Process, r script.Section, servers servers, resource string) {
	name := p.Name
	page := withLane(g.page, r, name)
	own := g.job
	own.File, own.Source, own.Run = "guest.txtar", page.String(), page.Runs[0].ID()
	own.Client = &assignment{Name: name, Nodes: servers.addrs, Group: servers.guide, Resource: resource}
	job, err := json.Marshal(own)
	if err != nil {
		panic("play: " + err.Error())
	}
	h := &host{
		p: p, number: slices.Index(r.Clients(), name) + 1, job: job, ended: &g.ended,
		random: func() *rand.Rand { return w.Rand(g.job.Seed, "guest", name) },
		ready:  make(chan struct{}), begin: make(chan struct{}), end: make(chan struct{}),
	}
	launch := func() *wasm.Instance {
		in := g.module.Start(wasm.Config{
			Process: p, Random: h.random(), Args: os.Args, Env: guestEnv(name), Resolve: servers.resolve, Ask: h.answer,
		})
		g.all[name] = in
		return in
	}
	if r.Pool == script.Warm {
		w.Warm(func() {
			in := launch()
			select {
			case <-h.ready:
			case <-in.Ended():
			}
		})
	}
	if staysOn(r.Lane(name)) {
		p.Stay()
	}
	p.Go(func(context.Context) {
		outOfStep(p, h.number-1) // no two processes start in the same nanosecond, from which code may make a token
		in := g.all[name]
		if in == nil {
			in = launch()
		}
		close(h.begin)
		select {
		case <-h.end:
		case <-in.Ended():
		case <-in.Dead():
		}
	})
}

// A host answers the questions of one guest.
type host struct {
	p                 *sim.Process
	number            int               // of the client in its run, from 1
	job               []byte            // what the guest carries out
	random            func() *rand.Rand // begins the random stream of the guest
	ended             *sync.Map         // the names of the guests that have come to their end
	ready, begin, end chan struct{}     // closed when the guest is ready, when it may begin, and when it has ended
}

func (h *host) answer(in *wasm.Instance, data []byte) []byte {
	var q question
	if err := json.Unmarshal(data, &q); err != nil {
		panic("play: a guest asks " + string(data))
	}
	var a reply
	switch {
	case q.Job:
		a.Job = h.job
	case q.Random:
		in.Random = h.random()
		for i := range a.Random {
			a.Random[i] = in.Random.Uint64()
		}
	case q.Begin:
		close(h.ready)
		select {
		case <-h.begin:
		case <-in.Dead():
		}
	case q.Record != nil:
		h.p.Record(*q.Record)
		in.Yield() // a fault that this event triggers acts before the next statement of the client
	case q.Doing != nil:
		h.p.Doing(q.Doing.Op, q.Doing.ID, q.Doing.Lock)
	case q.Lease:
		a.Lease = h.p.Lease()
	case q.Pause > 0:
		in.Pause(q.Pause)
	case q.Until != nil:
		a.FD = in.Instant(*q.Until + time.Duration(h.number)) // see outOfStep
	case q.Steady:
		a.Steady = h.p.Steady()
	case q.End:
		a.FD = in.Never()
		h.ended.Store(h.p.Name, true)
		close(h.end)
	}
	answer, err := json.Marshal(a)
	if err != nil {
		panic("play: " + err.Error())
	}
	return answer
}

// err says why a guest failed, if one did. It is called when all guests have ended with their bubble.
func (g *guests) err() error {
	for _, name := range slices.Sorted(maps.Keys(g.all)) {
		in := g.all[name]
		if err := in.Err(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, ended := g.ended.Load(name); !ended && in.Exited() {
			return fmt.Errorf("%s: its process exited with status 0 in the middle of its lane, as os.Exit(0) does", name)
		}
	}
	return nil
}

// loaded is the program of guests. A worker loads it when the first run needs it.
var loaded struct {
	sync.Mutex
	use, has program
	module   *wasm.Module
}

// useProgram sets the program of guests; by default it is [wasm.Self].
func useProgram(p program) {
	loaded.Lock()
	defer loaded.Unlock()
	loaded.use = p
}

func guestModule() (*wasm.Module, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.use == (program{}) {
		var err error
		if loaded.use, err = self(context.Background()); err != nil {
			return nil, err
		}
	}
	if loaded.module != nil && loaded.has == loaded.use {
		return loaded.module, nil
	}
	code, err := os.ReadFile(loaded.use.Path)
	if err != nil {
		return nil, err
	}
	if loaded.module, err = wasm.Compile(context.Background(), code, loaded.use.Cache); err != nil {
		return nil, err
	}
	loaded.has = loaded.use
	return loaded.module, nil
}

func self(ctx context.Context) (program, error) {
	path, cache, err := wasm.Self(ctx)
	if err != nil {
		return program{}, fmt.Errorf("%w: %w", ErrNoGuests, err)
	}
	return program{path, cache}, nil
}

// guestEnv is the environment of a guest: that of this process, the variable that makes a process a guest, and the name of its host. Each
// client has a host of its own. Garbage is first collected when there are 64 MB of it (GOGC), which short runs never reach: when it is collected
// depends on how much memory the whole program uses, and changes the order of goroutines.
func guestEnv(client string) []string {
	return append(os.Environ(), workers.GuestEnv, "HOSTNAME="+client, "GOGC=1600", "GOMEMLIMIT=256MiB")
}

func beGuest(Finder) error { return errors.New("play: this process is not a guest") }

// MayCallPackageTime says why the code under test may call package time; empty if it does not, and in programs that test only locks of
// this project, such as lockstep.
var MayCallPackageTime = sync.OnceValue(func() string {
	dir, options, ok := wasm.SourceUnderTest()
	if !ok {
		return ""
	}
	return source.MayCallPackageTime(dir, options)
})

// Shared returns something that the clients of a native run share, and that processes on different machines do not share, such as a package
// variable that the code under test changes; empty if there is nothing, and in programs that test only locks of this project. The error
// says why the source cannot be searched.
var Shared = sync.OnceValues(func() (string, error) {
	dir, options, ok := wasm.SourceUnderTest()
	if !ok {
		return "", nil
	}
	return source.Shared(dir, options)
})
