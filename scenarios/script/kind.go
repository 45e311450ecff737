package script

import (
	"errors"
	"slices"

	"lockstep/sim/history"
)

// A Kind is a way in which a run can deviate from a calm one.
type Kind string

// The kinds of perturbations.
const (
	Delaying      Kind = "delay"       // one message between a client and a lock node takes longer
	Losing        Kind = "lose"        // one such message is lost with its connection
	LateWrite     Kind = "late-write"  // one message between a client and the resource takes longer
	SlowLink      Kind = "slow"        // all messages on a link take longer, from the start
	Cutting       Kind = "cut"         // a link is cut for a time
	Parting       Kind = "partition"   // processes fall into two sides that cannot reach each other for a time
	Pausing       Kind = "pause"       // a client pauses, between two steps or during one
	Dying         Kind = "die"         // a client crashes
	Stalling      Kind = "stall"       // a lock node pauses
	Crashing      Kind = "crash"       // a lock node crashes and restarts with the keys that it kept
	Emptying      Kind = "empty"       // a lock node crashes and restarts empty
	Jumping       Kind = "jump"        // the wall clock of a lock node jumps
	ClientJumping Kind = "client-jump" // the wall clock of a client jumps
	Drifting      Kind = "drift"       // the clocks of a client or a lock node run fast or slow by half a percent, from the start
	Straying      Kind = "stray"       // the same by ten percent
	FailingOver   Kind = "failover"    // a replica is promoted, with or without a crash of n1 before
)

// A Group is a set of kinds of perturbations that affect the same thing.
type Group struct {
	Name  string
	Kinds []Kind
}

// Groups lists all kinds of perturbations, by what they affect.
func Groups() []Group {
	return []Group{
		{"network", []Kind{Delaying, Losing, SlowLink, Cutting, Parting, LateWrite}},
		{"clients", []Kind{Pausing, Dying}},
		{"nodes", []Kind{Stalling, Crashing, Emptying, FailingOver}},
		{"clocks", []Kind{Drifting, Straying, Jumping, ClientJumping}},
	}
}

// Kinds lists all kinds of perturbations.
func Kinds() []Kind {
	var all []Kind
	for _, g := range Groups() {
		all = append(all, g.Kinds...)
	}
	return all
}

// ParseKinds parses names of kinds and of groups; no names stand for all. It leaves out those in without. The order is that of
// [Kinds].
func ParseKinds(names, without []string) ([]Kind, error) {
	named, err := kindsOf(names)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		named = Kinds()
	}
	out, err := kindsOf(without)
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(Kinds(), func(k Kind) bool { return !slices.Contains(named, k) || slices.Contains(out, k) })
	if len(kept) == 0 {
		return nil, errors.New("no kind of perturbation is left")
	}
	return kept, nil
}

func kindsOf(names []string) ([]Kind, error) {
	var kinds []Kind
	for _, name := range names {
		i := slices.IndexFunc(Groups(), func(g Group) bool { return g.Name == name })
		switch {
		case i >= 0:
			kinds = append(kinds, Groups()[i].Kinds...)
		case slices.Contains(Kinds(), Kind(name)):
			kinds = append(kinds, Kind(name))
		default:
			words := WordsOf(Kinds())
			for _, g := range Groups() {
				words = append(words, g.Name)
			}
			return nil, history.Unknown("kind", name, words)
		}
	}
	return kinds, nil
}
