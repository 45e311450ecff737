package search

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// walked does a task of walks in this process.
func walked(t *testing.T, shape Shape, kinds []script.Kind, w *walks, of Task) *Result {
	t.Helper()
	build, err := clients.Find(shape.Lock)
	if err != nil {
		t.Fatal(err)
	}
	calm, err := shape.Calm()
	if err != nil {
		t.Fatal(err)
	}
	survey := (&Task{Survey: &survey{}}).run(t.Context(), calm, build, 1)
	of.Walk, of.Kinds, of.Constants = w, kinds, survey.Constants
	y := of.run(t.Context(), calm, build, 1)
	if len(y.Broken) > 0 {
		t.Fatal(y.Broken)
	}
	if y.Differs != "" {
		t.Errorf("not reproducible: %s", y.Differs)
	}
	return y
}

// A walk depends on its strategy, its seed, the lock and the kinds: the same task gives the same result, and its parts make up
// the whole, whichever worker does them.
func TestWalksRepeatThemselves(t *testing.T) {
	play.QuietRedis()
	shape := Shape{Lock: "redlock", Nodes: 3}
	for _, s := range Strategies() {
		whole := walked(t, shape, script.Kinds(), &walks{Strategy: s, From: 5, To: 9}, Task{})
		sum := &Coverage{}
		var trials []Trial
		for _, from := range []uint64{7, 5} {
			y := walked(t, shape, script.Kinds(), &walks{Strategy: s, From: from, To: from + 2}, Task{})
			sum.Merge(y.Coverage)
			trials = append(y.Trials, trials...)
		}
		if !reflect.DeepEqual(whole.Coverage, sum) {
			t.Errorf("%s: the parts cover\n%v\nthe whole covers\n%v", s, sum.Lines(), whole.Coverage.Lines())
		}
		if asJSON(t, whole.Trials) != asJSON(t, trials) {
			t.Errorf("%s: the parts find %s, the whole %s", s, asJSON(t, trials), asJSON(t, whole.Trials))
		}
		other := walked(t, shape, script.Kinds(), &walks{Strategy: s, From: 9, To: 13}, Task{})
		if reflect.DeepEqual(whole.Coverage, other.Coverage) {
			t.Errorf("%s covers the same with other seeds", s)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What a walk found is a plan and a seed, from which anyone gets the same run.
func TestWalksFindWhatCanBeReplayed(t *testing.T) {
	play.QuietRedis()
	shape := Shape{Lock: "single"}
	y := walked(t, shape, script.Kinds(), &walks{Strategy: Portfolio, From: 1, To: 200, First: true}, Task{})
	if len(y.Trials) != 1 || y.Coverage.Found != 1 {
		t.Fatalf("%d trials violate, in %d walks, want 1 of each", len(y.Trials), y.Coverage.Found)
	}
	var trial Trial
	if err := json.Unmarshal([]byte(asJSON(t, y.Trials[0])), &trial); err != nil {
		t.Fatal(err)
	}
	calm, err := shape.Calm()
	if err != nil {
		t.Fatal(err)
	}
	s := Perturbed(calm, trial.Plan)
	page, err := script.Parse("found.txtar", []byte(s.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, s)
	}
	build, err := clients.Find(shape.Lock)
	if err != nil {
		t.Fatal(err)
	}
	o, err := play.Simulate(page, page.Runs[0], build, trial.Seed)
	if err != nil {
		t.Fatal(err)
	}
	if o.History.Meta.Checksum != trial.Checksum || !slices.Equal(o.Failing(), trial.Faults) {
		t.Errorf("replayed: checksum %s, %v; want %s, %v", o.History.Meta.Checksum, o.Failing(), trial.Checksum, trial.Faults)
	}
}

// Each run has a second phase, in which everything is healed and a fresh client must get the lock, so that walks find a lock
// that nobody gives back: setnx, whose keys have no end, in the hands of a client that crashed. The lock with a TTL survives that.
func TestWalksFindLocksThatStayTaken(t *testing.T) {
	play.QuietRedis()
	for lock, stays := range map[string]bool{"setnx": true, "single": false} {
		y := walked(t, Shape{Lock: lock}, []script.Kind{script.Dying, script.LateWrite}, &walks{Strategy: Lineage, From: 1, To: 40}, Task{Properties: []checker.Property{checker.DeadlockFreedom}})
		if found := len(y.Trials) > 0; found != stays {
			t.Errorf("%s: %d walks find a lock that stays taken, want some: %t", lock, len(y.Trials), stays)
		}
		for _, trial := range y.Trials {
			if !slices.ContainsFunc(trial.Plan, func(p Perturbation) bool { return p.Kind == script.Dying }) {
				t.Errorf("%s stays taken although nobody died: %v", lock, trial.Plan)
			}
		}
	}
}

// A walk ends with its violation, and a task with its context.
func TestWalksEnd(t *testing.T) {
	play.QuietRedis()
	y := walked(t, Shape{Lock: "single"}, []script.Kind{script.Pausing}, &walks{Strategy: Uniform, From: 1, To: 101}, Task{})
	if y.Coverage.Found != len(y.Trials) || y.Coverage.Walks != 100 || y.Coverage.Found == 0 {
		t.Errorf("%d violating trials in %d walks of %d", len(y.Trials), y.Coverage.Found, y.Coverage.Walks)
	}
	calm, err := Shape{Lock: "single"}.Calm()
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	e := &Task{Walk: &walks{Strategy: Uniform, From: 1, To: 1 << 60}, Kinds: script.Kinds()}
	if y := e.run(over, calm, clients.NewSingle, 1); y.Played != 0 || y.Coverage == nil {
		t.Errorf("%d runs after the end of the context", y.Played)
	}
}

// Plans are in the order of time and have no perturbation twice.
func TestWalksGoForward(t *testing.T) {
	draws.Seldom(t, 2, 4)
	play.QuietRedis()
	calm, err := Shape{Lock: "redlock", Nodes: 3}.Calm()
	if err != nil {
		t.Fatal(err)
	}
	longest := 0
	err = play.Series(func(replayed play.Player) {
		x := &explorer{calm: calm, build: clients.NewRedlock, play: replayed}
		of := &Task{Kinds: script.Kinds(), Constants: constantsOf(x, 1)}
		for seed := range uint64(12) {
			walk(t.Context(), x, of, Portfolio, seed, func(trial Trial, added []Perturbation, _ *play.Outcome) bool {
				longest = max(longest, len(trial.Plan))
				for i := 1; i < len(trial.Plan); i++ {
					if trial.Plan[i-1].Compare(trial.Plan[i]) >= 0 {
						t.Errorf("seed %d: %v", seed, trial.Plan)
					}
				}
				return true
			})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if longest < 4 {
		t.Errorf("no plan has more than %d perturbations", longest)
	}
}

// After the last seed comes the first: 0 is none, and a page cannot name it.
func TestWalksGoOnAfterTheLastSeed(t *testing.T) {
	play.QuietRedis()
	w := &walks{Strategy: Uniform, From: math.MaxUint64 - 1, To: 3}
	seeds := map[uint64]bool{}
	calm := calmShape(t, Shape{Lock: "single"})
	err := play.Series(func(replayed play.Player) {
		x := &explorer{calm: calm, build: clients.NewSingle, play: func(s *script.Scenario, r script.Section, build clients.New, seed uint64) *play.Outcome {
			seeds[seed] = true
			return replayed(s, r, build, seed)
		}}
		w.run(t.Context(), x, &Task{Kinds: []script.Kind{script.Drifting}}, &Result{})
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint64{1, 2, math.MaxUint64 - 1, math.MaxUint64}; !slices.Equal(slices.Sorted(maps.Keys(seeds)), want) {
		t.Errorf("the seeds are %v", slices.Sorted(maps.Keys(seeds)))
	}
}

// What a walk lists from an instant on is what it would list of the whole run, without what is too early.
func TestSitesSince(t *testing.T) {
	for _, shape := range []Shape{{Lock: "redlock", Nodes: 3}, {Lock: "single", Nodes: 1, Replicas: 1, Workload: Again}} {
		calm := calmShape(t, shape)
		o := simulated(t, calm, calm.Runs[0], 1)
		for _, pairs := range []bool{false, true} {
			list := func(since time.Duration) []Perturbation {
				f := newFinder(calm, o, Constants{TTL: o.Run.TTL, Retry: RetryDelay(o)}, script.Kinds())
				f.ordered, f.since = pairs, since
				return f.sites()
			}
			all := list(0)
			for _, i := range []int{len(all) / 4, len(all) / 2, len(all) - 1} {
				since := all[i].At
				want := slices.DeleteFunc(slices.Clone(all), func(p Perturbation) bool { return 0 < p.At && p.At < since })
				if got := list(since); len(want) == len(all) || !slices.EqualFunc(got, want, func(p, q Perturbation) bool { return p.Compare(q) == 0 }) {
					t.Errorf("%s, pairs %v, since %v: %d perturbations, want %d of %d", shape.Lock, pairs, since, len(got), len(want), len(all))
				}
			}
		}
	}
}
