package script

import (
	"slices"
	"time"

	"lockstep/sim/history"
)

// Edited returns a copy of the scenario that f has changed. Lanes that lost all their steps are gone.
func (s *Scenario) Edited(f func(*Scenario)) *Scenario {
	page := *s
	page.Lanes, page.Musts, page.Runs = slices.Clone(s.Lanes), slices.Clone(s.Musts), slices.Clone(s.Runs)
	for i, lane := range page.Lanes {
		page.Lanes[i].Steps = slices.Clone(lane.Steps)
	}
	f(&page)
	page.Lanes = slices.DeleteFunc(page.Lanes, func(l Lane) bool { return len(l.Steps) == 0 })
	return &page
}

// Fault returns the fault that a step of the lane injects; nil if it injects none.
func (l Lane) Fault(step Step) history.Fault {
	if l.Process == Nemesis {
		return FaultOf(step)
	}
	if pause, ok := Once(step).(Pause); ok {
		return history.Pause{Process: l.Process, For: pause.For}
	}
	return nil
}

// Undoes reports whether a fault only ends what others do.
func Undoes(f history.Fault) bool {
	switch f.(type) {
	case history.Resume, history.Restart, history.Heal, history.ReleaseLink:
		return true
	}
	return false
}

// EachStep calls f with each step and its place.
func (s *Scenario) EachStep(f func(i, j int, lane Lane, step Step)) {
	for i, lane := range s.Lanes {
		for j, step := range lane.Steps {
			f(i, j, lane, step)
		}
	}
}

// WithFault returns a step of the nemesis with its fault changed by f.
func WithFault(step Step, f func(history.Fault) history.Fault) Step {
	switch step := step.(type) {
	case AtStart:
		step.Fault = f(step.Fault)
		return step
	case At:
		step.Fault = f(step.Fault)
		return step
	case When:
		step.Fault = f(step.Fault)
		return step
	}
	return step
}

func ScaleStep(step Step, scale func(time.Duration) time.Duration) Step {
	faster := func(f history.Fault) history.Fault { return scaleFault(f, scale) }
	switch step := step.(type) {
	case Acquire:
		step.Within, step.Every = scale(step.Within), scale(step.Every)
		return step
	case Increment:
		step.Within = scale(step.Within)
		return step
	case Repeat:
		step.Step = ScaleStep(step.Step, scale)
		return step
	case Pause:
		step.For = scale(step.For)
		return step
	case Sleep:
		step.For = scale(step.For)
		return step
	case Until:
		step.Time = scale(step.Time)
		return step
	case At:
		step.Time = scale(step.Time)
		return WithFault(step, faster)
	case When:
		step.After = scale(step.After)
		return WithFault(step, faster)
	}
	return WithFault(step, faster)
}

func scaleFault(f history.Fault, scale func(time.Duration) time.Duration) history.Fault {
	switch f := f.(type) {
	case history.Pause:
		f.For = scale(f.For)
		return f
	case history.Jump:
		f.By = scale(f.By)
		return f
	case history.Slew:
		f.By, f.Over = scale(f.By), scale(f.Over)
		return f
	case history.Delay:
		f.By = scale(f.By)
		return f
	case history.Chosen:
		f.By = scale(f.By)
		return f
	}
	return f
}
