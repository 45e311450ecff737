package main

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// A cell sums up all seeds. Its command and its reason are those of a seed that shows its result.
func TestMatrixCell(t *testing.T) {
	keeps := script.Section{Lock: "keeps"}
	expects := func(status checker.Status, a checker.Assumption) script.Section {
		return script.Section{Lock: "other", Expect: []script.Expectation{{Property: checker.LeaseExclusion, Status: status, Assumption: a}}}
	}
	violates, atFault := expects(checker.Violated, checker.BoundedPause), expects(checker.Violated, checker.None)
	type seed struct {
		verdict checker.Verdict
		broken  checker.Assumption
	}
	var (
		safe    = seed{checker.Safe, ""}
		paused  = seed{checker.Unsafe, checker.BoundedPause}
		delayed = seed{checker.Unsafe, checker.BoundedDelay}
		faulty  = seed{checker.Unsafe, checker.None}
		nothing = seed{checker.Inconclusive, ""}
		perhaps = seed{checker.Inconclusive, checker.BoundedDelay}
		doubted = seed{checker.Inconclusive, checker.None}
		ranOn   = seed{"ran on", checker.None}
	)
	const (
		itsFault = "lease exclusion violated, its own fault: two held it"
		pause    = "lease exclusion violated, bounded pause broken: two held it"
		unmet    = "a must did not occur"
	)
	for _, test := range []struct {
		name      string
		reference script.Section
		seeds     []seed
		verdict   checker.Verdict
		against   pictures.Comparison
		shown     int // the seed that it shows, from 1
		why       string
		letters   string
	}{
		{"keeps it", keeps, []seed{safe}, checker.Safe, pictures.AsReference, 1, "", ""},
		{"does not", keeps, []seed{paused}, checker.Unsafe, pictures.Worse, 1, pause, "[bounded pause]"},
		{"nor does its reference", violates, []seed{paused}, checker.Unsafe, pictures.AsReference, 1, "", "[bounded pause]"},
		{"keeps what its reference does not", violates, []seed{safe}, checker.Safe, pictures.Better, 1, "", ""},
		{"its own fault, and its reference needs an assumption", violates, []seed{faulty}, checker.Unsafe, pictures.Worse, 1, itsFault, "[none]"},
		{"its own fault, as with its reference", atFault, []seed{faulty}, checker.Unsafe, pictures.AsReference, 1, "", "[none]"},
		{"nobody knows of its reference", expects(checker.Unknown, ""), []seed{paused}, checker.Unsafe, pictures.AsReference, 1, "", "[bounded pause]"},
		{"nothing proved", keeps, []seed{nothing}, checker.Inconclusive, pictures.AsReference, 1, unmet, ""},
		{"nothing proved of another assumption", keeps, []seed{perhaps}, checker.Inconclusive, pictures.AsReference, 1, unmet, "[bounded delay]"},
		{"nothing proved but its own fault", keeps, []seed{doubted}, checker.Inconclusive, pictures.Worse, 1, itsFault, "[none]"},
		{"its own fault, or that it ran on in a pause", keeps, []seed{ranOn}, checker.Inconclusive, pictures.AsReference, 1, unmet, "[none]"},

		{"the first UNSAFE", violates, []seed{safe, paused, delayed}, checker.Unsafe, pictures.AsReference, 2, "", "[bounded pause bounded delay]"},
		{"UNSAFE rather than UNKNOWN", violates, []seed{safe, nothing, paused}, checker.Unsafe, pictures.AsReference, 3, "", "[bounded pause]"},
		{"UNSAFE rather than UNKNOWN, with its letters", violates, []seed{paused, perhaps}, checker.Unsafe, pictures.AsReference, 1, "", "[bounded pause]"},
		{"UNKNOWN rather than SAFE", violates, []seed{safe, nothing}, checker.Inconclusive, pictures.AsReference, 2, unmet, ""},
		{"worse rather than as its reference", violates, []seed{paused, faulty}, checker.Unsafe, pictures.Worse, 2, itsFault, "[bounded pause none]"},
		{"worse and UNSAFE rather than worse and UNKNOWN", keeps, []seed{nothing, doubted, paused}, checker.Unsafe, pictures.Worse, 3, pause, "[bounded pause]"},
		{"worse though UNKNOWN", violates, []seed{paused, doubted}, checker.Unsafe, pictures.Worse, 2, itsFault, "[bounded pause none]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var e entry
			for i, s := range test.seeds {
				ran := s.verdict == ranOn.verdict
				if ran {
					s.verdict = checker.Inconclusive
				}
				o := handmade(test.reference, uint64(i+1), s.verdict, s.broken)
				o.Result.RanOn = ran
				e = append(e, o)
			}
			c := (&runFlags{on: play.OnSim}).cell(e)
			if c.Verdict != test.verdict || c.Against != test.against || c.Why != test.why {
				t.Errorf("%s, %s: %q\nwant %s, %s: %q", c.Verdict, c.Against, c.Why, test.verdict, test.against, test.why)
			}
			if want := fmt.Sprintf("--seed %d ", test.shown); !strings.Contains(c.Command, want) {
				t.Errorf("%s, want %s", c.Command, want)
			}
			if letters := strings.TrimPrefix(fmt.Sprint(c.Broken), "[]"); letters != test.letters {
				t.Errorf("broken %s, want %s", letters, test.letters)
			}
		})
	}
}
