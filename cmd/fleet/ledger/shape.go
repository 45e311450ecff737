package ledger

import (
	"regexp"
	"slices"
	"strings"

	"lockstep/scenarios/script"
)

// Shape returns the steps that prove the violation of a saved run: "node set for A; node set for B; B ok acquire; A ok acquire". These
// are the lines of its timeline that are marked with an exclamation mark, without times, names, values and faults. The clients are
// letters, in the order in which they appear. It is empty if the page has no timeline.
//
// The steps come from the text and not from another run, so they are there for every lock, including those that this program cannot
// play. And they stay the same when Lockstep or the lock changes, because the text does.
//
// A timeline marks the proofs of all properties that the run violates. What the resource did proves nothing about a property that is not
// about the resource, and is left out there. Otherwise a shape would depend on whether a write came along by chance.
func Shape(page *script.Scenario, property string) string {
	if len(page.Runs) != 1 {
		return ""
	}
	run := page.Resolve(page.Runs[0])
	letters := map[string]string{}
	role := func(process string) string {
		switch {
		case process == script.ProbeName || process == script.ResourceName:
			return process
		case !slices.Contains(run.Clients(), process):
			return "node"
		case letters[process] == "":
			letters[process] = string(rune('A' + len(letters)))
		}
		return letters[process]
	}
	var steps []string
	for line := range strings.SplitSeq(run.Golden, "\n") {
		marked, ok := strings.CutPrefix(line, "!")
		if !ok {
			continue
		}
		words := strings.Fields(marked) // time, process, kind, operation, details
		if len(words) < 3 || words[2] == "fault" || words[2] == "missed" {
			continue
		}
		who, kind := words[1], words[2]
		if who == script.ResourceName && !aboutResource(property) {
			continue
		}
		step := role(who) + " " + kind
		if who == script.ProbeName || run.IsClient(who) { // of other processes it is the name of a key, or a value
			if len(words) > 3 {
				step += " " + strings.TrimSuffix(words[3], ",")
			}
		} else if m := ofLease.FindStringSubmatch(marked); m != nil {
			step += " " + m[1] + " " + role(m[2])
		}
		if len(steps) == 0 || steps[len(steps)-1] != step {
			steps = append(steps, step)
		}
	}
	return strings.Join(steps, "; ")
}

// ofLease finds whose lease a change of a key is about.
var ofLease = regexp.MustCompile(` (for|of) ([a-z0-9]+)#[0-9]`)

// aboutResource reports whether what the resource accepts can prove that a property is violated.
func aboutResource(property string) bool {
	return property == "resource exclusion" || property == "no lost update"
}

// unreduced is the shape of a finding without a timeline: of a search that was interrupted before it could reduce it, or of a run that does
// not end. What is left are the kinds of its perturbations.
func unreduced(kinds []string, broke bool) string {
	what := "not reduced"
	if broke {
		what = "does not end"
	}
	if len(kinds) == 0 {
		return what
	}
	return what + ": " + strings.Join(kinds, ", ")
}

// size is how long a story is: its clients, nodes and steps. Of two pages of one finding the smaller is kept.
func size(page *script.Scenario) int {
	run := page.Resolve(page.Runs[0])
	n := run.Nodes + run.Replicas + run.Sentinels
	for _, lane := range run.Lanes {
		n++
		for _, step := range lane.Steps {
			n += script.Times(step)
		}
	}
	return n
}
