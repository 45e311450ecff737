package nodes

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockstep/sim"
	"lockstep/sim/history"
)

// A play is a run of a group: the lines of its clients and the faults of the nemesis.
//
// A line has a client, a time, a command, and the expected reply: "c1 100ms SET lock token-of-c1-000001 NX PX 10000 -> OK". With
// "@r1" after the name it goes to that process instead of the group. Each client has a connection pool; a line of "c1/x" uses
// another pool, called x.
type play struct {
	cfg    GroupConfig
	seed   uint64
	lines  string
	faults string
}

// quiet discards the log of go-redis, which reports errors that these tests cause.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func goRedis(p *sim.Process, g *Group, addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Dialer: g.Dial(p), Protocol: 2, MaxRetries: -1, DialerRetries: 1, PoolSize: 64, ConnMaxIdleTime: -1,
		DisableIdentity:          true,
		ReadTimeout:              time.Second,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

func (p play) run(t *testing.T) *history.History {
	t.Helper()
	redis.SetLogger(quiet{})
	var h *history.History
	err := sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{Seed: p.seed})
		defer w.Close()
		h = w.History()
		p.cfg.Seed = p.seed
		g := ServeGroup(w, p.cfg)
		defer g.Close()
		p.plan(t, w)
		p.start(t, w, g)
		w.Run()
		if w.Cap() != "" {
			t.Errorf("hit %s", w.Cap())
		}
		h.Meta.Checksum = w.Checksum()
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// plan schedules the faults.
func (p play) plan(t *testing.T, w *sim.World) {
	for line := range strings.Lines(strings.TrimSpace(p.faults)) {
		at, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		d, err := time.ParseDuration(at)
		if err != nil {
			t.Fatal(err)
		}
		f, err := history.ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		w.Plan(d, f)
	}
}

// start adds the clients.
func (p play) start(t *testing.T, w *sim.World, g *Group) {
	lanes := map[string][]string{}
	var names []string
	for line := range strings.Lines(strings.TrimSpace(p.lines)) {
		who, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name := who[:2]
		if lanes[name] == nil {
			names = append(names, name)
		}
		lanes[name] = append(lanes[name], who+" "+rest)
	}
	for _, name := range names {
		c := w.Process(name)
		c.Go(func(ctx context.Context) { p.act(t, ctx, w, g, c, lanes[name]) })
	}
}

func (p play) act(t *testing.T, ctx context.Context, w *sim.World, g *Group, c *sim.Process, lines []string) {
	pool := goRedis(c, g, g.Addrs()[0])
	defer pool.Close()
	open := map[string]*redis.Client{}
	for i, line := range lines {
		line, want, _ := strings.Cut(line, " -> ")
		words := strings.Fields(line)
		at, err := time.ParseDuration(words[1])
		if err != nil {
			panic(err)
		}
		c.Until(at)
		client := pool
		if _, name, ok := strings.Cut(words[0], "/"); ok {
			if open[name] == nil {
				open[name] = goRedis(c, g, g.Addrs()[0])
			}
			client = open[name]
		} else if _, node, ok := strings.Cut(words[0], "@"); ok {
			n := slices.IndexFunc(g.nodes, func(n *Node) bool { return n.Process.Name == node })
			client = goRedis(c, g, g.nodes[n].Process.Addr())
			defer client.Close()
		}
		var args []any
		for _, word := range words[2:] {
			args = append(args, word)
		}
		if len(args) == 0 {
			continue
		}
		c.Doing(history.Acquire, i+1, "")
		reply, err := client.Do(ctx, args...).Result()
		got := fmt.Sprint(reply)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s %s: got %q after %v, want %q", c.Name, line, got, w.Now()-at, want)
		}
	}
	for _, client := range open {
		client.Close()
	}
}

