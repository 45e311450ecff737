// Package broken has locks with a mistake. They are otherwise as those of package clients, and prove that the checker sees what is
// wrong. It is for tests only.
//
// [Locks] each lack one safeguard: every one of them must turn a verdict of some scenario. One more, with a token from a
// microsecond clock, is a lock of the literature: single-usec. [Twins] are wrong in other ways. Those in [Mistakes] each make a mistake that people make.
package broken

import (
	"slices"

	"lockstep/clients"
)

// Locks lists the locks that lack a safeguard.
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

// Mistakes lists locks with one mistake each that people make. Most do harm only in a certain situation: their docstrings say which,
// and clients/mistakes_test.go has a story for each.
func Mistakes() []clients.Lock { return slices.Concat(blind(), added()) }

// blind lists the locks that were written without looking at the scenarios, to measure how many of them are caught.
func blind() []clients.Lock {
	return []clients.Lock{
		exMilliseconds,
		finallyDeletes,
		extendXX,
		extendGet,
		counterToken,
		clientToken,
		timeoutIsOurs,
		errorIsRefusal,
		pipelinedExpire,
		lateWatch,
		zsetRank,
		staleCleanup,
		reentrant,
		timerLeft,
		releaseToldOK,
		releaseForce,
		wokenOwns,
		waitsForMessage,
		keyWindow,
		counts,
		recount,
		shiftedTokens,
		driftAdded,
		leavesFailed,
		releaseMajority,
		sameToken,
		sample,
		collects,
		extendAdds,
		renewUncompared,
		renewIgnored,
		untilEarly,
		fixedPeriod,
		oneTimer,
		fenceBefore,
		fenceWall,
		fenceNodeTime,
		fenceExpires,
	}
}

// added lists the locks that were added together with the scenarios that catch them.
func added() []clients.Lock {
	return []clients.Lock{
		exSeconds,
		untilWall,
		untilRounded,
		extendFirst,
		extendLater,
		extendOnReply,
		extendVersioned,
		extendSoft,
		extendSeconds,
		givesUp,
		extendReacquires,
		tokenInLocker,
		cleanUpCancelled,
		goesOn,
		oneKey,
		releasePrefix,
		cappedTTL,
		ttlOfFirst,
		tokenPrefix,
		microseconds32,
		oneAtATime,
		waitOwnClient,
		waitLeaves,
		evalsha,
		loadOnce,
		stillHeld,
		breakerStays,
		sharedContext,
		placesLost,
		staleValidity,
		fromLastRound,
		firstThree,
		extendOfGranted,
		extendNoDrift,
		extendVersionedOnMany,
		extendCountsEarlier,
		renewRecreates,
		renewRecreatesLate,
		renewFromReply,
		renewByWall,
		leastPeriod,
		renewOnce,
		renewOff,
		releaseWaits,
		releaseAborted,
		doubles,
		fenceHour,
		fenceAfter,
		joins,
		ttlLongest,
		pollsOn,
		waitSeconds,
		lettersOnly,
		ttlInKey,
		extendSkips,
		extendRotates,
		renewDozen,
		refusedStops,
		oneLost,
		waitCleanUpCancelled,
		tokenOfName,
		oneEnd,
		oneStop,
		renewReacquires,
		ttlWholeSeconds,
		swapsToken,
		stopUnheard,
		leaseReused,
		releaseOnce,
		releaseOnceOnMany,
		renewSHA,
		releaseSHA,
		cancelledCounts,
		renewSeconds,
		firstPeriod,
		renewLastTTL,
		extendRevives,
		releaseByWall,
		nameCut,
		nameFolded,
		extendFirstDrift,
		extendCapped,
		leavesUnheard,
		driftCapped,
		renewsOn,
	}
}

// All lists every lock of the package.
func All() []clients.Lock { return slices.Concat(Locks(), Twins(), Mistakes()) }
