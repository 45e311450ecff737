package play

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A Place is a step of a lane, counted from 1. It identifies a fault: two steps of one run may inject faults that print alike,
// such as two crashes of one node, of which only one has an effect.
type Place struct {
	Process string
	Step    int
}

// Effects returns the places of a run at which a fault had an effect. A fault whose condition never occurred had none, nor had a
// pause in a lane that did not get that far.
func (o *Outcome) Effects() map[Place]bool {
	pauses := o.pauses()
	effects := map[Place]bool{}
	for _, e := range o.History.Events {
		if e.Kind != history.Injected || e.ID == 0 {
			continue
		}
		at := Place{script.Nemesis, e.Step}
		if e.Step == 0 {
			left := pauses[e.Process]
			if len(left) == 0 {
				continue // it is not a step of the page
			}
			at, pauses[e.Process] = Place{e.Process, left[0]}, left[1:]
		}
		before, again := effects[at]
		effects[at] = o.Facts.Bitten[e.ID] && (before || !again)
	}
	return effects
}

// pauses lists, for each client, the steps of its lane that pause it, in order.
func (o *Outcome) pauses() map[string][]int {
	of := map[string][]int{}
	for _, lane := range o.Run.Lanes {
		if lane.Process == script.Nemesis {
			continue
		}
		for i, step := range lane.Steps {
			if _, ok := script.Once(step).(script.Pause); ok {
				of[lane.Process] = append(of[lane.Process], slices.Repeat([]int{i + 1}, script.Times(step))...)
			}
		}
	}
	return of
}

// Failing is a property that a run violated, and the assumption that was broken.
type Failing struct {
	Property   checker.Property   `json:"property"`
	Assumption checker.Assumption `json:"assumption"`
}

// Is reports whether a violation is one of this kind.
func (f Failing) Is(v checker.Violation) bool {
	return v.Property == f.Property && v.Assumption == f.Assumption
}

func (f Failing) String() string {
	return fmt.Sprintf("%s violated, %s", f.Property, BrokenWords(f.Assumption))
}

// Failing lists the violated properties, each with each assumption once. It includes only the given properties, or all if none
// are given.
func (o *Outcome) Failing(properties ...checker.Property) []Failing {
	var all []Failing
	for _, v := range o.Result.Violations {
		counts := len(properties) == 0 || slices.Contains(properties, v.Property)
		if f := (Failing{v.Property, v.Assumption}); counts && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b Failing) int {
		rank := func(f Failing) int { return slices.Index(checker.Properties(), f.Property) }
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(string(a.Assumption), string(b.Assumption)))
	})
	return all
}
