package reader

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"lockstep/checker"
	"lockstep/scenarios/search"
)

// An Exploration is what came of all plans with one perturbation of a run in which nothing goes wrong.
type Exploration struct {
	Sentence string  `json:"sentence"` // what it has shown
	Finds    []Find  `json:"finds"`
	Progress *[2]int `json:"progress,omitempty"` // while it goes on: the runs done, and the runs known to be done in all
}

// A Find is a violation that an exploration found, with the plan that causes it.
type Find struct {
	Property   checker.Property   `json:"property"`
	Assumption checker.Assumption `json:"assumption"` // that the plan broke
	Plan       string             `json:"plan"`       // what went wrong
	Token      string             `json:"token"`      // its run
}

// Explore takes out of a scenario what goes wrong, and then plays it with each perturbation of each kind, one at a time. It reports its
// progress now and then. An error in the request is in the answer.
func Explore(r Request, progress func(done, all int)) Answer {
	a, err := explored(r, progress)
	if err != nil {
		a = &Answer{Errors: mistakes(err)}
	}
	a.ID = r.ID
	return *a
}

func explored(r Request, progress func(done, all int)) (*Answer, error) {
	s, err := scenario(r)
	if err != nil {
		return nil, err
	}
	build, err := playable(s, s.Runs[0])
	if err != nil {
		return nil, err
	}
	calm, err := search.CalmRun(s, s.Runs[0])
	if err != nil {
		return nil, err
	}
	one := search.Search{
		Calm: calm, Seed: cmp.Or(s.Runs[0].Seed, 1), Fixed: true, Progress: progress,
		New: build,
	}
	b, err := one.Here(context.Background())
	if err != nil {
		return nil, err
	}
	if b.Inapplicable != "" {
		return nil, fmt.Errorf("the run does not apply to this lock: %s", b.Inapplicable)
	}
	e := &Exploration{Sentence: summed(b), Finds: []Find{}}
	for _, f := range b.Found {
		if f.Broke != "" {
			return nil, fmt.Errorf("with %s, the run does not end: %s", worded(f.Plan), f.Broke)
		}
		token, err := one.Page(f).Token()
		if err != nil {
			return nil, err
		}
		e.Finds = append(e.Finds, Find{f.Failing.Property, f.Failing.Assumption, worded(f.Plan), token})
	}
	return &Answer{Exploration: e}, nil
}

// summed says what an exploration has shown.
func summed(b *search.Bounded) string {
	if len(b.Levels) == 1 {
		return "The run violates a property even when nothing goes wrong."
	}
	l := b.Levels[1]
	text := fmt.Sprintf("Of %d runs, each with one fault, %d violate a property", l.Plans, l.Violating)
	if l.Unproved > 0 {
		text += fmt.Sprintf(", and %d prove nothing", l.Unproved)
	}
	return text + "."
}

// worded says what goes wrong in a plan.
func worded(plan []search.Perturbation) string {
	var all []string
	for _, p := range plan {
		all = append(all, p.String())
	}
	return cmp.Or(strings.Join(all, ", and "), "nothing going wrong")
}