// states lists the state changes of a history, without times.
func states(h *history.History, keep func(history.Event) bool) (lines []string) {
	for _, e := range h.Events {
		if e.Kind == history.State && (keep == nil || keep(e)) {
			line := e.Process + " " + e.Op
			for _, s := range []string{e.Key, e.Lease, e.Value} {
				if s != "" {
					line += " " + s
				}
			}
			if e.Owner != "" && e.Owner != e.Lease {
				line += " of " + e.Owner
			}
			if e.By != "" {
				line += " by " + e.By
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func expectStates(t *testing.T, h *history.History, want ...string) {
	t.Helper()
	if got := states(h, nil); !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

const (
	token1 = "token-of-c1-000001"
	token2 = "token-of-c2-000001"
	locks  = " NX PX 10000"
)

// TestFailover: a promotion loses what the link had not carried, and nothing else.
func TestFailover(t *testing.T) {
	for _, tt := range []struct {
		name, faults string
		second       string // the reply to c2
		states       []string
	}{
		{"replicated", "2s crash n1\n3s promote r1", "redis: nil", []string{
			"n1 set lock c1#1 by c1", "r1 set lock c1#1 by n1", "r1 promote", "r1 expire lock of c1#1",
		}},
		{"lag", "500ms cut n1->r1\n2s crash n1\n3s promote r1", "OK", []string{
			"n1 set lock c1#1 by c1", "r1 promote", "r1 set lock c2#1 by c2", "r1 expire lock of c2#1",
		}},
		{"hold", "500ms hold n1->r1\n2s crash n1\n3s promote r1\n5s release n1->r1", "OK", []string{
			"n1 set lock c1#1 by c1", "r1 promote", "r1 set lock c2#1 by c2", "r1 expire lock of c2#1",
		}},
		{"delay", "500ms delay n1-r1 900ms\n2s crash n1\n3s promote r1", "redis: nil", []string{
			"n1 set lock c1#1 by c1", "r1 set lock c1#1 by n1", "r1 promote", "r1 expire lock of c1#1",
		}},
		{"paused replica", "500ms pause r1\n1500ms resume r1\n2s crash n1\n3s promote r1", "redis: nil", []string{
			"n1 set lock c1#1 by c1", "r1 set lock c1#1 by n1", "r1 promote", "r1 expire lock of c1#1",
		}},
		{"reset", "999ms hold n1->r1\n1500ms reset n1-r1\n1600ms release n1->r1\n4s crash n1\n4500ms promote r1", "redis: nil", []string{
			"n1 set lock c1#1 by c1", "r1 set lock c1#1 by n1", "r1 promote", "r1 expire lock of c1#1",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := play{cfg: GroupConfig{Replicas: 1}, seed: 1, faults: tt.faults, lines: `
				c1 1s SET lock ` + token1 + locks + ` -> OK
				c2 5s SET lock ` + token2 + locks + ` -> ` + tt.second + `
				c2 20s`}.run(t)
			expectStates(t, h, tt.states...)
		})
	}
}

// TestTokensInTheStream: the history names tokens in the replication stream instead of showing them.
func TestTokensInTheStream(t *testing.T) {
	h := play{cfg: GroupConfig{Replicas: 1}, seed: 1, faults: "2s reset n1-r1", lines: `
		c1 1s SET lock ` + token1 + locks + ` -> OK
		c1 4s`}.run(t)
	var got []string
	for _, e := range h.Events {
		if e.Kind == history.Message && e.Process == "r1" {
			got = append(got, e.Value)
		}
	}
	want := []string{
		"FULLRESYNC n1.1 0",
		"SET lock c1#1 PXAT 946684811004",
		"FULLRESYNC n1.1 77; SET lock c1#1 PXAT 946684811004",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOwnersMoveAlong: deleting a copied key counts as deleting the lease that the original stood for.
func TestOwnersMoveAlong(t *testing.T) {
	h := play{cfg: GroupConfig{Replicas: 2}, seed: 1, faults: "2s promote r1\n4s crash r1\n5s promote r2", lines: `
		c1 1s SET lock locked` + locks + ` -> OK
		c2/a 3s PEXPIRE lock 20000 -> 1
		c2/b 6s DEL lock -> 1
		c2 7s`}.run(t)
	expectStates(t, h,
		"n1 set lock c1#1 by c1", "r1 set lock c1#1 by n1", "r2 set lock c1#1 by n1",
		"r1 promote", "r2 follow r1",
		"r1 retime lock c1#1 by c2", "r2 retime lock c1#1 by r1",
		"r2 promote",
		"r2 delete lock of c1#1 by c2",
	)
}

// TestOwnersInSnapshots: the lease of a key may change although its value stays the same.
func TestOwnersInSnapshots(t *testing.T) {
	h := play{cfg: GroupConfig{Replicas: 1}, seed: 1, faults: "1500ms hold n1->r1\n3s reset n1-r1\n3s release n1->r1\n6s crash n1\n7s promote r1", lines: `
		c1 1s SET lock locked NX -> OK
		c1 2s DEL lock -> 1
		c2 2500ms SET lock locked NX -> OK
		c1 8s
		c1/b 8s DEL lock -> 1`}.run(t)
	expectStates(t, h,
		"n1 set lock c1#1 by c1", "r1 set lock c1#1 by n1", "n1 delete lock of c1#1 by c1", "n1 set lock c2#1 by c2",
		"r1 promote", "r1 delete lock of c2#1 by c1",
	)
}

// TestOwnersOnBothSides: on the two sides of a split, the same offset stands for different writes.
func TestOwnersOnBothSides(t *testing.T) {
	h := play{cfg: GroupConfig{Replicas: 2}, seed: 1, faults: isolate("1s", []string{"n1"}, []string{"r1", "r2"}) + "2s promote r1\n7s delay r1-r2 500ms", lines: `
		c2 8s SET lock locked NX -> OK
		c1@n1 8200ms SET lock locked NX -> OK
		c1 10s`}.run(t)
	expectStates(t, h, "r1 promote", "r2 follow r1", "r1 set lock c2#1 by c2", "n1 set lock c1#1 by c1", "r2 set lock c2#1 by r1")
}

// TestReplicas: a replica refuses writes, and expires no key, but replies as if it did.
func TestReplicas(t *testing.T) {
	h := play{cfg: GroupConfig{Replicas: 1}, seed: 1, faults: "1500ms cut n1->r1\n8s heal", lines: `
		c1 1s SET lock ` + token1 + ` PX 5000 -> OK
		c1@r1 2s GET lock -> ` + token1 + `
		c1@r1 3s SET lock x -> READONLY
		c1@r1 3s ROLE -> [slave 10.0.0.1 6379 connected 77]
		c1@r1 7s GET lock -> redis: nil
		c1 9500ms ROLE -> [master 100 [[10.0.0.2 6379 100]]]`}.run(t)
	expectStates(t, h,
		"n1 set lock c1#1 by c1", "r1 set lock c1#1 by n1", "n1 expire lock of c1#1", "r1 delete lock of c1#1 by n1",
	)
	for _, e := range h.Events {
		if e.Kind == history.State && e.Op == history.Delete && e.At < 8*time.Second {
			t.Errorf("r1 did not wait for n1: %+v", e)
		}
	}
}

// TestWait: WAIT returns when the replica has the write, or at its timeout. It concerns only the writes of its own connection.
func TestWait(t *testing.T) {
	for _, tt := range []struct {
		name, faults, lines string
		within              time.Duration // from 1 s on
	}{
		{"linked", "", "c1 1s SET lock x -> OK\nc1 1s WAIT 1 500 -> 1", 10 * time.Millisecond},
		{"frozen", "500ms hold n1->r1", "c1 1s SET lock x -> OK\nc1 1s WAIT 1 500 -> 0", 510 * time.Millisecond},
		{"no acknowledgement", "500ms hold r1->n1", "c1 1s SET lock x -> OK\nc1 1s WAIT 1 500 -> 0", 510 * time.Millisecond},
		{"released", "500ms hold n1->r1\n1200ms release n1->r1", "c1 1s SET lock x -> OK\nc1 1s WAIT 1 500 -> 1", 210 * time.Millisecond},
		{"other connection", "500ms hold n1->r1", "c1/b 100ms PING -> PONG\nc1 1s SET lock x -> OK\nc1/b 1s WAIT 1 500 -> 1", 10 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := play{cfg: GroupConfig{Replicas: 1}, seed: 1, faults: tt.faults, lines: tt.lines}.run(t)
			if last := h.Events[len(h.Events)-1].At - time.Second; last > tt.within {
				t.Errorf("took %v", last)
			}
		})
	}
}

// TestSplitBrain: an old primary goes on serving the clients that reach it, until it is told to follow the new one.
func TestSplitBrain(t *testing.T) {
	h := play{cfg: GroupConfig{Replicas: 1}, seed: 1, faults: `
		1500ms cut n1-r1
		2s promote r1
		9s heal
		10s follow n1 r1`, lines: `
		c1 1s SET a 1 -> OK
		c1 3s SET lock ` + token1 + ` NX PX 60000 -> OK
		c2 4s SET lock ` + token2 + ` NX PX 60000 -> OK
		c1 12s SET b 1 -> READONLY
		c1 13s`}.run(t)
	expectStates(t, h,
		"n1 set a 1 by c1", "r1 set a 1 by n1", "r1 promote",
		"n1 set lock c1#1 by c1", "r1 set lock c2#1 by c2",
		"n1 follow r1", "n1 over lock c2#1 of c1#1 by r1",
	)
}

// TestOldPrimaryReturns: after a restart, a server has the role that its configuration gives it.
func TestOldPrimaryReturns(t *testing.T) {
	h := play{cfg: GroupConfig{Replicas: 2}, seed: 1, faults: `
		2s crash n1
		3s promote r1
		4s restart n1
		5s crash r2
		6s restart r2`, lines: `
		c1 1s SET a 1 -> OK
		c1@n1 4500ms SET b 1 -> OK
		c1/b 7s SET c 1 -> OK
		c1 9s`}.run(t)
	expectStates(t, h,
		"n1 set a 1 by c1", "r1 set a 1 by n1", "r2 set a 1 by n1", "r1 promote", "r2 follow r1",
		"n1 set b 1 by c1", "r1 set c 1 by c1", "r2 set c 1 by r1",
	)
}

// TestMinReplicas: a primary that has not heard from its replica for ten seconds refuses writes.
func TestMinReplicas(t *testing.T) {
	play{cfg: GroupConfig{Replicas: 1, MinReplicas: 1}, seed: 1, faults: "2s cut n1-r1\n20s heal", lines: `
		c1 0s SET a 1 -> OK
		c1 11s SET a 2 -> OK
		c1 14s SET a 3 -> NOREPLICAS
		c1 21s SET a 4 -> OK`}.run(t)
}

// TestSilentLinks: both ends close a replication link on which nothing has arrived for a minute.
func TestSilentLinks(t *testing.T) {
	h := play{cfg: GroupConfig{Replicas: 1}, seed: 1, faults: "2s cut n1->r1\n100s heal", lines: `
		c1 1s SET a 1 -> OK
		c1 50s ROLE -> [master 97 [[10.0.0.2 6379 27]]]
		c1 75s ROLE -> [master 111 []]
		c1 110s SET b 1 -> OK
		c1 111s`}.run(t)
	expectStates(t, h, "n1 set a 1 by c1", "r1 set a 1 by n1", "n1 set b 1 by c1", "r1 set b 1 by n1")
	play{cfg: GroupConfig{Replicas: 1}, seed: 1, faults: "2s cut r1->n1\n100s heal", lines: `
		c1 50s ROLE -> [master 70 [[10.0.0.2 6379 0]]]
		c1 75s ROLE -> [master 84 []]
		c1 110s ROLE -> [master 98 [[10.0.0.2 6379 84]]]`}.run(t)
}

// TestClockOfReplica: a replica whose clock is ahead keeps what it copied until it is promoted.
func TestClockOfReplica(t *testing.T) {
	h := play{cfg: GroupConfig{Replicas: 1}, seed: 1, faults: "500ms jump r1 +40s\n2s crash n1\n3s promote r1", lines: `
		c1 1s SET lock ` + token1 + ` NX PX 30000 -> OK
		c1 1s WAIT 1 1000 -> 1
		c2 4s SET lock ` + token2 + ` NX PX 30000 -> OK`}.run(t)
	expectStates(t, h,
		"n1 set lock c1#1 by c1", "r1 set lock c1#1 by n1", "r1 promote", "r1 expire lock of c1#1", "r1 set lock c2#1 by c2",
	)
}

// TestEmptyPrimary: if a primary comes back empty, its replicas become empty too.
func TestEmptyPrimary(t *testing.T) {
	h := play{cfg: GroupConfig{Replicas: 1, Persistence: "none"}, seed: 1, faults: "2s crash n1\n3s restart n1", lines: `
		c1 1s SET lock ` + token1 + ` -> OK
		c1 5s`}.run(t)
	expectStates(t, h, "n1 set lock c1#1 by c1", "r1 set lock c1#1 by n1", "n1 lose lock of c1#1", "r1 delete lock of c1#1 by n1")
}

// TestDeadNodes: a node that is down cannot be promoted, but its configuration can be changed.
func TestDeadNodes(t *testing.T) {
	h := play{cfg: GroupConfig{Replicas: 1}, seed: 1, faults: `
		2s crash r1
		3s promote r1
		4s restart r1
		5s crash n1
		6s promote r1
		7s follow n1 r1
		8s restart n1`, lines: `
		c1 1s SET a 1 -> OK
		c1/b 9s SET a 2 -> OK
		c1@n1 10s GET a -> 2`}.run(t)
	expectStates(t, h,
		"n1 set a 1 by c1", "r1 set a 1 by n1", "r1 promote", "n1 follow r1", "r1 over a 2 by c1", "n1 over a 2 by r1",
	)
	var bites []string
	for _, e := range h.Events {
		if e.Kind == history.Bite {
			bites = append(bites, e.Value)
		}
	}
	if want := []string{"crash r1", "restart r1", "crash n1", "promote r1", "follow n1 r1", "restart n1"}; !slices.Equal(bites, want) {
		t.Errorf("bites %q", bites)
	}
}

// TestClockOfTheDead: a node that is down expires no key, whatever happens to its clock. It does so when it is back.
func TestClockOfTheDead(t *testing.T) {
	h := play{cfg: GroupConfig{Replicas: 1}, seed: 1, faults: `
		2s crash n1
		3s jump n1 +12s
		4s restart n1`, lines: `
		c1 1s SET lock t PX 9000 -> OK
		c1/b 5s GET lock -> redis: nil`}.run(t)
	var expired []time.Duration
	for _, e := range h.Events {
		if e.Kind == history.State && e.Op == history.Expire && e.Process == "n1" {
			expired = append(expired, e.At)
		}
	}
	if !slices.Equal(expired, []time.Duration{4 * time.Second}) {
		t.Errorf("the key expires at %v, want 4s", expired)
	}
}

// TestWaitersOfDemoted: WAIT returns an error when the primary becomes a replica.
func TestWaitersOfDemoted(t *testing.T) {
	play{cfg: GroupConfig{Replicas: 2}, seed: 1, faults: "900ms hold r1->n1\n900ms hold r2->n1\n1500ms follow n1 r1\n1500ms promote r1", lines: `
		c1 1s SET a 1 -> OK
		c1 1s WAIT 1 800 -> UNBLOCKED`}.run(t)
}

// TestRestore: whatever was broken, a client that connects for the first time gets the lock once everything is restored and one TTL
// has passed.
func TestRestore(t *testing.T) {
	for name, cfg := range map[string]GroupConfig{"operator": {Replicas: 1}, "sentinels": sentinels(3), "shards": shards(3, 1)} {
		for _, faults := range []string{
			"2s crash n1", "2s cut n1-r1", "2s crash r1", "2s pause n1",
			"2s crash n1 power\n3s crash r1",
			isolate("2s", []string{"n1"}, []string{"r1", "c1"}),
		} {
			switch name {
			case "operator":
				faults += "\n9s promote r1"
			case "sentinels":
				faults += "\n" + isolate("2s", []string{"s1"}, []string{"s2", "s3", "r1"})
			case "shards":
				faults += "\n" + isolate("2s", []string{"n1"}, []string{"p2", "p3"})
			}
			for _, at := range []time.Duration{5 * time.Second, 7600 * time.Millisecond, 8200 * time.Millisecond, 30 * time.Second} {
				restored(t, name, cfg, faults, at)
			}
		}
	}
}

func restored(t *testing.T, name string, cfg GroupConfig, faults string, at time.Duration) {
	p := play{cfg: cfg, seed: 1, faults: faults, lines: "c1 1s SET lock " + token1 + locks}
	err := sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{Seed: p.seed})
		defer w.Close()
		g := ServeGroup(w, p.cfg)
		defer g.Close()
		p.plan(t, w)
		p.start(t, w, g)
		w.RunFor(at)
		w.Restore()
		w.RunFor(10300 * time.Millisecond)
		p.lines = "c3 0s SET lock x NX PX 10000 -> OK"
		p.start(t, w, g)
		w.Run()
		if t.Failed() {
			t.Errorf("%s, restored at %v from %q: %q", name, at, faults, verdicts(w.History()))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sameTwice runs a play four times, on one processor and on four, and fails the test unless the checksums are equal.
func sameTwice(t *testing.T, p play) {
	t.Helper()
	first := p.run(t).Meta.Checksum
	for _, n := range []int{1, 4, 4} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
			if again := p.run(t).Meta.Checksum; again != first {
				t.Errorf("with GOMAXPROCS %d: checksums %s and %s", n, first, again)
			}
		}()
	}
	p.seed++
	if other := p.run(t).Meta.Checksum; other == first {
		t.Errorf("another seed has the same checksum %s", other)
	}
}

func TestGroupIsDeterministic(t *testing.T) {
	sameTwice(t, play{cfg: GroupConfig{Replicas: 2, Persistence: "aof-everysec"}, seed: 1, faults: `
		1500ms reset n1-r1
		2s crash n1 power
		3s promote r1
		4s restart n1
		5s follow n1 r1`, lines: `
		c1 1s SET lock ` + token1 + locks + `
		c2 1s SET lock ` + token2 + locks + `
		c1/b 3500ms SET a 1
		c2/b 3500ms SET a 2
		c1/b 3500ms WAIT 2 1000
		c2/b 3500ms WAIT 1 1000
		c1 20s`})
}

// TestReplicaOfAReplica: a replica that is connected to its primary passes on what it receives. A replica that is not refuses to be
// copied.
func TestReplicaOfAReplica(t *testing.T) {
	cfg := GroupConfig{Replicas: 2}
	play{cfg: cfg, seed: 1, lines: `
		c1@r2 1s REPLICAOF 10.0.0.2 6379 -> OK
		c1 3s SET a 1 -> OK
		c1@r2 4s GET a -> 1
		c1@r2 4s ROLE -> [slave 10.0.0.2 6379 connected`}.run(t)
	play{cfg: cfg, seed: 1, faults: "500ms cut n1-r1", lines: `
		c1 1s SET a 1 -> OK
		c1@r2 90s REPLICAOF 10.0.0.2 6379 -> OK
		c1@r2 100s GET a -> 1
		c1@r2 100s ROLE -> [slave 10.0.0.2 6379 connect `}.run(t)
}
