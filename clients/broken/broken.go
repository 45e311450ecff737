// Package broken has locks that each lack one safeguard, and are otherwise as those of package clients. They prove that the
// checker sees what is missing: every one of them must turn a verdict of some scenario. It is for tests only. One more,
// with a token from a microsecond clock, is a lock of the literature: single-usec. Twins are wrong in other ways.
package broken

import "lockstep/clients"

// Locks lists the broken locks.
func Locks() []clients.Lock {
	return []clients.Lock{
		fencePerClient,
		releaseUncompared,
		noElapsedCheck,
		halfQuorum,
		reachableQuorum,
		noDrift,
		recreatingExtension,
		waitElsewhere,
		releaseGranted,
		noTimeout,
		fixedDelay,
		ttlFromReturn,
	}
}
