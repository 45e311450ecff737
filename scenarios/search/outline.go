package search

import (
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/sim/history"
)

// Outline returns the steps that prove a violation, in their order, without names, times and faults: "client A acquire ok; node
// expire; client B acquire ok". Violations with the same outline came about in the same way, whichever fault began it and
// whichever process it hit.
func Outline(h *history.History, v checker.Violation) string {
	letters := map[string]string{} // of the clients, in the order in which they take part
	role := func(process string) string {
		switch {
		case process == h.Meta.Probe || process == "resource":
			return process
		case !slices.Contains(h.Meta.Clients, process):
			return "node"
		case letters[process] == "":
			letters[process] = "client " + string(rune('A'+len(letters)))
		}
		return letters[process]
	}
	var steps []string
	for _, i := range v.Events {
		e := h.Events[i]
		if e.Kind == history.Injected || e.Kind == history.Bite || e.Kind == history.Message {
			continue
		}
		step := role(e.Process) + " " + e.Op
		if e.Kind != history.State {
			step += " " + string(e.Kind)
		}
		if e.By != "" {
			step += " by " + role(e.By)
		}
		if len(steps) == 0 || steps[len(steps)-1] != step {
			steps = append(steps, step)
		}
	}
	return strings.Join(steps, "; ")
}
