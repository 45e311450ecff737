package scenarios

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"lockstep/scenarios/search"
)

// Hunt makes [Explore] go on for d, with plans that are different each time: rapid draws other seeds and up to four
// perturbations. It is for a nightly job, because the next run of the test may not find again what it has found. rapid stores the
// draws of a failure below testdata/rapid, and a later hunt plays them first. At least 100 plans are drawn, or as many as go test
// -rapid.checks says; with Hunt(1) that flag alone is the bound. The default is 0: no hunt.
func Hunt(d time.Duration) Option { return option("Hunt", func(o *options) { o.hunt = d }) }

// The greatest number of perturbations in a plan, the number of seeds, and the resolution at which kinds and sites are drawn.
const (
	mostDrawn  = 4
	seedsDrawn = 8
	grains     = 32
)

// choice is what rapid draws for one perturbation. rapid prefers small numbers, but less so if a number is split in two.
type choice struct{ kind, coarse, fine int }

var choices = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) choice {
	grain := rapid.IntRange(0, grains-1)
	return choice{grain.Draw(rt, "kind"), grain.Draw(rt, "coarse"), grain.Draw(rt, "fine")}
}), 0, mostDrawn)

// draw draws a plan. The sites of each perturbation are found in the run with the perturbations before it, so that a plan can hit
// events that it has caused itself. Smaller draws are earlier moments and smaller magnitudes, of the kinds that come first.
func (e *exploration) draw(rt *rapid.T) drawing {
	c := e.calm[rapid.IntRange(0, len(e.calm)-1).Draw(rt, "calm run")]
	d := drawing{of: c, seed: e.seed + uint64(rapid.IntRange(0, seedsDrawn-1).Draw(rt, "seed"))}
	for _, choice := range choices.Draw(rt, "choices") {
		longer, ok := d.longer(choice.kind, grains, choice.coarse*grains+choice.fine, grains*grains)
		if !ok {
			break
		}
		d = longer
	}
	return d
}

// longer returns the drawing with one more perturbation. Its kind is number kind of kinds, and its site number site of sites, however
// many there are. It is not ok if the run of d has no site, or does not end.
func (d drawing) longer(kind, kinds, site, sites int) (_ drawing, ok bool) {
	a := d.of.try(d, true)
	if len(a.kinds) == 0 {
		return d, false
	}
	all := a.possible[a.kinds[kind*len(a.kinds)/kinds]]
	d.plan = append(slices.Clip(d.plan), all[site*len(all)/sites])
	slices.SortStableFunc(d.plan, search.Perturbation.Compare)
	d.plan = slices.CompactFunc(d.plan, func(p, q search.Perturbation) bool { return p.Compare(q) == 0 })
	return d, true
}

// check is the property that rapid checks. Once a plan has failed, only plans that fail in the same way count, so that shrinking
// does not move from one bug to another.
func (e *exploration) check(rt *rapid.T) {
	d := rapid.Custom(e.draw).Draw(rt, "plan")
	a := d.of.try(d, false)
	if len(a.failures) == 0 {
		return
	}
	f := a.failures[0]
	if e.failing != nil {
		i := slices.IndexFunc(a.failures, func(f failure) bool { return f.Failing == e.failing.Failing })
		if i < 0 {
			return
		}
		f = a.failures[i]
	}
	e.failing, e.failed = &f, a
	rt.Fatal(f)
}

// huntFor lets rapid check as often as there is time for, and at least once.
func (e *exploration) huntFor(d time.Duration) {
	for start := time.Now(); ; {
		rapid.Check(e.t, e.check)
		if time.Since(start) >= d {
			return
		}
	}
}
