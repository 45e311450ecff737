package checker

import (
	"lockstep/sim/history"
)

// unjudged returns why a property cannot be judged by a foreign history: the history has no event of the kind that could violate
// it. Lockstep records everything. In a foreign history, either nothing happened or it was not recorded.
func unjudged(ix *index, p Property) string {
	if !ix.Foreign {
		return ""
	}
	resource := func(e history.Event) bool {
		return e.Kind == history.State && ix.groups[e.Process] == "" && !ix.servers[e.Process]
	}
	switch p {
	case LeaseExclusion, ExpiredOnReturn, Tokens:
		if len(ix.leases) == 0 {
			return "no acquire hands out a lease"
		}
	case ResourceExclusion:
		if len(ix.leases) == 0 || !ix.some(func(_ int, e history.Event) bool { return resource(e) && e.Lease != "" }) {
			return "nothing reaches the resource under a lease"
		}
	case NoLostUpdate:
		if !ix.some(func(_ int, e history.Event) bool { return e.Op == history.Increment || e.Op == history.Update }) {
			return "nobody increments or updates anything"
		}
	case OwnerOnly:
		if len(ix.lives) == 0 {
			return "no key of a lease is set on a node"
		}
	case FaultTolerance:
		if ix.Meta.TTL <= 0 || len(ix.Meta.Nodes) == 0 {
			return "the first line names no TTL, or no nodes"
		}
		if len(ix.asks()) == 0 {
			return "nobody asks for the lock"
		}
	}
	return "" // deadlock freedom reports this itself
}
