package play

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A Promise is what is claimed of a lock in a run.
type Promise struct {
	As       []script.Section // the runs of the catalogue whose place this one takes; it has to keep what each of them keeps
	Survives []checker.Assumption
	Needs    []checker.Assumption
	Exact    bool   // the expectations of the run decide, including expected violations
	Known    string // why the claim is known to be broken; empty if it is not
	// Earlier, if it is not nil, is the result that has to come again, and decides instead of the claim. If it has no verdict,
	// nothing was expected to come, and any result is a change.
	Earlier *checker.Result
}

// A BrokenClaim is a violation that breaks a claim.
type BrokenClaim struct {
	checker.Violation
	Claim string // what is claimed, as the end of "the claim is that the lock ..."
}

// Broken lists the violations that break the claim about the lock: the claim made by the options of
// [lockstep/scenarios.Run] or, for an outcome of [RunAll] or [Simulate], that the lock keeps what the run expects it to
// keep.
//
// A violation for which the environment broke no assumption is the lock's own fault. It breaks the claim even in a run
// that otherwise proves nothing, unless the reason is that code kept running during a pause, or that the lock sent a command that
// Lockstep does not simulate: then that may have caused the violation. In such a run a violation of fault tolerance counts
// only if there was no fault. The same applies to violations that the lock is claimed to survive. A lock
// that set no key because the run is about the shard of another key has broken nothing either, nor has one whose client works for longer than its
// lease, or does not learn that its key is gone, because the lock cannot extend it.
//
// A violation that is like one of lease exclusion ([checker.LikeLeaseExclusion]) counts as that one does.
func (o *Outcome) Broken() []BrokenClaim {
	if len(o.Result.Violations) == 0 || o.elsewhere() {
		return nil
	}
	var broken []BrokenClaim
	short := o.Inapplicable() != ""
	for _, v := range o.Result.Violations {
		if short && (v.Property == checker.ResourceExclusion || v.Assumption != checker.None) {
			continue
		}
		if claim := o.promised(v); claim != "" {
			broken = append(broken, BrokenClaim{v, claim})
		}
	}
	return broken
}

// Failed reports whether [lockstep/scenarios.Test] would fail with this outcome: a claim is broken, or the run did not
// end by itself.
func (o *Outcome) Failed() bool { return o.Standing() >= Failed }

// promised returns the claim that a violation breaks; empty if none.
func (o *Outcome) promised(v checker.Violation) string {
	keeps := o.keeper(v)
	switch {
	case o.Result.RanOn, len(o.Result.Refused) > 0:
		return ""
	case v.Property == checker.FaultTolerance && o.Result.Verdict == checker.Inconclusive && o.faulty():
		return "" // the fault may have hit the lock at another point than the reference, where the reference might make others wait, too
	case v.Assumption == checker.None && keeps != "":
		return "keeps this as long as no assumption breaks, as " + keeps + " does here"
	case slices.Contains(o.Promise.Survives, v.Assumption):
		return fmt.Sprintf("survives a breach of %s", v.Assumption)
	case slices.Contains(o.Promise.Needs, v.Assumption), o.Result.Verdict == checker.Inconclusive, keeps == "":
		return ""
	}
	return "is as good as " + keeps + ", which keeps it here"
}

// faulty reports whether a fault was injected.
func (o *Outcome) faulty() bool {
	return o.History == nil || slices.ContainsFunc(o.History.Events, func(e history.Event) bool { return e.Kind == history.Injected && e.Op != "heal" })
}

// references are the runs whose place this one takes, or else the run itself.
func (o *Outcome) references() []script.Section {
	if len(o.Promise.As) == 0 {
		return []script.Section{o.Run}
	}
	return o.Promise.As
}

