package search

import (
	"slices"
	"strings"
	"testing"

	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// The lineage of an outcome has what it stood on, and nothing that came later or was another's.
func TestLineage(t *testing.T) {
	play.QuietRedis()
	calm := calmShape(t, Shape{Lock: "single"})
	o := simulated(t, calm, calm.Runs[0], 1)
	of := func(process, op string, kind history.Kind) *lineage {
		i := slices.IndexFunc(o.History.Events, func(e history.Event) bool { return e.Process == process && e.Op == op && e.Kind == kind })
		if i < 0 {
			t.Fatalf("%s has no %s %s", process, kind, op)
		}
		return lineageOf(o.Facts, i)
	}
	for _, test := range []struct {
		of        *lineage
		stands    []string // on these messages
		standsNot []string
	}{
		{of("c1", history.Acquire, history.OK), []string{"on request SET c1->n1 ", "on reply SET n1->c1 "}, []string{"on request SET c2->n1 ", "on request EVALSHA c1->n1 ", "on request write c1->resource "}},
		// c2 is refused because c1 has the key.
		{of("c2", history.Acquire, history.Fail), []string{"on request SET c2->n1 ", "on reply SET n1->c2 ", "on request SET c1->n1 "}, []string{"on request EVALSHA c1->n1 "}},
		// Its grant stands on the release of c1, and that on nothing but its own messages and the grant.
		{of("c2", history.Acquire, history.OK), []string{"on request EVAL c1->n1 "}, []string{"on request EVALSHA c2->n1 "}},
		{of("c1", history.Release, history.OK), []string{"on request EVAL c1->n1 ", "on reply SET n1->c1 "}, []string{"on request write c1->resource ", "on request EVALSHA c2->n1 "}},
		{of("c1", history.Write, history.OK), []string{"on request write c1->resource ", "on reply SET n1->c1 "}, []string{"on request EVAL c1->n1 "}},
	} {
		all := Sites(calm, o, Constants{TTL: o.Run.TTL}, script.Kinds())
		touched := func(text string) bool {
			i := slices.IndexFunc(all, func(p Perturbation) bool { return strings.HasPrefix(p.String(), text) })
			if i < 0 {
				t.Fatalf("there is no %q", text)
			}
			return test.of.touches(all[i])
		}
		for _, text := range test.stands {
			if !touched(text) {
				t.Errorf("%q does not touch the lineage", text)
			}
		}
		for _, text := range test.standsNot {
			if touched(text) {
				t.Errorf("%q touches the lineage", text)
			}
		}
	}
}

// Few perturbations change an outcome without touching its lineage: those that make a client come later with what it does next. Of those
// that touch it, a large part does.
func TestLineageIsWhatMatters(t *testing.T) {
	if testing.Short() {
		t.Skip("plays hundreds of plans")
	}
	play.QuietRedis()
	calm, build := calmOf(t, Shape{Nodes: 3}, "redlock")
	var touched, changed, untouched, missed int
	err := play.Series(func(player play.Player) {
		x := &explorer{calm: calm, build: build, play: player}
		of := constantsOf(x, 1)
		_, o := x.try(nil, 1)
		all := slices.Concat(outcomes(o.Facts)...)
		var lineages []*lineage
		for _, i := range all {
			lineages = append(lineages, lineageOf(o.Facts, i))
		}
		for _, p := range Sites(calm, o, of, script.Kinds()) {
			_, q := x.try([]Perturbation{p}, 1)
			for n, i := range all {
				same := slices.ContainsFunc(q.History.Events, func(e history.Event) bool { return outcomeOf(e) == outcomeOf(o.History.Events[i]) })
				switch touches := lineages[n].touches(p); {
				case touches && same:
					touched++
				case touches:
					changed++
				case same:
					untouched++
				default:
					missed++
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d outcomes with their lineage touched, %d of which changed; %d untouched, %d of which changed", touched+changed, changed, untouched+missed, missed)
	if missed*50 > untouched || changed*8 < touched {
		t.Error("an outcome changes although its lineage was not touched in more than one case in fifty, or seldom if it was")
	}
}
