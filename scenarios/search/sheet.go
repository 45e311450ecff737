package search

import (
	"slices"
	"time"

	"lockstep/checker"
	"lockstep/scenarios/script"
)

// A Sheet says how much of each perturbation a lock tolerates, one at a time: up to which magnitude each property holds in some calm
// runs, wherever in them the perturbation comes.
type Sheet struct {
	TTL  time.Duration `json:"ttl_ns"`
	Calm []SheetRun    `json:"calm"`
	Rows []Tolerance   `json:"rows"`

	Runs     int `json:"runs"`
	Unproved int `json:"unproved"` // runs that prove nothing, those that do not end included
	// Broken are the first runs that did not end, one for each quantity.
	Broken []Broken `json:"broken,omitempty"`
}

// A SheetRun is one of the runs that are perturbed.
type SheetRun struct {
	Workload Workload `json:"workload"`
	// Unfit says why it is not perturbed: it does not apply to the lock, does not end, proves nothing, or violates a property although
	// nothing goes wrong. It is empty if it is perturbed.
	Unfit string `json:"unfit,omitempty"`
}

// A Tolerance is how much of one perturbation a lock tolerates.
type Tolerance struct {
	Quantity string `json:"quantity"` // its name, as in [ParseHave]
	Sign     int64  `json:"sign"`     // -1 for a clock that jumps back or is slow, otherwise 1
	Unit     Unit   `json:"unit"`
	Sites    int    `json:"sites"` // how many injection points the calm runs have
	Runs     int    `json:"runs"`
	Unproved int    `json:"unproved"`
	Idle     int    `json:"no_effect"` // runs in which the perturbation had no effect
	// Top is the greatest magnitude that was tried. Magnitudes are nanoseconds, ppm, or a number, and never negative.
	Top int64 `json:"top"`
	// Harmless is the greatest magnitude that was tried at all injection points up to which none that was tried violates anything, and of which
	// every run proves that. It is 0 if there is none.
	Harmless int64   `json:"harmless"`
	Limits   []Limit `json:"limits"` // one for each harm, the least first
	Rungs    []Rung  `json:"tried"`  // the magnitudes that were tried, ascending
}

// A Rung is a magnitude that was tried, and what came of it.
type Rung struct {
	Magnitude int64  `json:"magnitude"`
	Runs      int    `json:"runs"` // at all injection points, or at those where a greater magnitude does harm
	Harms     []Harm `json:"harms,omitempty"`
	Unproved  int    `json:"unproved,omitempty"`
}

// A Harm is a property that is violated, or [NoLease].
type Harm string

// NoLease is the harm that no client gets the lock. It counts only where lock nodes are lost.
const NoLease Harm = "no lease"

// A Limit is where a perturbation begins to violate a property.
type Limit struct {
	Harm       Harm               `json:"harm"`
	Assumption checker.Assumption `json:"assumption"` // what is to blame at the edge
	// Harmless is the greatest magnitude below Harmful that was tried at all injection points without this harm, in runs that prove something;
	// 0 if there is none.
	Harmless int64    `json:"harmless"`
	Harmful  int64    `json:"harmful"` // the least magnitude with this harm
	Workload Workload `json:"workload"`
	Where    string   `json:"where"` // the injection point, in words
	// Below and Above are the runs on either side, at the same injection point.
	Below *Side `json:"below,omitempty"`
	Above *Side `json:"above,omitempty"`
}

// A Side is a run on one side of an edge.
type Side struct {
	Plan  []Perturbation   `json:"plan"`
	Page  *script.Scenario `json:"-"`
	Token string           `json:"token"`
}

// NothingProved reports whether no perturbed run proves anything.
func (s *Sheet) NothingProved() bool {
	return !slices.ContainsFunc(s.Rows, func(t Tolerance) bool { return t.Runs > t.Unproved+t.Idle })
}

// Effective reports whether the perturbation had an effect in some run.
func (t *Tolerance) Effective() bool { return t.Runs > t.Idle+t.Unproved }

// Name names the quantity with its sign.
func (t *Tolerance) Name() string {
	signs := signWords[t.Unit]
	switch {
	case !findLimited(t.Quantity).signed():
		return t.Quantity
	case t.Sign < 0:
		return t.Quantity + " " + signs[0]
	}
	return t.Quantity + " " + signs[1]
}

var signWords = map[Unit][2]string{Seconds: {"back", "ahead"}, PPM: {"slow", "fast"}}

// About describes the perturbation.
func (t *Tolerance) About() string { return findLimited(t.Quantity).about }

// Text prints a magnitude of the quantity.
func (t *Tolerance) Text(v int64) string { return findLimited(t.Quantity).text(v) }
