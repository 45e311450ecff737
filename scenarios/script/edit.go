package script

import (
	"reflect"
	"slices"
	"time"

	"lockstep/sim/history"
)

// Edited returns a copy of the scenario, changed by f. Lanes without steps are removed.
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

// Undoes reports whether a fault only ends other faults.
func Undoes(f history.Fault) bool {
	switch f.(type) {
	case history.Resume, history.Restart, history.Heal, history.ReleaseLink:
		return true
	}
	return false
}

// EachStep calls f with each step and its position.
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

// ScaleStep returns a step with all its durations scaled, including those of its fault, or of the step that it repeats.
func ScaleStep(step Step, scale func(time.Duration) time.Duration) Step {
	return scaled(reflect.ValueOf(step), scale).Interface().(Step)
}

// scaled finds durations by their type, so that new steps and faults are included.
func scaled(v reflect.Value, scale func(time.Duration) time.Duration) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	for i := range c.NumField() {
		switch f := c.Field(i); {
		case f.Type() == reflect.TypeFor[time.Duration]():
			f.SetInt(int64(scale(time.Duration(f.Int()))))
		case f.Kind() == reflect.Interface:
			f.Set(scaled(f.Elem(), scale))
		}
	}
	return c
}
