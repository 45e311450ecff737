package scenarios

import (
	"slices"

	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A place is a step of a lane, counted from 1. It is what tells faults apart: two steps of one run may inject faults that print alike,
// such as two crashes of one node, of which only one has an effect.
type place struct {
	process string
	step    int
}

// effects says at which places of a run a fault had an effect. A fault whose moment never came had none, and nor had a pause in a lane
// that did not get that far.
func (o *Outcome) effects() map[place]bool {
	bitten := o.bitten()
	pauses := o.pauses()
	effects := map[place]bool{}
	for _, e := range o.History.Events {
		if e.Kind != history.Injected || e.ID == 0 {
			continue
		}
		at := place{script.Nemesis, e.Step}
		if e.Step == 0 {
			left := pauses[e.Process]
			if len(left) == 0 {
				continue // it is no step of the page
			}
			at, pauses[e.Process] = place{e.Process, left[0]}, left[1:]
		}
		before, again := effects[at]
		effects[at] = bitten[e.ID] && (before || !again)
	}
	return effects
}

// bitten are the numbers of the faults that had an effect.
func (o *Outcome) bitten() map[int]bool {
	bitten := map[int]bool{}
	for _, e := range o.History.Events {
		if e.Kind == history.Bite {
			bitten[e.ID] = true
		}
	}
	return bitten
}

// pauses lists, for each client, the steps of its lane that pause it, in the order in which it comes to them.
func (o *Outcome) pauses() map[string][]int {
	of := map[string][]int{}
	for _, lane := range o.Run.Lanes {
		if lane.Process == script.Nemesis {
			continue
		}
		for i, step := range lane.Steps {
			if _, ok := script.Once(step).(script.Pause); ok {
				of[lane.Process] = append(of[lane.Process], slices.Repeat([]int{i + 1}, times(step))...)
			}
		}
	}
	return of
}

// An effect is what the steps of a plan did in its run.
type effect struct {
	plan []Perturbation
	had  [][]bool // of each step of each perturbation: whether its fault had an effect
}

// effectOf says what a plan did in a run of the scenario that it perturbs.
func effectOf(s *script.Scenario, plan []Perturbation, o *Outcome) effect {
	effects := o.effects()
	_, places := perturb(s, plan)
	e := effect{plan: plan}
	for _, of := range places {
		var had []bool
		for _, at := range of {
			had = append(had, effects[at])
		}
		e.had = append(e.had, had)
	}
	return e
}

// idle lists the perturbations none of whose faults had an effect. What ends a fault counts for nothing: mending a link has an effect
// even if nothing was lost on it.
func (e effect) idle() (all []Perturbation) {
	for i, p := range e.plan {
		if len(e.without(i).Steps) == 0 {
			all = append(all, p)
		}
	}
	return all
}

// waiting prints the steps that had no effect.
func (e effect) waiting() (all []string) {
	for i, p := range e.plan {
		for j, step := range p.Steps {
			if !e.had[i][j] {
				all = append(all, step.String())
			}
		}
	}
	return all
}

// rest returns the plan without the steps that had no effect, and without those that end a fault that had none. It returns false if
// nothing was left out.
func (e effect) rest() (plan []Perturbation, less bool) {
	for i, p := range e.plan {
		q := e.without(i)
		less = less || len(q.Steps) < len(p.Steps)
		if len(q.Steps) > 0 {
			plan = append(plan, q)
		}
	}
	return plan, less
}

// without is one perturbation of the plan without such steps.
func (e effect) without(i int) Perturbation {
	p := e.plan[i]
	acted := map[string]bool{}
	for j, step := range p.Steps {
		if f := p.fault(step); e.had[i][j] && !script.Undoes(f) {
			acted[f.Target()] = true
		}
	}
	var left []script.Step
	for j, step := range p.Steps {
		f := p.fault(step)
		if e.had[i][j] && (!script.Undoes(f) || acted[f.Target()]) {
			left = append(left, step)
		}
	}
	p.Steps = left
	return p
}
