// Package checker says whether what happened in a run was right.
//
// It is a pure function of a history: it knows no lock, no Redis and no clock of its own, so that a saved history can be
// judged again by a newer checker. Everything is defined by events, never by what a lock chooses to say about itself.
//
//   - A lease is granted by the node event that completes the last majority of nodes with its key before Acquire returns.
//     A key that is gone is no vote any more, so that tries under one token do not add up. That is the order of grants: a
//     reply that is held for 12 s does not make its receiver the newer holder. What a client sets on a promoted replica is
//     a vote of the node that it took the place of; what comes by replication is nobody's vote.
//   - A client holds from the return of Acquire until it invokes Release, crashes, exits, is told that the lease is lost,
//     or its own steady clock reads the end of the lease, whichever comes first. An extension in time puts that end off;
//     one that comes too late begins another hold of the same lease.
//
// A run whose faults did not bite, or whose dangerous states did not occur, proves nothing, and gets the verdict UNKNOWN.
package checker

import (
	"fmt"
	"slices"
	"time"

	"lockstep/sim/history"
)

// A Property is one thing that a lock promises.
type Property string

const (
	LeaseExclusion    Property = "lease exclusion"    // at no instant of true time do two clients hold the lock
	ResourceExclusion Property = "resource exclusion" // no write under a lease is accepted once a newer lease was granted
	ExpiredOnReturn   Property = "expired on return"  // no Acquire hands out a lease that is already over
	NoLostUpdate      Property = "no lost update"     // every acknowledged increment or update is in the final value, or was replaced by whoever had the right to
	OwnerOnly         Property = "owner only"         // no client's command touches a living key that another client owns
	Tokens            Property = "tokens"             // fencing tokens are unique and grow with the grants
	DeadlockFreedom   Property = "deadlock freedom"   // after everything has healed, a fresh client acquires
	FaultTolerance    Property = "fault tolerance"    // while enough nodes are up and in reach, somebody acquires in good time
)

// Properties returns all properties, in the order in which they are reported.
func Properties() []Property {
	return []Property{
		LeaseExclusion, ResourceExclusion, ExpiredOnReturn, NoLostUpdate, OwnerOnly, Tokens, DeadlockFreedom, FaultTolerance,
	}
}

// A Status is what became of one property in one run.
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

// An Assumption is a promise of the environment that a run broke. Had it been kept, the violation would not have occurred. The
// bounds on pauses, clock errors and delays are the synchrony assumptions of Redlock (Kleppmann, "How to do distributed locking",
// 2016).
type Assumption string

const (
	BoundedPause      Assumption = "bounded pause"
	BoundedClockError Assumption = "bounded clock error"
	BoundedDelay      Assumption = "bounded delay"
	DurableNodes      Assumption = "durable nodes"
	None              Assumption = "none" // the environment kept its promises: the lock is at fault
)

// Assumptions returns all assumptions, with None as the last.
func Assumptions() []Assumption {
	return []Assumption{BoundedPause, BoundedClockError, BoundedDelay, DurableNodes, None}
}

// A Violation is one breach of one property.
type Violation struct {
	Property   Property      `json:"property"`
	At         time.Duration `json:"at"`         // true time since the start of the run
	What       string        `json:"what"`       // one sentence that names clients, leases and times
	Assumption Assumption    `json:"assumption"` // the assumption that the run broke
	Events     []int         `json:"events"`     // indices into History.Events that prove it, ascending
	// Missing is, for fault tolerance, how many lock nodes were out of reach at once, at most.
	Missing int `json:"missing,omitempty"`
}

// A PropertyStatus is the status of one property.
type PropertyStatus struct {
	Property Property `json:"property"`
	Status   Status   `json:"status"`
}

// A Result is what [Check] found.
type Result struct {
	Verdict    Verdict          `json:"verdict"`
	Statuses   []PropertyStatus `json:"statuses"` // one for each property, in the order of [Properties]
	Violations []Violation      `json:"violations,omitempty"`
	Unmet      []string         `json:"unmet,omitempty"` // why the verdict is UNKNOWN; empty for any other verdict
	// RanOn says that the verdict is UNKNOWN because code ran on while its client was paused. Then the violations may be due
	// to that, whatever they say was broken.
	RanOn bool `json:"ran_on,omitempty"`
	// OwnTime says that one reason in Unmet is that the lock uses package time, which cannot be set and does not stop in a pause.
	OwnTime bool `json:"own_time,omitempty"`
	// Idle lists the faults that never bit, as printed. For each of them there is a reason in Unmet.
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

// Check judges a history. It never panics: a history that contradicts itself is UNKNOWN, and Unmet says where.
//
// UNKNOWN outranks UNSAFE where the run itself did not do what it was meant to (an idle fault, an unmet must, a cap),
// since then even a violation is one of another run than the one described. A property that has nothing to go by is
// weaker: it makes a run UNKNOWN only if no other property is violated. So is code that ran on while it was paused: a violation
// that it had no part in stands.
func Check(h *history.History, musts []Must) Result {
	var r Result
	if err := WellFormed(h); err != nil {
		for _, p := range Properties() {
			r.Statuses = append(r.Statuses, PropertyStatus{p, Unknown})
		}
		r.Verdict, r.Unmet = Inconclusive, []string{"malformed history: " + err.Error()}
		return r
	}

	ix := newIndex(h)
	var open []string // why properties are unknown
	for _, p := range Properties() {
		found, unknown := judge(ix, p)
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

// judge returns the violations of p, or else the reason why nothing can be said about it.
func judge(ix *index, p Property) (found []Violation, unknown string) {
	switch p {
	case LeaseExclusion:
		return leaseExclusion(ix), ""
	case ResourceExclusion:
		return resourceExclusion(ix), ""
	case ExpiredOnReturn:
		return expiredOnReturn(ix), ""
	case NoLostUpdate:
		return noLostUpdate(ix), ""
	case OwnerOnly:
		return ownerOnly(ix), ""
	case Tokens:
		return tokens(ix), ""
	case DeadlockFreedom:
		return deadlockFreedom(ix)
	case FaultTolerance:
		return faultTolerance(ix), ""
	}
	panic("checker: no such property: " + string(p))
}

// proof puts the indices of events in order, without the repetitions and without the -1 that stands for no event.
func proof(events ...int) []int {
	slices.Sort(events)
	events = slices.Compact(events)
	return slices.DeleteFunc(events, func(i int) bool { return i < 0 })
}