// keeper names a reference that is not expected to have a violation; empty if all are. A reference that is expected to violate a
// property because of an assumption is not expected to violate it without one.
func (o *Outcome) keeper(v checker.Violation) string {
	for _, r := range o.references() {
		if v.Property == checker.Tokens && v.Assumption != checker.None && r.Reference() != o.Run.Lock && r.Reference() != "fenced" {
			continue // another lock, without tokens that could go wrong
		}
		if checker.LikeLeaseExclusion(v.Property, v.Assumption) && r.Expectation(checker.LeaseExclusion).Assumption == v.Assumption {
			continue
		}
		e := r.Expectation(v.Property)
		if e.Status == checker.OK || v.Assumption == checker.None && e.Assumption != "" && e.Assumption != checker.None {
			return r.Reference()
		}
	}
	return ""
}

// Standing compares an outcome with what is claimed.
type Standing int

const (
	Safe          Standing = iota
	AsOthers               // UNSAFE, as each reference, or as before
	Allowed                // UNSAFE, unlike some reference, but Needs allows it
	NotApplicable          // see [Outcome.Inapplicable]
	Unproved               // it proves nothing
	Known                  // a claim is broken, and is known to be
	Failed                 // the run did not end; this value and those after it fail a test
	TooBig                 // it was ended because it used too much memory
	NotRun                 // skipped, because it would most likely not have ended either; those before it have failed the test
	Broke                  // a claim is broken
	Other                  // not what a file expects, or what is known
)

// Standing compares the outcome with what is claimed of the lock.
func (o *Outcome) Standing() Standing {
	s := o.standing()
	switch {
	case o.Promise.Known == "" || s >= Failed && s != Broke:
		return s
	case s == Broke:
		return Known
	}
	return Other
}

// standing is [Outcome.Standing] if nothing is known.
func (o *Outcome) standing() Standing {
	earlier := o.Promise.Earlier
	switch {
	case o.NotRun:
		return NotRun
	case o.Report != nil && o.Report.Memory:
		return TooBig
	case o.Report != nil:
		return Failed
	case o.Promise.Exact && o.Surprising():
		return Other
	case earlier != nil && len(o.Result.Changes(*earlier)) > 0:
		return Other
	case !o.Promise.Exact && earlier == nil && len(o.Broken()) > 0:
		return Broke
	case o.Inapplicable() != "":
		return NotApplicable
	case o.Result.Verdict == checker.Inconclusive:
		return Unproved
	case o.Result.Verdict == checker.Safe:
		return Safe
	case earlier != nil:
		return AsOthers
	}
	for _, v := range o.Result.Violations {
		if o.keeper(v) != "" {
			return Allowed
		}
	}
	return AsOthers
}

// Proves reports whether a run with this standing has proved something about the lock.
func (s Standing) Proves() bool {
	return s == Safe || s == AsOthers || s == Allowed || s == Known || s == Broke || s == Other
}

// Word returns the word in the table: at most 11 columns.
func (s Standing) Word() string {
	return [...]string{"kept", "kept", "not claimed", "n/a", "unproved", "known", "DID NOT END", "MEMORY", "NOT RUN", "BROKEN", "UNEXPECTED"}[s]
}

// Surprising reports whether an outcome differs from what its run expects.
func (o *Outcome) Surprising() bool {
	return len(o.Unexpected()) > 0 || o.Result.Verdict == checker.Inconclusive && o.ExpectedVerdict() != checker.Inconclusive
}

// Complain describes which claims an outcome breaks: the first violation of each property, and what is known to help.
func (o *Outcome) Complain() string {
	var b strings.Builder
	broken := o.Broken()
	for _, p := range checker.Properties() {
		of := slices.DeleteFunc(slices.Clone(broken), func(c BrokenClaim) bool { return c.Property != p })
		if len(of) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s violated: %s\n", p, of[0].What)
		if of[0].Assumption == checker.None {
			fmt.Fprintf(&b, "  no assumption about the environment was broken\n")
		} else {
			fmt.Fprintf(&b, "  the assumption broken with it: %s\n", of[0].Assumption)
		}
		fmt.Fprintf(&b, "  the claim is that the lock %s\n", of[0].Claim)
		if n := len(of) - 1; n > 0 {
			fmt.Fprintf(&b, "  (and %d more)\n", n)
		}
		if cure := cureFor(o.History, of[0].Violation, o.Scenario.Name); cure != "" {
			fmt.Fprintf(&b, "  what helps: %s\n", cure)
		}
	}
	return b.String()
}
