package scenarios

import (
	"context"
	"slices"

	"lockstep/clients"
)

// An errand is what a search has a worker do with a calm run. Exactly one of the pointers is set.
type errand struct {
	Survey *survey    `json:"survey,omitempty"`
	Expand *expansion `json:"expand,omitempty"`

	Kinds     []Kind    `json:"kinds,omitempty"`
	Constants constants `json:"constants,omitzero"`
	Restless  bool      `json:"restless,omitempty"` // as in Case
}

// A yield is what comes back.
type yield struct {
	Trials    []Trial   `json:"trials,omitempty"`
	Constants constants `json:"constants,omitzero"`

	Played  int    `json:"played"`            // runs, without repetitions
	Twice   int    `json:"twice"`             // how many of them were repeated and compared
	Differs string `json:"differs,omitempty"` // how the first that differed did
	// Broke says why the run of Plan did not come to its end: the lock panicked, or left goroutines behind.
	Broke string         `json:"broke,omitempty"`
	Plan  []Perturbation `json:"plan,omitempty"`
}

// run does the errand. It comes back early if ctx ends.
func (e *errand) run(ctx context.Context, calm *Scenario, build clients.New, seed uint64) *yield {
	y := &yield{}
	x := &explorer{calm: calm, build: build, restless: e.Restless}
	err := series(func(play player) {
		x.play = play
		switch {
		case e.Survey != nil:
			e.Survey.run(x, seed, y)
		case e.Expand != nil:
			e.Expand.run(ctx, x, e, seed, y)
		}
	})
	if err != nil {
		y.Broke, y.Plan = err.Error(), x.plan
	}
	y.Played, y.Twice, y.Differs = x.played, x.twice, x.differs
	return y
}

// A survey plays the calm run, and finds out what its time constants are.
type survey struct{}

func (*survey) run(x *explorer, seed uint64, y *yield) {
	t, o := x.try(nil, seed)
	y.Trials = []Trial{t}
	y.Constants = constants{TTL: o.Run.TTL, Patience: patience(x.play, x.calm, o, seed, x.build), Retry: retryDelay(o)}
}

// An expansion plays every plan that has one perturbation more than Prefix, at a site that the run of Prefix comes to after its last
// perturbation. Each set of perturbations is the expansion of exactly one other: the one that lacks its last.
type expansion struct {
	Prefix []Perturbation `json:"prefix,omitempty"`
	// Part says which share of the work this is, of so many.
	Part, Of int
}

func (e *expansion) run(ctx context.Context, x *explorer, of *errand, seed uint64, y *yield) {
	_, o := x.try(e.Prefix, seed)
	x.played-- // whoever asks has seen it
	for i, s := range after(e.Prefix, sites(x.calm, o, of.Constants, of.Kinds)) {
		if i%e.Of != e.Part {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		t, _ := x.try(append(slices.Clip(e.Prefix), s), seed)
		y.Trials = append(y.Trials, t)
	}
}

// after lists the perturbations that come after the last of a plan, of those that are possible in its run.
func after(plan, possible []Perturbation) []Perturbation {
	return slices.DeleteFunc(possible, func(p Perturbation) bool {
		return len(plan) > 0 && p.compare(plan[len(plan)-1]) <= 0
	})
}
