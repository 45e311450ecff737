package search

import (
	"slices"

	"lockstep/checker"
	"lockstep/scenarios/play"
)

// An Agreement says how the blame of the checker and the replays compare.
type Agreement string

const (
	// Agrees: the assumption that is blamed is among Counterfactual; or the lock is blamed, and Counterfactual is empty.
	Agrees Agreement = "agrees"
	// InSpite: the lock is blamed, because the property must hold in spite of the necessary faults.
	InSpite Agreement = "in spite of the faults"
	// Follows: the lock is blamed, because it deleted or overwrote a key that it had to leave alone, and the violation may follow from
	// that.
	Follows Agreement = "follows from a misdeed of the lock"
	// Several: violations of the property are blamed on several assumptions. There is nothing to compare, because replays do not
	// tell the violations of a property apart.
	Several Agreement = "several causes"
	// Differs: none of these.
	Differs Agreement = "differs"
)

// misdeeds are properties whose violation may bring about others: a command of the lock harmed a key. Neither they nor the others in
// inSpite are excused by a broken assumption.
var (
	misdeeds = []checker.Property{checker.OwnerOnly, checker.NoLostVote}
	inSpite  = append(slices.Clip(misdeeds), checker.DeadlockFreedom, checker.FaultTolerance, checker.ExpiredOnReturn)
)

// excuses lists the assumptions that a property rests on: if another one is broken, the property must hold nevertheless, and a
// violation is the fault of the lock. Resource exclusion rests on all, but if the leases overlapped, the cause is that of the overlap. See
// docs/adr/0020-blame-is-counterfactual.md.
func (q *inquiry) excuses(p checker.Property) []checker.Assumption {
	overlapped := slices.Contains(q.base.Failing(), play.Failing{Property: checker.LeaseExclusion, Assumption: checker.None})
	switch {
	case slices.Contains(inSpite, p):
		return nil
	case p == checker.LeaseExclusion, p == checker.ResourceExclusion && overlapped:
		return []checker.Assumption{checker.BoundedClockError, checker.DurableNodes}
	}
	return checker.Assumptions()
}

// agreement compares the blame of the checker with the replays.
func (q *inquiry) agreement(c *Cause) Agreement {
	misdeed := slices.ContainsFunc(q.base.Failing(), func(f play.Failing) bool {
		return f.Assumption == checker.None && slices.Contains(misdeeds, f.Property)
	})
	if len(c.Blamed) > 1 {
		return Several
	}
	excuses := q.excuses(c.Property)
	switch blamed := c.Blamed[0]; {
	case slices.Contains(c.Counterfactual, blamed), blamed == checker.None && len(c.Counterfactual) == 0:
		return Agrees
	case blamed != checker.None:
		return Differs
	case !slices.ContainsFunc(c.Counterfactual, func(a checker.Assumption) bool { return slices.Contains(excuses, a) }):
		return InSpite
	case misdeed:
		return Follows
	}
	return Differs
}
