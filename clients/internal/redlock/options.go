// Package redlock defines in which ways one Redlock can differ from another.
package redlock

import (
	"math/rand/v2"
	"time"
)

// Options are choices of an implementation. The zero value is Redlock with every safeguard. Options that remove one are for the
// broken locks; code outside this module cannot set them, because it cannot import this package.
type Options struct {
	Sequential bool // the nodes are asked in turn
	Wall       bool // elapsed time is measured on the wall clock
	Extendable bool // leases can be extended

	// Timeout is how long to wait for one node: once to connect, and once for each reply. Zero means 50 ms, and a negative value
	// no limit.
	Timeout time.Duration
	// Delay draws the delay between two tries. Nil means a uniform distribution from 200 to 400 ms.
	Delay func(*rand.Rand) time.Duration
	// Drift is the allowance for clock drift for a TTL. Nil means one per cent and 2 ms.
	Drift func(ttl time.Duration) time.Duration
	// Quorum is how many grants make a lease, if so many of so many nodes have answered. Nil means a majority of the nodes.
	Quorum func(nodes, answered int) int

	// AnyElapsed removes the check that acquiring has left some of the lease.
	AnyElapsed bool
	// FromReturn makes the lease count from the last reply instead of from before the first request.
	FromReturn bool
	// ReleaseGranted releases the lock only on nodes that granted it as far as the client knows.
	ReleaseGranted bool
	// Recreate makes an extension set the key even if it is gone, or the lease is over.
	Recreate bool
	// Instants gives keys a deadline by the client's wall clock instead of a TTL.
	Instants bool
}
