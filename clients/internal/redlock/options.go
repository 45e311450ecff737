// Package redlock says in which ways one Redlock can differ from another.
package redlock

import (
	"math/rand/v2"
	"time"
)

// Options are choices of an implementation. The zero value is Redlock with every safeguard; what takes one away is for the
// broken locks, and cannot be reached from outside, because nobody else can import this package.
type Options struct {
	Sequential bool // the nodes are asked in turn
	Wall       bool // elapsed time is measured on the wall clock
	Extendable bool // leases can be extended

	// Timeout is how long one node is waited for: once to connect, and once for each reply. Zero means 50 ms, less than that
	// for ever.
	Timeout time.Duration
	// Delay draws the delay between two tries. Nil means 200 to 400 ms, evenly distributed.
	Delay func(*rand.Rand) time.Duration
	// Drift is the allowance for drift of a TTL. Nil means one per cent and 2 ms.
	Drift func(ttl time.Duration) time.Duration
	// Quorum is how many grants make a lease, with so many nodes of which so many answered. Nil means a majority of the nodes.
	Quorum func(nodes, answered int) int

	// AnyElapsed takes the check away whether acquiring left anything of the lease.
	AnyElapsed bool
	// FromReturn has the lease count from the last reply instead of from before the first request.
	FromReturn bool
	// ReleaseGranted has only those nodes asked to release which granted the lease as far as the client knows.
	ReleaseGranted bool
	// Recreate has an extension set the key whatever became of it and of the lease.
	Recreate bool
	// Instants has keys end at an instant by the client's wall clock, instead of after a TTL.
	Instants bool
}
