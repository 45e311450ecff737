// Package broken has locks with a mistake. They are otherwise as those of package clients, and prove that the checker sees what is
// wrong. It is for tests only.
//
// [Locks] each lack one safeguard: every one of them must turn a verdict of some scenario. One more, with a token from a
// microsecond clock, is a lock of the literature: single-usec. [Twins] are wrong in other ways. [Mistakes] were written without
// looking at the scenarios, to measure how many of them are caught. Some came with the scenarios that catch them:
// single-ex-seconds, single-until-wall, single-until-rounded, single-extend-first-ttl, single-extend-later-end,
// single-extend-on-reply, single-extend-soft, single-extend-seconds, single-gives-up, single-extend-reacquires, single-evalsha,
// single-token-in-locker, single-clean-up-cancelled, single-goes-on, single-one-key, single-capped-ttl,
// single-one-at-a-time, single-wait-own-client, single-wait-leaves, redlock-first-three, redlock-extend-of-granted,
// redlock-extend-no-drift, redlock-stale-validity, watchdog-recreates, watchdog-recreates-late, watchdog-from-reply,
// watchdog-by-wall, watchdog-least-period, fenced-hour, fenced-after, single-load-once,
// single-still-held, single-breaker-stays, single-shared-context, single-places-lost, watchdog-started-once,
// watchdog-off-after-error, watchdog-release-waits, single-release-prefix, single-extend-versioned, redlock-extend-versioned,
// watchdog-release-aborted, watchdog-doubles, redlock-extend-counts-earlier, redlock-from-last-round, single-microseconds-32,
// single-ttl-of-first, single-token-prefix, single-joins, watchdog-swaps-token,
// single-ttl-longest, single-polls-on, single-wait-seconds, single-letters-only, single-ttl-in-key, single-extend-skips,
// redlock-extend-rotates, watchdog-dozen, watchdog-refused-stops, watchdog-one-lost, single-wait-clean-up-cancelled,
// single-token-of-name, single-one-end, watchdog-one-stop, watchdog-reacquires, single-ttl-whole-seconds.
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
func Mistakes() []clients.Lock {
	return []clients.Lock{
		exMilliseconds,
		exSeconds,
		untilWall,
		untilRounded,
		finallyDeletes,
		extendXX,
		extendGet,
		extendFirst,
		extendLater,
		extendOnReply,
		extendVersioned,
		extendSoft,
		extendSeconds,
		givesUp,
		extendReacquires,
		counterToken,
		clientToken,
		timeoutIsOurs,
		errorIsRefusal,
		pipelinedExpire,
		lateWatch,
		zsetRank,
		staleCleanup,
		reentrant,
		tokenInLocker,
		timerLeft,
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
		releaseToldOK,
		releaseForce,
		evalsha,
		loadOnce,
		stillHeld,
		breakerStays,
		sharedContext,
		placesLost,
		wokenOwns,
		waitsForMessage,
		keyWindow,
		counts,

		recount,
		shiftedTokens,
		driftAdded,
		staleValidity,
		fromLastRound,
		leavesFailed,
		releaseMajority,
		sameToken,
		sample,
		firstThree,
		collects,
		extendAdds,
		extendOfGranted,
		extendNoDrift,
		extendVersionedOnMany,
		extendCountsEarlier,

		renewUncompared,
		renewIgnored,
		renewRecreates,
		renewRecreatesLate,
		renewFromReply,
		renewByWall,
		untilEarly,
		fixedPeriod,
		leastPeriod,
		renewOnce,
		renewOff,
		oneTimer,
		releaseWaits,
		releaseAborted,
		doubles,

		fenceBefore,
		fenceWall,
		fenceNodeTime,
		fenceExpires,
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
	}
}

// All lists every lock of the package.
func All() []clients.Lock { return slices.Concat(Locks(), Twins(), Mistakes()) }
