package search

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	lacking "lockstep/clients/broken"
	"lockstep/clients/libraries"
	"lockstep/internal/draws"
	"lockstep/nodes/engine"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim"
)

var (
	randomPlans = flag.Int("plans", 400, "how many random plans are played in a series, alone, by token, and as the start of a reduction")
	recordPlans = flag.String("record", "", "file to write what came of each random plan to, a line each; see cmd/record.sh")
)

// A tried plan is one that a walk has played in a series, and what came of it there.
type triedPlan struct {
	Trial
	search *Search
	lock   clients.Lock
	play   *play.Outcome
}

// repeatable lists all locks and libraries whose runs repeat themselves to the byte. What the others show is compared by
// TestRestlessLibrariesRepeatWhatClientsSee.
func repeatable() []clients.Lock {
	all := slices.Concat(clients.Locks(), lacking.Locks())
	for _, l := range libraries.Locks() {
		if !l.Restless {
			all = append(all, l.Lock)
		}
	}
	return all
}

// anyShape draws a setting. Some of them make no sense for any lock: Calm says so.
func anyShape(lock string, seed uint64) Shape {
	draw := sim.Rand(seed, "shape", lock)
	s := Shape{Lock: lock, Nodes: 1 + 2*draw.IntN(3), Clients: 2 + draw.IntN(2), Extend: draw.IntN(4) == 0}
	s.TTL = []time.Duration{script.DefaultTTL, 1500 * time.Millisecond, 7_654_321 * time.Microsecond, 1_234_567_891}[draw.IntN(4)]
	s.Resource = []string{script.Plain, script.Fenced, script.CheckAndSet, script.Versioned}[draw.IntN(4)]
	switch draw.IntN(4) {
	case 0:
		s.Nodes, s.Replicas = 1, 1+draw.IntN(2)
	case 1:
		s.Pool = script.Warm
		fallthrough
	default:
		s.Persistence = string(engine.Persistences[draw.IntN(len(engine.Persistences))])
	}
	return s
}

// aWalk makes the walk with a seed, with a lock, a strategy and a setting of its own.
func aWalk(t *testing.T, lock clients.Lock, seed uint64) (tried []triedPlan) {
	t.Helper()
	calm, err := anyShape(lock.Name, seed).Calm()
	if err != nil {
		t.Fatalf("%s, seed %d: %v", lock.Name, seed, err)
	}
	search := &Search{Calm: calm, Seed: seed}
	err = play.Series(func(replayed play.Player) {
		x := &explorer{calm: calm, build: lock.New, play: replayed}
		of := &Task{Kinds: script.Kinds(), Constants: constantsOf(x, seed)}
		strategies := Strategies()
		walk(t.Context(), x, of, strategies[seed%uint64(len(strategies))], seed, func(trial Trial, _ []Perturbation, o *play.Outcome) bool {
			tried = append(tried, triedPlan{trial, search, lock, o})
			return trial.Class != Violating
		})
		if x.differs != "" {
			t.Errorf("%s, seed %d: %s", lock.Name, seed, x.differs)
		}
	})
	if err != nil {
		t.Fatalf("%s, seed %d: %v", lock.Name, seed, err)
	}
	return tried
}

