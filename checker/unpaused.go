package checker

import (
	"slices"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// ranOn returns why a run proves nothing about its pauses: code of a client ran during one, as code does that waits by package
// time. It also returns the number of events that this cannot have affected. What a paused client sends is not sent before it
// resumes, so until then only events that it records itself can follow from it.
func (ix *index) ranOn() (untouched int, reasons []string) {
	untouched = len(ix.Events)
	seen := map[string]bool{}
	for u, e := range ix.Events {
		if e.Kind != history.Info || e.Op != history.Unpaused || seen[e.Process] {
			continue
		}
		seen[e.Process] = true
		reasons = append(reasons, e.Process+" ran on while it was paused: it takes its time from package time, so this run proves nothing about a pause")
		for i := u + 1; i < untouched; i++ {
			if f := ix.Events[i]; f.Process == e.Process && (isOperation(f) || f.Kind == history.Injected && f.Op == "resume") {
				untouched = i
			}
		}
	}
	return untouched, reasons
}

func isOperation(e history.Event) bool {
	return e.Kind == history.Invoke || e.Kind == history.OK || e.Kind == history.Fail || e.Kind == history.Info && e.Op != history.Unpaused
}

// dropTainted drops from r what code that ran during a pause may have affected, and says why. If no violation would be left, it
// drops nothing: then the run as a whole proves nothing, and r shows what was seen.
//
// A violation is left if it had occurred before anything can have followed from that code; later events may only say when it was
// over. A property about the end of a run, or about what did not happen in time, is always dropped.
func (r *Result) dropTainted(ix *index) (reasons []string) {
	untouched, reasons := ix.ranOn()
	if len(reasons) == 0 {
		return nil
	}
	before := &index{Facts: facts.Of(&history.History{Meta: ix.Meta, Events: ix.Events[:untouched]})}
	var stand []Violation
	for _, v := range r.Violations {
		rule := ruleOf(v.Property)
		if !rule.prompt {
			continue
		}
		found, _ := rule.judge(before)
		if slices.ContainsFunc(found, func(f Violation) bool { return subset(f.Events, v.Events) }) {
			stand = append(stand, v)
		}
	}
	if len(stand) == 0 {
		return reasons
	}
	r.Violations = stand
	for i, s := range r.Statuses {
		if !slices.ContainsFunc(stand, func(v Violation) bool { return v.Property == s.Property }) {
			r.Statuses[i].Status = Unknown
		}
	}
	return nil
}

func subset(some, all []int) bool {
	return !slices.ContainsFunc(some, func(i int) bool { return !slices.Contains(all, i) })
}
