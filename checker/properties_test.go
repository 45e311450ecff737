package checker

import (
	"testing"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
)

// TestUnjudged: a property is not judged in a foreign history without events that could break it.
func TestUnjudged(t *testing.T) {
	const lease = "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n"
	for _, test := range []struct {
		property    Property
		story, want string
	}{
		{LeaseExclusion, "0 c1 invoke acquire\n1 c1 fail acquire", "no acquire hands out a lease"},
		{ExpiredOnReturn, "", "no acquire hands out a lease"},
		{Tokens, "", "no acquire hands out a lease"},
		{LeaseExclusion, lease, ""},
		{ResourceExclusion, "1 resource accept A c1#1", "the history has no event of the resource under a lease"},
		{ResourceExclusion, lease, "the history has no event of the resource under a lease"},
		{ResourceExclusion, lease + "1 resource accept A", "the history has no event of the resource under a lease"},
		{ResourceExclusion, lease + "1 resource accept A c1#1", ""},
		{ResourceExclusion, lease + "1 resource reject A c1#1", ""},
		{NoLostUpdate, lease + "1 c1 invoke write A c1#1", "nobody increments or updates anything"},
		{NoLostUpdate, "1 c1 invoke increment", ""},
		{NoLostUpdate, "1 c1 invoke update A", ""},
		{OwnerOnly, "0 c1 invoke acquire\n0.2 c1 ok acquire c1#1 until=10", "no key of a lease is set on a node"},
		{OwnerOnly, lease, ""},
		{FaultTolerance, "ttl 0\n0 c1 invoke acquire", "the first line names no TTL, or no nodes"},
		{FaultTolerance, "nodes 0\n0 c1 invoke acquire", "the first line names no TTL, or no nodes"},
		{FaultTolerance, "1 c1 invoke write A", "nobody asks for the lock"},
		{FaultTolerance, "0 c1 invoke acquire", ""},
		{DeadlockFreedom, "", ""},
	} {
		h := handmade.History(t, test.story)
		if got := unjudged(&index{Facts: facts.Of(h)}, test.property); got != "" {
			t.Errorf("%s, of a history of Lockstep: %q", test.property, got)
		}
		h.Foreign = true
		if got := unjudged(&index{Facts: facts.Of(h)}, test.property); got != test.want {
			t.Errorf("%s of %q: %q, want %q", test.property, test.story, got, test.want)
		}
	}
}