// A plan, alone and in a series, its token, and what its reduction begins with are one run.
func TestPlansAreOneRun(t *testing.T) {
	draws.Turn(t, 0, 4)
	draws.Seldom(t, 0, 4)
	play.QuietRedis()
	want := *randomPlans
	if testing.Short() {
		want = min(want, 60)
	}
	locks := repeatable()
	plans, reduced, kinds, classes := 0, 0, map[script.Kind]int{}, map[Class]int{}
	var record strings.Builder
	for seed := uint64(1); plans < want && !t.Failed(); seed++ {
		for _, p := range aWalk(t, locks[seed%uint64(len(locks))], seed) {
			plans++
			classes[p.Class]++
			fmt.Fprintf(&record, "plan %q of %s, seed %d: %s %q, checksum %s\n", p.Plan, strings.TrimSpace(p.search.Calm.Runs[0].String()), p.Seed, p.Class, p.Faults, p.Checksum)
			for _, q := range p.Plan {
				kinds[q.Kind]++
			}
			p.checkAlone(t)
			p.checkToken(t)
			if p.Class != Violating {
				continue // it proves nothing, if code ran on in a pause
			}
			for _, f := range p.Faults {
				reduced++
				p.checkReduction(t, f)
			}
		}
	}
	if *recordPlans != "" {
		if err := os.WriteFile(*recordPlans, []byte(record.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d plans: %v; %d ways to fail are reduced; perturbations: %v", plans, classes, reduced, kinds)
	for _, k := range script.Kinds() {
		if plans >= 400 && kinds[k] == 0 {
			t.Errorf("no plan has a perturbation of the kind %s", k)
		}
	}
}

func (p triedPlan) checkAlone(t *testing.T) {
	t.Helper()
	runtime.GC() // a sync.Pool, which runs use again, outlives one collection, not two
	runtime.GC()
	s := Perturbed(p.search.Calm, p.Plan)
	o, err := play.Simulate(s, s.Runs[0], p.lock.New, p.Seed)
	if err != nil {
		t.Fatal(err)
	}
	p.isRun(t, "alone", o)
}

// checkToken also holds the page in the token to what it expects.
func (p triedPlan) checkToken(t *testing.T) {
	t.Helper()
	token, err := p.search.Page(Found{Trial: p.Trial}).Token()
	if err != nil {
		t.Fatal(err)
	}
	page, err := script.FromToken(token)
	if err != nil {
		t.Fatal(err)
	}
	c := play.Case{Scenario: page, Run: page.Runs[0]}
	o, err := play.Simulate(page, c.Run, p.lock.New, cmp.Or(c.Seed, c.Run.Seed, 1))
	if err != nil {
		t.Fatal(err)
	}
	p.isRun(t, "by its token", o)
	if diffs := append(o.Unexpected(), o.Result.Unmet...); p.Class == Violating && len(diffs) > 0 {
		t.Errorf("%s, seed %d, %v: the token has another verdict: %v", p.lock.Name, p.Seed, p.Plan, diffs)
	}
}

func (p triedPlan) checkReduction(t *testing.T, f play.Failing) {
	t.Helper()
	err := play.Series(func(play play.Player) {
		x := &explorer{calm: p.search.Calm, build: p.lock.New, play: play}
		s, err := newShrinker(t.Context(), x, shrinking{Plan: p.Plan, Failing: f}, p.Seed)
		if err != nil {
			t.Errorf("%s, seed %d, %v: %v", p.lock.Name, p.Seed, p.Plan, err)
			return
		}
		p.isRun(t, "where its reduction begins", s.outcome)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (p triedPlan) isRun(t *testing.T, where string, o *play.Outcome) {
	t.Helper()
	if got := o.History.Meta.Checksum; got != p.Checksum {
		t.Errorf("%s, seed %d, %v: in the series the checksum is %s, %s it is %s\n%s\n%s",
			p.lock.Name, p.Seed, p.Plan, p.Checksum, where, got, traceDifference(p.play.History, o.History), p.search.Calm)
	}
}

// A fault whose moment never came leaves the one that prints like it alone: what is reported is the plan without that fault, and it is
// reduced and played again as it was found.
func TestFaultsThatPrintAlike(t *testing.T) {
	play.QuietRedis()
	calm := calmShape(t, Shape{Lock: "redlock", Nodes: 3})
	plan := faultsOf(t,
		"delay c1-n2 25ms",
		"when n3 sets c1 crash n3; when n3 sets c1 +50ms restart n3 empty",
		"when n3 sets c2 #5 crash n3; when n3 sets c2 #5 +12s restart n3 empty",
	)
	const seed = 177
	var trial Trial
	var o *play.Outcome
	err := play.Series(func(play play.Player) {
		x := &explorer{calm: calm, build: clients.NewRedlock, play: play}
		trial, o = x.try(plan, seed)
	})
	if err != nil {
		t.Fatal(err)
	}
	if trial.Class != Violating || len(trial.Plan) != 2 || len(trial.Idle) != 1 || trial.Idle[0].String() != plan[2].String() {
		t.Fatalf("%s with %v, and without effect %v", trial.Class, trial.Plan, trial.Idle)
	}
	p := triedPlan{trial, &Search{Calm: calm, Seed: seed}, clients.Lock{Name: "redlock", New: clients.NewRedlock}, o}
	p.checkAlone(t)
	p.checkToken(t)
	for _, f := range p.Faults {
		p.checkReduction(t, f)
		p.Plan = plan // reduced from all of it, it is the same
		p.checkReduction(t, f)
		p.Plan = trial.Plan
	}
}

// redsync draws its delays from math/rand, which a crashed client shares with those that live on. How often the crashed one still draws, and
// in how many events its connections close, is up to the Go scheduler: of these plays, one in four differed before the source was seeded by
// the trace. In the second plan a node crashes while a client is paused, which learns of it on all its connections at once when it resumes.
func TestCrashOfRedsyncIsOneRun(t *testing.T) {
	play.QuietRedis()
	for _, test := range []struct {
		shape Shape
		plan  []string
		seed  uint64
	}{
		{Shape{Lock: "redsync", Nodes: 3, Clients: 3, TTL: 7_654_321 * time.Microsecond, Resource: script.Plain, Persistence: string(engine.AOFAlways)}, []string{
			"delay c1-n3 2500ms", "delay c3-n1 1s", "delay c3-n2 1s", "delay c3-n3 1s",
			"when n1 sets c2 crash n1; when n1 sets c2 +38ms restart n1 empty",
			"when c3 writes C0 crash c3",
		}, 1630},
		{Shape{Lock: "redsync", Nodes: 3}, []string{
			"delay c1-n1 2500ms", "delay c1-n3 2500ms", "delay c2-n1 1s", "delay c2-n3 1s",
			"when n2 receives c1 #19 pause c1 12s",
			"when n1 deletes c2 crash c2",
			"when n1 deletes c2 crash n1; when n1 deletes c2 +50ms restart n1",
		}, 1873},
	} {
		s := Perturbed(calmShape(t, test.shape), faultsOf(t, test.plan...))
		var first *play.Outcome
		for range 30 {
			o := simulated(t, s, s.Runs[0], test.seed)
			if first == nil {
				first = o
			} else if o.History.Meta.Checksum != first.History.Meta.Checksum {
				t.Fatalf("two plays differ:\n%s\n%s", traceDifference(first.History, o.History), s)
			}
		}
	}
}
