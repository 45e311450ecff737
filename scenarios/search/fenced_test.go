package search

import (
	"testing"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A resource that compares tokens cannot prevent one thing: a write with an older token that reaches it before the first write with the
// newer one (Kleppmann 2016 assumes that the newer holder writes first). Every violation of resource exclusion that fenced has,
// in every run of a bounded search and of random walks, is of this kind; none is a write that the resource should have refused.
// A third of the walks and of the second perturbations has its turn each day.
func TestFencedResourceAcceptsOnlyFirstWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("plays thousands of plans")
	}
	play.QuietRedis()
	calm, build := calmOf(t, Shape{Lock: "fenced", Nodes: 1, Resource: script.Fenced}, "fenced")
	runs, classes := 0, map[string]int{}
	err := play.Series(func(player play.Player) {
		x := &explorer{calm: calm, build: build, play: func(s *script.Scenario, run script.Section, build clients.New, seed uint64) *play.Outcome {
			o := player(s, run, build, seed)
			runs++
			for _, v := range o.Result.Violations {
				if v.Property != checker.ResourceExclusion {
					continue
				}
				class, wrong := firstWrite(o.History, v)
				classes[class]++
				if wrong != "" {
					t.Errorf("%s: %s\n%s\n%s", v.What, wrong, s, o.Timeline())
				}
			}
			return o
		}}
		y := (&Task{Survey: &survey{}}).run(t.Context(), calm, build, 1)
		of := &Task{Kinds: script.Kinds(), Constants: y.Constants}
		expand := func(prefix []Perturbation, orders bool) []Trial {
			y := &Result{}
			(&Expansion{Prefix: prefix, Of: 1, Orders: orders}).run(t.Context(), x, of, 1, y)
			return y.Trials
		}
		first := expand(nil, true)
		for seed := range uint64(300) {
			if !draws.Due(seed, 3) {
				continue
			}
			walk(t.Context(), x, of, Portfolio, seed, func(Trial, []Perturbation, *play.Outcome) bool { return true })
		}
		of.Kinds = []script.Kind{script.Delaying, script.LateWrite, script.Pausing}
		for i, trial := range first {
			if trial.Class == Survived && draws.Due(uint64(i), 3) {
				expand(trial.Plan, false)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs, violations: %v", runs, classes)
	if classes["first write"] < 10 {
		t.Errorf("violations %v in %d runs: the search does not reach the writes", classes, runs)
	}
}

// firstWrite describes what is wrong if a violation is no first write: the resource had accepted a newer token, and should have
// refused this one. A node that loses its counter is another matter: the newer lease then has an older token, or none.
func firstWrite(h *history.History, v checker.Violation) (class, wrong string) {
	var granted, accepted *history.Event
	at := 0
	for _, i := range v.Events {
		switch e := &h.Events[i]; {
		case e.Kind == history.OK && e.Op == history.Acquire:
			granted = e
		case e.Kind == history.State && e.Op == history.Accept:
			accepted, at = e, i
		}
	}
	if granted == nil || accepted == nil || granted.Lease == accepted.Lease {
		return "", "its evidence is not a write and the grant of a newer lease"
	}
	if granted.Fence <= accepted.Fence {
		if v.Assumption != checker.DurableNodes {
			return "", "the newer lease has no newer token, though no node lost anything"
		}
		return "lost counter", ""
	}
	for _, e := range h.Events[:at] {
		if e.Kind == history.State && e.Op == history.Accept && e.Fence > accepted.Fence {
			return "", "the resource had accepted a newer token"
		}
	}
	return "first write", ""
}
