package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// searched has every plan with up to k perturbations played.
func searched(t *testing.T, s *Search, k int) *Bounded {
	t.Helper()
	b, err := s.Bound(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func calmShape(t *testing.T, s Shape) *script.Scenario {
	t.Helper()
	calm, err := s.Calm()
	if err != nil {
		t.Fatal(err)
	}
	return calm
}

// TestBoundFindsBrokenLocks: what a lock lacks is found by a bounded search that knows nothing of it, with as many perturbations
// as the table says and no fewer, and the lock that has it survives the same plan. A sixth of the rows has its turn each day.
func TestBoundFindsBrokenLocks(t *testing.T) {
	if testing.Short() {
		t.Skip("plays thousands of plans")
	}
	var table bytes.Buffer
	lines := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "without\tbound\tplans\tviolated\tby")
	for i, h := range hunts {
		if !draws.Due(uint64(i), 6) {
			continue
		}
		if h.beyond != "" {
			fmt.Fprintf(lines, "%s\t-\t\t\t%s\n", h.lacks, h.beyond)
			continue
		}
		calm, build := h.broken(t)
		search := &Search{Calm: calm, Kinds: h.kinds, New: build, First: true, Properties: []checker.Property{h.property}, Fixed: h.bound > 1} // pairs by order are ten times as many
		if h.bound > 0 {
			if b := searched(t, search, h.bound-1); len(b.Found) > 0 {
				t.Errorf("without %s: found with fewer perturbations: %v", h.lacks, b.Found[0].Plan)
			}
		}
		b := searched(t, search, max(h.bound, 1))
		if len(b.Found) == 0 {
			t.Errorf("without %s: not found: %s", h.lacks, b.Sentence())
			continue
		}
		first := b.Found[0]
		fmt.Fprintf(lines, "%s\t%d\t%d\t%s\t%v\n", h.lacks, len(first.Plan), b.Plans(), first.Failing.Property, first.Plan)
		proper, whole := h.whole(t)
		var o *play.Outcome
		err := play.Series(func(play play.Player) {
			s := Perturbed(proper, first.Plan)
			o = play(s, s.Runs[0], whole, 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		if faults := o.Failing(h.property); len(faults) > 0 {
			t.Errorf("with %s: %v, too, by %v", h.lacks, faults, first.Plan)
		}
	}
	lines.Flush()
	t.Log("\n" + table.String())
}

// Within its assumptions Redlock survives every single thing that goes wrong: messages to lock nodes that are late or lost, slow
// and cut links, the crash of one node that keeps what it has, clocks that run at nearly the same rate.
func TestBoundRedlockWithinItsAssumptions(t *testing.T) {
	draws.Seldom(t, 1, 4)
	kinds := []script.Kind{script.Delaying, script.Losing, script.SlowLink, script.Cutting, script.Dying, script.Crashing, script.Drifting}
	total := 0
	for _, k := range kinds {
		b := searched(t, &Search{Calm: calmShape(t, Shape{Lock: "redlock", Nodes: 3}), Kinds: []script.Kind{k}}, 1)
		if len(b.Found) > 0 || b.Levels[1].Unproved > 0 || b.Levels[1].Survived < 6 {
			t.Errorf("%s: %+v, found %v", k, b.Levels, b.Found)
		}
		total += b.Plans() - 1
	}
	t.Logf("%d plans with one perturbation", total)
}

// Outside of them it does not, and the search finds what the catalogue knows, with the fewest perturbations: one less is not
// enough, since a search with one less finds nothing.
func TestBoundFindsTheCatalogue(t *testing.T) {
	draws.Turn(t, 2, 4)
	if testing.Short() {
		t.Skip("plays thousands of plans")
	}
	for _, c := range []struct {
		shape Shape
		kinds []script.Kind
		want  play.Failing
		bound int
	}{
		{Shape{Lock: "redlock", Nodes: 3}, []script.Kind{script.Pausing}, play.Failing{Property: checker.ResourceExclusion, Assumption: checker.BoundedPause}, 1},
		{Shape{Lock: "redlock", Nodes: 3}, []script.Kind{script.LateWrite}, play.Failing{Property: checker.ResourceExclusion, Assumption: checker.BoundedDelay}, 1},
		{Shape{Lock: "redlock", Nodes: 3}, []script.Kind{script.Jumping}, play.Failing{Property: checker.LeaseExclusion, Assumption: checker.BoundedClockError}, 2},
		{Shape{Lock: "redlock", Nodes: 3}, []script.Kind{script.Emptying}, play.Failing{Property: checker.LeaseExclusion, Assumption: checker.DurableNodes}, 2},
		{Shape{Lock: "single", Nodes: 1, Replicas: 1}, []script.Kind{script.FailingOver}, play.Failing{Property: checker.LeaseExclusion, Assumption: checker.DurableNodes}, 1},
	} {
		s := &Search{Calm: calmShape(t, c.shape), Kinds: c.kinds, Properties: []checker.Property{c.want.Property}}
		if b := searched(t, s, c.bound-1); len(b.Found) > 0 {
			t.Errorf("%s, %v: found with less: %v", c.shape.Lock, c.kinds, b.Found[0].Plan)
		}
		b := searched(t, s, c.bound)
		i := slices.IndexFunc(b.Found, func(f Found) bool { return slices.Contains(f.Faults, c.want) })
		if i < 0 {
			t.Errorf("%s, %v: %s, and not %v", c.shape.Lock, c.kinds, b.Sentence(), c.want)
			continue
		}
		b.Found[i].Failing = c.want
		small, err := s.Shrink(t.Context(), b.Found[i])
		if err != nil {
			t.Fatal(err)
		}
		if faults := perturbed(small.Scenario); faults != c.bound {
			t.Errorf("%s, %v: reduced to %d faults, not %d:\n%s", c.shape.Lock, c.kinds, faults, c.bound, small.Scenario)
		}
	}
}

// perturbed counts the faults of a page, and the pauses in its lanes; what ends a fault is part of it.
func perturbed(s *script.Scenario) int {
	n := 0
	for _, lane := range s.Resolve(s.Runs[0]).Lanes {
		for _, step := range lane.Steps {
			_, pauses := step.(script.Pause)
			f := script.FaultOf(step)
			if pauses || f != nil && f.Verb() != "restart" && f.Verb() != "heal" && f.Verb() != "resume" {
				n++
			}
		}
	}
	return n
}

// What a bounded search leaves out changes nothing: a search that leaves nothing out but supersets of violations finds the same
// ways to fail, each with as many perturbations. Each pair of kinds is tried on one day in five.
func TestBoundLeavesNothingOut(t *testing.T) {
	if testing.Short() {
		t.Skip("plays thousands of plans")
	}
	for i, kinds := range [][]script.Kind{
		{script.Losing, script.Emptying, script.Jumping, script.ClientJumping},
		{script.Pausing, script.Losing},
		{script.Pausing, script.Emptying},
		{script.Pausing, script.Jumping},
		{script.Pausing, script.ClientJumping},
	} {
		if draws.Due(uint64(i), 5) {
			t.Run(fmt.Sprint(kinds), func(t *testing.T) { leavesNothingOut(t, kinds) })
		}
	}
}

func leavesNothingOut(t *testing.T, kinds []script.Kind) {
	t.Helper()
	calm := calmShape(t, Shape{Lock: "single", TTL: time.Second})
	b := searched(t, &Search{Calm: calm, Kinds: kinds}, 2)
	want, plans := map[play.Failing]int{}, 0
	err := play.Series(func(replayed play.Player) {
		x := &explorer{calm: calm, build: clients.NewSingle, play: replayed}
		y := &Result{}
		(&survey{}).run(x, &Task{}, 1, y)
		var grow func(plan []Perturbation, o *play.Outcome)
		grow = func(plan []Perturbation, o *play.Outcome) {
			all, whole := Ordered(calm, o, y.Constants, kinds)
			if !whole {
				t.Errorf("%d perturbations are not all", len(all))
			}
			for _, p := range all {
				if len(plan) > 0 && p.Compare(plan[len(plan)-1]) <= 0 {
					continue
				}
				longer := append(slices.Clip(plan), p)
				trial, o := x.try(longer, 1)
				plans++
				for _, f := range trial.Faults {
					if n, seen := want[f]; !seen || len(longer) < n {
						want[f] = len(longer)
					}
				}
				if len(longer) < 2 && trial.Class != Violating {
					grow(longer, o)
				}
			}
		}
		_, o := x.try(nil, 1)
		grow(nil, o)
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[play.Failing]int{}
	for _, f := range b.Found {
		for _, failing := range f.Faults {
			if n, seen := got[failing]; !seen || len(f.Plan) < n {
				got[failing] = len(f.Plan)
			}
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("found %v, and without leaving anything out %v", got, want)
	}
	if b.Levels[1].Alike == 0 || b.Plans() > plans {
		t.Errorf("%d plans, of which nothing was left out; there are %d: %+v", b.Plans(), plans, b.Levels)
	}
}

// A search ends at a run that comes out differently when it is played again, and says how.
func TestSearchCanary(t *testing.T) {
	restless := func(env clients.Env) clients.Locker {
		return locker(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			env.Clock.Sleep(time.Duration(rand.IntN(1_000_000)))
			return clients.NewSingle(env).Acquire(ctx, name, ttl)
		})
	}
	b, err := (&Search{Calm: calmShape(t, Shape{Lock: "single"}), New: restless}).Bound(t.Context(), 1)
	if !errors.Is(err, ErrNotReproducible) || b.Differs == "" {
		t.Errorf("error %v, differs %q", err, b.Differs)
	}
	if b, err := (&Search{Calm: calmShape(t, Shape{Lock: "single"})}).Bound(t.Context(), 1); err != nil || b.Twice*20 < b.Played {
		t.Errorf("error %v; of %d runs only %d were done twice", err, b.Played, b.Twice)
	}
}

type locker func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error)

func (l locker) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	return l(ctx, name, ttl)
}

// A plan that the lock does not live through is a finding, and the plans after it are played nevertheless.
func TestSearchGoesOnAfterALeak(t *testing.T) {
	calm := calmShape(t, Shape{Lock: "single"})
	leaky := func(env clients.Env) clients.Locker {
		return locker(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := clients.NewSingle(env).Acquire(ctx, name, ttl)
			if errors.Is(err, syscall.ECONNRESET) {
				go func() { select {} }()
			}
			return lease, err
		})
	}
	whole := searched(t, &Search{Calm: calm, Kinds: []script.Kind{script.Losing}}, 1)
	b := searched(t, &Search{Calm: calm, Kinds: []script.Kind{script.Losing}, New: leaky}, 1)
	if len(b.Found) == 0 || b.Found[0].Broke == "" || b.Plans() != whole.Plans() {
		t.Errorf("%d plans of %d, found %+v", b.Plans(), whole.Plans(), b.Found)
	}
}

// A worker that is lost cannot say which plan it was playing. So its plans are played again one at a time, and the plan that
// loses its worker is reported.
func TestSearchGoesOnAfterTheLossOfAWorker(t *testing.T) {
	calm := calmShape(t, Shape{Lock: "single"})
	s := &Search{Calm: calm, Kinds: []script.Kind{script.Losing}, Workers: 1}
	whole := searched(t, s, 1)
	lost := 0
	s.Do = func(ctx context.Context, data json.RawMessage) (workers.Outcome, error) {
		var j struct{ Task Task }
		if err := json.Unmarshal(data, &j); err != nil {
			return workers.Outcome{}, err
		}
		if e := j.Task.Expand; e != nil && e.Part == 1 && e.From <= 1 && (e.Count == 0 || e.From == 1) && !e.Named {
			lost++
			return workers.Outcome{Report: &workers.Report{Reason: "the worker is gone"}}, nil
		}
		return s.here(ctx, data)
	}
	b := searched(t, s, 1)
	broke := slices.DeleteFunc(slices.Clone(b.Found), func(f Found) bool { return f.Broke != "the worker is gone" })
	if lost != 2 || len(broke) != 1 || len(broke[0].Plan) != 1 || b.Plans() != whole.Plans() {
		t.Errorf("lost %d workers; %d plans of %d, found %+v", lost, b.Plans(), whole.Plans(), b.Found)
	}
}

// An interrupted search says what it has done.
func TestSearchInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &Search{Calm: calmShape(t, Shape{Lock: "redlock", Nodes: 3}), Kinds: []script.Kind{script.Losing, script.Pausing}}
	s.Progress = func(done, known int) {
		if done > 150 {
			cancel()
		}
	}
	b, err := s.Bound(ctx, 2)
	if !errors.Is(err, context.Canceled) || !b.Interrupted || b.Plans() < 100 || len(b.Found) == 0 {
		t.Errorf("error %v, %d plans, found %v: %s", err, b.Plans(), b.Found, b.Sentence())
	}
}

// Of perturbations that differ only in a number, about as many are played as should be, of each magnitude, and those at both ends. One that
// comes only once is always played.
func TestSampled(t *testing.T) {
	pause := func(what script.What, nth int, d time.Duration) Perturbation {
		e := script.Event{Process: "n1", What: what, Value: "c1", Nth: nth}
		return Perturbation{Kind: script.Pausing, Steps: []script.Step{script.When{Event: e, Fault: history.Pause{Process: "c1", For: d}}}}
	}
	var all []Perturbation
	for i := range 10_000 {
		if i == 5000 {
			all = append(all, pause(script.Sets, 0, time.Second))
		}
		all = append(all, pause(script.Receives, i/4+2, time.Duration(1+i%4)*time.Second))
	}
	for stride := 1; stride <= 50; stride++ {
		few, of := sampled(all, stride), map[string]int{}
		for _, p := range few {
			of[ordinal.ReplaceAllString(p.String(), "")]++
		}
		if len(of) != 5 || of[all[5000].String()] != 1 {
			t.Fatalf("one in %d: %v", stride, of)
		}
		if want := 10_000 / stride; len(few) < want*8/10 || len(few) > want*12/10+4*2*outermost {
			t.Errorf("one in %d: %d of 10000", stride, len(few))
		}
		for what, n := range of {
			if n > 1 && n*8 < len(few) {
				t.Errorf("one in %d: %d of %d are %s", stride, n, len(few), what)
			}
		}
		for i := range 4 * outermost {
			for _, p := range []Perturbation{all[i], all[len(all)-1-i]} {
				if !slices.ContainsFunc(few, func(q Perturbation) bool { return q.Compare(p) == 0 }) {
					t.Errorf("one in %d: without %s", stride, p)
				}
			}
		}
	}
}
