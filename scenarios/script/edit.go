package script

import (
	"slices"

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
