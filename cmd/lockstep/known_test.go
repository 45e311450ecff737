package main

import (
	"slices"
	"testing"

	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/scenarios/search"
)

// A library has the workloads of all locks that it is like, and in each workload it is compared with the first lock that the
// workload suits: rueidislock is like single and renews its leases. A lock of the literature has its own workloads: a watchdog is
// like single, and still works beyond its TTL.
func TestWorkloadsOfLock(t *testing.T) {
	k := known{locks: clients.Locks(), libraries: libraries.Locks()}
	for _, test := range []struct {
		lock       string
		workloads  []search.Workload
		references []string
	}{
		{"redsync", []search.Workload{search.Once, search.Again, search.Short, search.Late, search.Resize}, []string{"redlock", "redlock", "redlock", "redlock", "redlock"}},
		{"redislock", []search.Workload{search.Once, search.Again, search.Short, search.Late, search.Resize}, []string{"single", "single", "single", "single", "single"}},
		{"rueidislock", []search.Workload{search.Once, search.Again, search.Short, search.Late, search.Beyond, search.Resize}, []string{"single", "single", "single", "single", "watchdog", "single"}},
		{"watchdog", []search.Workload{search.Once, search.Again, search.Short, search.Beyond}, nil},
		{"redlock", []search.Workload{search.Once, search.Again, search.Short, search.Late, search.Resize}, nil},
	} {
		var workloads []search.Workload
		var references []string
		for _, s := range (search.Shape{}).Each(k.kinds(test.lock)...) {
			workloads = append(workloads, s.Workload)
			if lib, ok := k.library(test.lock); ok {
				references = append(references, nearest(lib.Like, s.Workload))
			}
		}
		if !slices.Equal(workloads, test.workloads) || !slices.Equal(references, test.references) {
			t.Errorf("%s is explored with %q, compared with %q; want %q and %q", test.lock, workloads, references, test.workloads, test.references)
		}
	}
}
