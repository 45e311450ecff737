package checker

import (
	"slices"

	"lockstep/sim/history"
)

// A Property is a property that a lock should have in every run.
type Property string

const (
	LeaseExclusion    Property = "lease exclusion"    // at no instant of true time do two clients hold the lock
	ResourceExclusion Property = "resource exclusion" // no write under a lease is accepted once a newer lease has been granted
	ExpiredOnReturn   Property = "expired on return"  // no Acquire returns a lease that is already over
	NoLostUpdate      Property = "no lost update"     // every acknowledged increment or update is in the final value, or was replaced by whoever had the right to
	OwnerOnly         Property = "owner only"         // no command of one client touches a living key that another client owns
	Tokens            Property = "tokens"             // fencing tokens are unique and grow with the grants
	DeadlockFreedom   Property = "deadlock freedom"   // from one TTL after the last fault, whoever asks for a free lock gets it, the probe too; and no release or extension hangs
	FaultTolerance    Property = "fault tolerance"    // while enough nodes are up and in reach and nobody holds, somebody acquires soon
	NoLostVote        Property = "no lost vote"       // no client deletes, overwrites or shortens the life of a key of its own lease while it relies on the lease
)

// A rule is how a property is judged.
type rule struct {
	property Property
	// judge returns the violations, or else the reason why the property cannot be judged.
	judge func(ix *index) (found []Violation, unknown string)
	// prompt says that a violation is one from the moment at which it occurs: it is neither about the end of a run, nor about what
	// did not happen in time.
	prompt bool
	// lacks returns which events a history lacks without which nothing could violate the property, or "" if it has them.
	lacks func(ix *index) string
}

// rules has the properties, in the order in which they are reported. A new one is a constant, a row here, a case in
// checker/explain/explain.go, and a sentence each in scenarios/script/headline.go and reports/debate/debate.go.
var rules = []rule{
	{LeaseExclusion, certain(leaseExclusion), true, noLease},
	{ResourceExclusion, certain(resourceExclusion), true, noWrite},
	{ExpiredOnReturn, certain(expiredOnReturn), true, noLease},
	{NoLostUpdate, certain(noLostUpdate), false, noUpdate},
	{OwnerOnly, certain(ownerOnly), true, noKey},
	{Tokens, certain(tokens), true, noLease},
	{DeadlockFreedom, deadlockFreedom, false, func(*index) string { return "" }}, // judge reports it
	{FaultTolerance, certain(faultTolerance), false, noAsk},
	{NoLostVote, certain(noLostVote), true, noKey},
}

// Properties returns all properties, in the order in which they are reported.
func Properties() []Property {
	var all []Property
	for _, r := range rules {
		all = append(all, r.property)
	}
	return all
}

// ruleOf returns the rule of a property.
func ruleOf(p Property) rule {
	return rules[slices.IndexFunc(rules, func(r rule) bool { return r.property == p })]
}

// certain makes a judge of one that can always tell.
func certain(judge func(ix *index) []Violation) func(*index) ([]Violation, string) {
	return func(ix *index) ([]Violation, string) { return judge(ix), "" }
}

// unjudged returns why a property cannot be judged by a foreign history: the history has no event of the kind that could violate
// it. Lockstep records everything. In a foreign history, either nothing happened or it was not recorded.
func unjudged(ix *index, p Property) string {
	if !ix.Foreign {
		return ""
	}
	return ruleOf(p).lacks(ix)
}

func noLease(ix *index) string {
	if len(ix.Leases) == 0 {
		return "no acquire hands out a lease"
	}
	return ""
}

func noWrite(ix *index) string {
	resource := func(e history.Event) bool {
		return e.Kind == history.State && ix.Groups[e.Process] == "" && !ix.Servers[e.Process]
	}
	if len(ix.Leases) == 0 || !ix.some(func(_ int, e history.Event) bool { return resource(e) && e.Lease != "" }) {
		return "the history has no event of the resource under a lease"
	}
	return ""
}

func noUpdate(ix *index) string {
	if !ix.some(func(_ int, e history.Event) bool { return e.Op == history.Increment || e.Op == history.Update }) {
		return "nobody increments or updates anything"
	}
	return ""
}

func noKey(ix *index) string {
	if len(ix.Lives) == 0 {
		return "no key of a lease is set on a node"
	}
	return ""
}

func noAsk(ix *index) string {
	if ix.Meta.TTL <= 0 || len(ix.Meta.Nodes) == 0 {
		return "the first line names no TTL, or no nodes"
	}
	if len(ix.asks()) == 0 {
		return "nobody asks for the lock"
	}
	return ""
}
