package search

import (
	"slices"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	lacking "lockstep/clients/broken"
	"lockstep/scenarios/script"
)

// A hunt is a setting in which a search is to find what a lock lacks, by itself: a violation of the property in a run in which
// the proper lock does not violate it.
type hunt struct {
	lacks    string // as in safeguards
	lock     string // that lacks it
	proper   string
	shape    Shape         // but for the lock
	resource string        // of the broken lock, where that is what it lacks; empty: that of the shape
	kinds    []script.Kind // which the proper lock survives, as to the property
	property checker.Property
	bound    int    // how many perturbations a bounded search needs; 0 if the calm run shows it
	beyond   string // why no search finds it; empty if one does
}

// bounded are the kinds that Redlock survives as to lease exclusion, whose proof assumes durable nodes and clocks that run at the same rate.
var bounded = []script.Kind{script.Delaying, script.Losing, script.LateWrite, script.SlowLink, script.Cutting, script.Parting, script.Pausing, script.Dying, script.Stalling, script.Crashing}

var hunts = []hunt{
	{lacks: "the elapsed check", lock: "redlock-no-elapsed-check", proper: "redlock", property: checker.ExpiredOnReturn,
		shape: Shape{Nodes: 3}, kinds: bounded, bound: 1},
	{lacks: "a majority of the nodes", lock: "redlock-half-quorum", proper: "redlock", property: checker.LeaseExclusion,
		shape: Shape{Nodes: 3}, kinds: bounded, bound: 1},
	{lacks: "a quorum of all nodes", lock: "redlock-reachable-quorum", proper: "redlock", property: checker.LeaseExclusion,
		shape: Shape{Nodes: 3}, kinds: bounded, bound: 1},
	{lacks: "the allowance for drift", lock: "redlock-no-drift", proper: "redlock", property: checker.LeaseExclusion,
		shape: Shape{Nodes: 3}, kinds: []script.Kind{script.Drifting, script.Pausing}, bound: 2},
	{lacks: "an extension that only extends", lock: "redlock-recreating-extension", proper: "redlock-extend", property: checker.LeaseExclusion,
		shape: Shape{Nodes: 3, Extend: true}, kinds: bounded, bound: 1},
	{lacks: "a release that compares", lock: "single-uncompared", proper: "single", property: checker.OwnerOnly,
		shape: Shape{}, kinds: bounded, bound: 1},
	{lacks: "one counter for all clients", lock: "fenced-per-client", proper: "fenced", property: checker.Tokens,
		shape: Shape{Resource: script.Fenced}, kinds: bounded, bound: 0},
	{lacks: "a resource that compares", lock: "fenced", proper: "fenced", property: checker.ResourceExclusion,
		shape: Shape{Resource: script.Fenced}, resource: script.Plain, kinds: bounded, bound: 1},
	{lacks: "WAIT on its own connection", lock: "single-wait-elsewhere", proper: "single-wait", property: checker.LeaseExclusion,
		shape: Shape{Replicas: 2}, kinds: []script.Kind{script.Cutting, script.Parting, script.Pausing, script.FailingOver}, bound: 2},
	{lacks: "a release to all nodes", lock: "redlock-release-granted", proper: "redlock", property: checker.FaultTolerance,
		shape: Shape{Nodes: 3}, kinds: bounded, bound: 2},
	{lacks: "a timeout for one node", lock: "redlock-no-timeout", proper: "redlock", property: checker.FaultTolerance,
		shape: Shape{Nodes: 3}, kinds: bounded, bound: 1},
	{lacks: "a random retry delay", lock: "redlock-fixed-delay", proper: "redlock", property: checker.FaultTolerance,
		shape: Shape{Nodes: 3}, kinds: bounded, bound: 2},
	{lacks: "validity from the request", lock: "redlock-ttl-from-return", proper: "redlock", property: checker.LeaseExclusion,
		shape: Shape{Nodes: 3, TTL: 100 * time.Millisecond}, kinds: []script.Kind{script.SlowLink, script.Pausing, script.Stalling}, bound: 1},
	{lacks: "a random token", lock: "single-usec", proper: "single", property: checker.OwnerOnly,
		shape: Shape{}, kinds: append(slices.Clone(bounded), script.ClientJumping),
		beyond: "two clocks would have to show the same microsecond, and no perturbation is made to measure"},
}

// broken returns the calm run of the lock that lacks something, and how it is built.
func (h hunt) broken(t testing.TB) (*script.Scenario, clients.New) {
	s := h.shape
	if h.resource != "" {
		s.Resource = h.resource
	}
	return calmOf(t, s, h.lock)
}

// whole returns the same for the lock that has it.
func (h hunt) whole(t testing.TB) (*script.Scenario, clients.New) {
	return calmOf(t, h.shape, h.proper)
}

func calmOf(t testing.TB, s Shape, lock string) (*script.Scenario, clients.New) {
	t.Helper()
	s.Lock = lock
	calm, err := s.Calm()
	if err != nil {
		t.Fatal(err)
	}
	return calm, findLock(t, lock)
}

// There is a hunt for each broken lock.
func TestHuntsAreForAll(t *testing.T) {
	for _, l := range lacking.Locks() {
		if !slices.ContainsFunc(hunts, func(h hunt) bool { return h.lock == l.Name }) {
			t.Errorf("no hunt for %s", l.Name)
		}
	}
}
