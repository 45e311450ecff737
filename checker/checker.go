// Package checker judges what happened in a run.
//
// It is a pure function of a history: it knows no lock, no Redis and no clock of its own, so that a newer checker can judge a
// saved history again. What a history shows, such as who held which lease when, is read by package [facts].
//
// A run whose faults did not bite, or whose dangerous states did not occur, proves nothing, and has the verdict UNKNOWN.
package checker

import (
	"fmt"
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// A Status says whether one property held in one run.
type Status string

const (
	OK       Status = "ok"
	Violated Status = "violated"
	Unknown  Status = "unknown"
)

// A Verdict is the outcome of a run.
type Verdict string

const (
	Safe         Verdict = "SAFE"
	Unsafe       Verdict = "UNSAFE"
	Inconclusive Verdict = "UNKNOWN"
)

// An Assumption is an assumption about the environment that did not hold in a run. Had it held, the violation would not have
// occurred. The bounds on pauses, clock errors and delays are the synchrony assumptions of Redlock (Kleppmann, "How to do
// distributed locking", 2016).
type Assumption string

const (
	BoundedPause      Assumption = "bounded pause"
	BoundedClockError Assumption = "bounded clock error"
	BoundedDelay      Assumption = "bounded delay"
	DurableNodes      Assumption = "durable nodes"
	None              Assumption = "none" // no assumption was broken: the lock is at fault
)

// Assumptions returns all assumptions, with None as the last.
func Assumptions() []Assumption {
	return []Assumption{BoundedPause, BoundedClockError, BoundedDelay, DurableNodes, None}
}

// A Violation is one breach of one property.
type Violation struct {
	Property   Property      `json:"property"`
	At         time.Duration `json:"at"`         // true time since the start of the run
	What       string        `json:"what"`       // one sentence with the clients, leases and times
	Assumption Assumption    `json:"assumption"` // the assumption that was broken
	Events     []int         `json:"events"`     // indices into History.Events that prove it, ascending
	// Missing is, for fault tolerance, the largest number of lock nodes that were out of reach at once.
	Missing int `json:"missing,omitempty"`
}

// A PropertyStatus is the status of one property.
type PropertyStatus struct {
	Property Property `json:"property"`
	Status   Status   `json:"status"`
}

// A Result is the result of [Check].
type Result struct {
	Verdict    Verdict          `json:"verdict"`
	Statuses   []PropertyStatus `json:"statuses"` // one for each property, in the order of [Properties]
	Violations []Violation      `json:"violations,omitempty"`
	Unmet      []string         `json:"unmet,omitempty"` // why the verdict is UNKNOWN; empty for any other verdict
	// RanOn says that the verdict is UNKNOWN because code ran while its client was paused. That may have caused the violations,
	// whatever assumption they name.
	RanOn bool `json:"ran_on,omitempty"`
	// OwnTime says that one reason in Unmet is that the lock uses package time, which faults cannot set and a pause does not
	// stop.
	OwnTime bool `json:"own_time,omitempty"`
	// Refused lists the commands that the lock sent and that redis-server has, but that simulated nodes do not have, or that the
	// proxy of a real server does not pass on. Then the verdict is UNKNOWN: with redis-server alone the lock would have gone on
	// differently.
	Refused []string `json:"refused,omitempty"`
	// Idle lists the faults that had no effect, as printed. Unmet has a reason for each of them.
	Idle []string `json:"idle,omitempty"`
}

// Status returns the status of p.
func (r Result) Status(p Property) Status {
	for _, s := range r.Statuses {
		if s.Property == p {
			return s.Status
		}
	}
	return Unknown
}

// Check judges what a history shows. It never panics: a history that contradicts itself is UNKNOWN, and Unmet says where.
//
// UNKNOWN outranks UNSAFE if the run was not the one described (a fault without effect, an unmet must, a cap), because then its
// violations are those of another run. A cap does not matter if a call never returned, or if a client asked in vain for a free lock.
// If a property cannot be judged, the run is UNKNOWN only if no other property is violated. The same applies to code that ran during a pause: a
// violation that it cannot have caused counts.
func Check(f *facts.Facts, musts []Must) Result {
	var r Result
	if err := f.Malformed; err != nil {
		for _, p := range Properties() {
			r.Statuses = append(r.Statuses, PropertyStatus{p, Unknown})
		}
		r.Verdict, r.Unmet = Inconclusive, []string{"malformed history: " + err.Error()}
		return r
	}

	ix := &index{Facts: f}
	var open []string // why properties could not be judged
	for _, p := range Properties() {
		found, unknown := ruleOf(p).judge(ix)
		if len(found) == 0 && unknown == "" {
			unknown = unjudged(ix, p)
		}
		status := OK
		switch {
		case len(found) > 0:
			status = Violated
		case unknown != "":
			status = Unknown
			open = append(open, fmt.Sprintf("%s: %s", p, unknown))
		}
		r.Statuses = append(r.Statuses, PropertyStatus{p, status})
		r.Violations = append(r.Violations, found...)
	}

	ranOn := r.dropTainted(ix)
	r.RanOn = len(ranOn) > 0
	r.Refused = ix.refused()
	r.Idle = ix.idle()
	r.Unmet = append(ranOn, unmet(ix, musts)...)
	r.OwnTime = r.RanOn || slices.ContainsFunc(ix.neverBit(), ix.setsUnreadClock)
	switch {
	case len(r.Unmet) > 0:
		r.Verdict = Inconclusive
	case len(r.Violations) > 0:
		r.Verdict = Unsafe
	case len(open) > 0:
		r.Verdict, r.Unmet = Inconclusive, open
	default:
		r.Verdict = Safe
	}
	return r
}

// refused lists the commands that Lockstep refused.
func (ix *index) refused() (commands []string) {
	for _, e := range ix.Events {
		if e.Kind == history.State && e.Op == history.Refuse && !slices.Contains(commands, e.Value) {
			commands = append(commands, e.Value)
		}
	}
	return commands
}

// proof returns the indices of events sorted, without duplicates and without -1.
func proof(events ...int) []int {
	slices.Sort(events)
	events = slices.Compact(events)
	return slices.DeleteFunc(events, func(i int) bool { return i < 0 })
}
