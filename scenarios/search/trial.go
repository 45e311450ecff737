package search

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/reports"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A Class is what one perturbed run is worth.
type Class string

// The classes of perturbed runs.
const (
	Survived  Class = "survived" // every perturbation had an effect, and nothing is violated
	Idle      Class = "idle"     // nothing is violated, but some perturbation had no effect
	Violating Class = "violating"
	// Unproved runs prove nothing: they hit a cap, or ran on in a pause, or violate something only together with faults that are
	// said to have had no effect.
	Unproved Class = "unproved"
)

// A Trial is what came of one perturbed run. Where the run violates something, all faults of the plan had an effect: those that had
// none were taken out, and what is said here is of the run without them.
type Trial struct {
	Plan  []Perturbation `json:"plan,omitempty"` // in the order of time
	Seed  uint64         `json:"seed"`
	Class Class          `json:"class"`
	// Faults are what is violated, and why; each once.
	Faults []play.Failing `json:"faults,omitempty"`
	// Expect, where something is violated, is what a page with this run expects.
	Expect []script.Expectation `json:"expect,omitempty"`
	// Story identifies what happened but for the faults themselves: two plans with equal stories are equivalent.
	Story uint64 `json:"story"`
	// Waiting are the steps of the plan whose faults had no effect, as printed.
	Waiting []string `json:"waiting,omitempty"`
	// Idle are the perturbations of the plan that had no effect, whether they were taken out or not.
	Idle     []Perturbation `json:"-"`
	Checksum string         `json:"checksum"`
}

// An explorer plays perturbed runs of one calm scenario, in a worker.
type explorer struct {
	calm  *script.Scenario // with one run
	build clients.New
	play  play.Player
	plan  []Perturbation // of the run that is being played

	// restless is as in [play.Case].
	restless bool
	// properties are those whose violation counts; none stand for all.
	properties []checker.Property

	played  int
	twice   int    // how many runs were done twice
	differs string // how the first one differed that did
}

// canaryEvery is how often a run of an exploration is done twice: more than one in twenty, also where chance has it otherwise.
const canaryEvery = 12

// try plays the calm scenario with the perturbations of a plan.
func (x *explorer) try(plan []Perturbation, seed uint64) (Trial, *play.Outcome) {
	x.plan = plan
	s := Perturbed(x.calm, plan)
	o := x.play(s, s.Runs[0], x.build, seed)
	x.played++
	if canaried(plan, seed) {
		x.repeat(s, o, seed)
	}
	faults, did := o.Failing(x.properties...), EffectOf(x.calm, plan, o)
	t := Trial{
		Plan: plan, Seed: seed, Class: Classify(o, did, faults), Faults: faults, Story: storyOf(o), Waiting: did.waiting(), Idle: did.idle(), Checksum: o.History.Meta.Checksum,
	}
	if t.Class != Violating {
		return t, o
	}
	t.Expect = expectations(o)
	rest, less := did.Rest()
	if !less {
		return t, o
	}
	found, without := x.try(rest, seed)
	if found.Class != Violating {
		t.Class, t.Faults, t.Expect = Unproved, nil, nil
		return t, o
	}
	found.Idle = t.Idle
	return found, without
}

// canaried reports whether a run is one of those that are done twice: its plan decides, not which worker plays it.
func canaried(plan []Perturbation, seed uint64) bool {
	h := fnv.New64a()
	fmt.Fprint(h, plan, seed)
	return h.Sum64()%canaryEvery == 0
}

// repeat plays a run again, and notes how it differs if it does.
func (x *explorer) repeat(s *script.Scenario, o *play.Outcome, seed uint64) {
	again := x.play(s, s.Runs[0], x.build, seed)
	x.twice++
	if x.restless {
		return // its traces differ
	}
	if o.History.Meta.Checksum != again.History.Meta.Checksum && x.differs == "" {
		x.differs = fmt.Sprintf("%s; seed %d, perturbations %q", traceDifference(o.History, again.History), seed, x.plan)
	}
}

// traceDifference words the first event in which two histories of the same run differ.
func traceDifference(a, b *history.History) string {
	for i := range max(len(a.Events), len(b.Events)) {
		switch {
		case i >= len(a.Events):
			return fmt.Sprintf("the first time it was over after %d events, the second time it went on with %s", i, brief(b.Events[i]))
		case i >= len(b.Events):
			return fmt.Sprintf("the first time it went on after %d events with %s, the second time it was over", i, brief(a.Events[i]))
		case a.Events[i] != b.Events[i]:
			return fmt.Sprintf("event %d is the first that differs: %s, and the second time %s", i+1, brief(a.Events[i]), brief(b.Events[i]))
		}
	}
	return "the same events, delivered in another order"
}

// brief describes an event in a few words, for a history that is not shown.
func brief(e history.Event) string {
	text := history.Seconds(e.At) + " "
	if e.Kind == history.Message {
		text += reports.Sent(e)
	} else {
		text += strings.Join(slices.DeleteFunc([]string{e.Process, string(e.Kind), e.Op, e.Lease, e.Value, e.Error}, func(s string) bool { return s == "" }), " ")
	}
	return "`" + history.Shortened(text, 100) + "`"
}

// Classify returns the class of the run of a plan.
func Classify(o *play.Outcome, did Effect, faults []play.Failing) Class {
	switch {
	case len(o.Result.Unmet) > len(o.Result.Idle):
		return Unproved
	case len(faults) > 0:
		return Violating
	case len(did.idle()) > 0:
		return Idle
	}
	return Survived
}

// fault is the fault that a step of the perturbation injects.
func (p Perturbation) fault(s script.Step) history.Fault {
	if pause, ok := s.(script.Pause); ok {
		return history.Pause{Process: p.Client, For: pause.For}
	}
	return script.FaultOf(s)
}

// storyOf is a hash of what processes did and learnt: everything in the history but the faults, and but for what reached a client
// that had hung up. Where it ends alike, any one of the plans stands for the others.
func storyOf(o *play.Outcome) uint64 {
	h := fnv.New64a()
	clients := o.History.Meta.Clients
	for i := range o.History.Events {
		e := &o.History.Events[i]
		if e.Kind == history.Injected || e.Kind == history.Bite || e.Kind == history.Message && e.Op != history.Deliver && slices.Contains(clients, e.Process) {
			continue
		}
		fmt.Fprintf(h, "%d %d %d %s %s %s %s %s %d %d %s %s %s;", e.At, e.Clock, e.Wall, e.Process, e.Kind, e.Op, e.Lease, e.By, e.Sent, e.Until, e.Key, e.Value, e.Error)
	}
	return h.Sum64()
}
