// Package sound has correct locks that look suspicious: they do in an unusual way what the locks of package clients do in the usual
// one. They prove that a tool does not cry wolf. It is for tests only.
package sound

import "lockstep/clients"

// Locks lists the locks. Each keeps what the lock keeps that it is like.
func Locks() []clients.Lock {
	return []clients.Lock{
		published,
		hash,
		shortHash,
		watched,
		verified,
		counted,
		connections,
		margin,
		patient,
		renewed,
		renewedRedlock,
		renewedWaiting,
		newToken,
		shuffled,
		askedTwice,
		queue,
		subscribed,
		signalled,
		shortToken,
		shortMember,
		drawnNumber,
		twoIDs,
		intent,
		keptHash,
		lastHolder,
	}
}

// Waiting lists correct locks whose goroutines wait for a mutex that another holds while it waits for the network. Virtual time then
// stands still in a native run, so they can be played only in worker processes, which give such a run up.
func Waiting() []clients.Lock { return []clients.Lock{mutex, channel, shared} }
