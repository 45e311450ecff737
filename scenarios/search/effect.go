package search

import (
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// An Effect says which steps of a plan had an effect in its run.
type Effect struct {
	plan []Perturbation
	had  [][]bool // of each step of each perturbation: whether its fault had an effect
}

// EffectOf returns the effect of a plan on a run of the scenario that it perturbs.
func EffectOf(s *script.Scenario, plan []Perturbation, o *play.Outcome) Effect {
	effects := o.Effects()
	_, places := perturb(s, plan)
	e := Effect{plan: plan}
	for _, of := range places {
		var had []bool
		for _, at := range of {
			had = append(had, effects[at])
		}
		e.had = append(e.had, had)
	}
	return e
}

// idle lists the perturbations without an effect. Steps that end a fault do not count: healing a link has an effect even if
// nothing was lost on it.
func (e Effect) idle() (all []Perturbation) {
	for i, p := range e.plan {
		if len(e.without(i).Steps) == 0 {
			all = append(all, p)
		}
	}
	return all
}

// waiting prints the steps that had no effect.
func (e Effect) waiting() (all []string) {
	for i, p := range e.plan {
		for j, step := range p.Steps {
			if !e.had[i][j] {
				all = append(all, step.String())
			}
		}
	}
	return all
}

// Rest returns the plan without the steps that had no effect, and without those that end a fault that had none. It returns false if
// nothing was left out.
func (e Effect) Rest() (plan []Perturbation, less bool) {
	for i, p := range e.plan {
		q := e.without(i)
		less = less || len(q.Steps) < len(p.Steps)
		if len(q.Steps) > 0 {
			plan = append(plan, q)
		}
	}
	return plan, less
}

// without returns one perturbation of the plan without such steps.
func (e Effect) without(i int) Perturbation {
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
