package search

import (
	"context"
	"slices"

	"lockstep/scenarios/play"
)

// A walk is one seed of a random search. It begins with the calm run of that seed, whose message delays are drawn from the seed.
// Each further run adds one perturbation, drawn from those that are possible in the run so far: at the last perturbation, after
// it, or from the beginning. The walk ends after a number of perturbations, which is drawn as well, or with a violation. Each of
// its runs is a complete test: after its lanes everything heals, a TTL passes, and a fresh client must get the lock. So a walk
// also finds locks that stay taken.
//
// walks is the task to walk the seeds from From to To, without To. The seed after the largest one is 1, because 0 is not a seed
// and 1 is the seed of a file that names none. One strategy, one seed and one lock always make the same walk.
type walks struct {
	Strategy Strategy `json:"strategy"`
	From     uint64   `json:"from"`
	To       uint64   `json:"to"`
	First    bool     `json:"first,omitempty"` // stop at the first violation
}

// run walks until ctx ends. The yield has the violating trials, and its coverage counts all runs.
func (w *walks) run(ctx context.Context, x *explorer, of *Task, y *Result) {
	y.Coverage = &Coverage{}
	for seed := w.From; seed != w.To && ctx.Err() == nil; seed++ {
		if seed == 0 {
			continue
		}
		y.Seed = seed
		found := false
		completed := walk(ctx, x, of, w.Strategy, seed, func(t Trial, added []Perturbation, o *play.Outcome) bool {
			y.Coverage.add(t, added, of.Kinds, o)
			if t.Class == Violating {
				y.Trials = append(y.Trials, t)
				found = true
			}
			return !found
		})
		if !completed {
			return
		}
		y.Coverage.walked(found)
		if found && w.First {
			return
		}
	}
}

// walk plays the runs of one walk and calls each with their trials, and with what was added to the plan for it. It goes on
// while each says so, and says whether it came to its end before ctx did.
func walk(ctx context.Context, x *explorer, of *Task, s Strategy, seed uint64, each func(t Trial, added []Perturbation, o *play.Outcome) bool) bool {
	c := s.choosing(seed)
	t, o := x.try(nil, seed)
	if !each(t, nil, o) {
		return true
	}
	var plan []Perturbation
	possible := c.sites(x.calm, o, of, 0)
	var survived *play.Outcome // of a run whose possible perturbations are not yet in possible
	// step adds to the plan. It leaves out a perturbation without effect, which will hardly have one later.
	step := func(added ...Perturbation) (on bool) {
		longer := slices.SortedFunc(slices.Values(slices.Concat(plan, added)), Perturbation.Compare)
		t, o := x.try(longer, seed)
		if t.Class == Survived {
			plan, survived = longer, o
		}
		return each(t, added, o)
	}
	if ranks := c.start(possible); len(ranks) > 0 && !step(ranks...) {
		return true
	}
	look := func() {
		if survived != nil {
			possible, survived = c.sites(x.calm, survived, of, plan[len(plan)-1].At), nil
		}
	}
	look()
	for range c.depth() {
		if ctx.Err() != nil {
			return false
		}
		look()
		left := from(plan, possible)
		if len(left) == 0 || !step(c.next(left)) {
			break
		}
	}
	return true
}

// from lists the possible perturbations that come with or after the last one of a plan and are not in the plan. Those that apply
// from the beginning can be added at any time.
func from(plan, possible []Perturbation) []Perturbation {
	if len(plan) == 0 {
		return possible
	}
	last := plan[len(plan)-1].At
	return slices.DeleteFunc(slices.Clone(possible), func(p Perturbation) bool {
		return 0 < p.At && p.At < last || slices.ContainsFunc(plan, func(q Perturbation) bool { return p.Compare(q) == 0 })
	})
}
