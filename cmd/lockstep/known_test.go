package main

import (
	"testing"

	"lockstep/clients"
	"lockstep/clients/libraries"
)

// A library has the workloads of the lock that it is like. A lock of the literature has its own: a watchdog is like single, and still
// works beyond its TTL.
func TestKindOfLock(t *testing.T) {
	k := known{locks: clients.Locks(), libraries: libraries.Locks()}
	for lock, want := range map[string]string{"redsync": "redlock", "redislock": "single", "watchdog": "watchdog", "redlock": "redlock"} {
		if got := k.kind(lock); got != want {
			t.Errorf("the workloads of %s are those of %s, want %s", lock, got, want)
		}
	}
}
