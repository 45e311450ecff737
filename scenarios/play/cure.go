package play

import (
	"slices"

	"lockstep/checker"
	"lockstep/sim/history"
)

// A cure is a known remedy for a violation of a property in certain scenarios.
type cure struct {
	property  checker.Property // if empty, the history shows which
	scenarios []string         // in which this is the cause; if empty, in any
	change    string           // the last event of the violation, if this is the cause: history.Retime, history.Delete; if empty, any
	during    string           // the operation that made this change: history.Acquire, history.Extend; if empty, any
	advice    string
	shownBy   string // a run of the catalogue in which a lock that follows the advice keeps the property
	// shows reports whether the history shows that the lock does not follow the advice; nil if that needs no proof.
	shows func(*history.History, checker.Violation) bool
}

// cures lists the known remedies. The first that matches counts. The first rows are for any property and scenario: the history shows the cause. A lock
// may break the same property in the same scenario for another reason, so the other rows say, where they can, what the history shows if the lock lacks
// this remedy. In other scenarios than those named, the same violation has too many causes for one piece of advice.
var cures = []cure{
	{"", nil, "", "", "delete the keys of a try on all nodes before the next try, or they stand in its way", "redlock-contended/redlock/staggered", leavesKeys},
	{"", nil, "", "", "let an extension or a renewal move Until only if a majority of the nodes has answered that it has extended the key", "extend-minority/redlock-extend", movesUnheard},
	{"", nil, "", "", "let Until be at most one TTL after the request was sent, by Env.Clock; do not count from the reply or, after an extension, from the old Until", "redlock-slow-acquire/redlock/replies", countedForLonger},
	{"", nil, "", "", "let Until be earlier than the first request plus the TTL, by a hundredth of the TTL and 2 ms for the drift of clocks", "clock-drift/redlock/below", leavesNoMargin},
	{"", nil, "", "", "take the lock only if more than half of all nodes have set the key; nodes that did not answer count in the total: of four nodes, three must have set it", "redlock-partition-halves/redlock", minority},
	{"", nil, "", "", "let Until return a time, counted by Env.Clock from before the request", "redlock-slow-acquire/redlock/replies", withoutEnd},
	{checker.FaultTolerance, []string{"redlock-contended"}, "", "",
		"wait for a random time before each retry, so that clients do not split the votes again", "redlock-contended/redlock/staggered", nil},
	{checker.FaultTolerance, []string{"redlock-reply-lost"}, "", "",
		"after a failed acquire release on all nodes, also on those that did not answer: they may have set the key", "redlock-reply-lost/redlock", nil},
	{checker.FaultTolerance, []string{"redlock-hung-node", "hung-node-of-three"}, "", "",
		"give the request to each node a timeout of its own, much shorter than the TTL", "redlock-hung-node/redlock", waitsLong},
	{checker.FaultTolerance, []string{"release-cancelled", "acquire-cancelled"}, "", "",
		"release with a context of its own, which is not cancelled with that of the caller", "release-cancelled/single/own-context", leavesKeyOfCancelled},
	{checker.LeaseExclusion, []string{"redlock-slow-acquire", "pause-in-acquire"}, "", "",
		"count the lease from before the first request, not from the reply", "redlock-slow-acquire/redlock/replies", outlasts},
	{checker.LeaseExclusion, []string{"failover-lag", "wait-other-connection"}, "", "",
		"wait for a replica by WAIT after SET, and after each extension or renewal, on the connection that has sent it", "failover-lag/single-wait/extended", forgotten},
	{checker.LeaseExclusion, []string{"extend-late"}, "", "",
		"an extension must not recreate an expired key: compare the token and set the TTL in one script", "extend-late/redlock-extend", recreates},
	{checker.DeadlockFreedom, []string{"crash-before-expire"}, "", "",
		"set the key and its TTL in one command, SET with NX and PX", "crash-before-expire/single", nil},
	{checker.DeadlockFreedom, []string{"acquire-cancelled"}, "", "",
		"stop waiting for the lock when the context is done", "acquire-cancelled/redlock/waiting", hasEnds},
	{checker.FaultTolerance, []string{"two-ttls"}, "", "",
		"set the key with the TTL of this acquire", "two-ttls/single/shorter", otherTTL},
	{checker.FaultTolerance, []string{"crash-restart-scripts"}, "", "",
		"send EVAL when EVALSHA is answered NOSCRIPT, as Script.Run of go-redis does", "crash-restart-scripts/single", withoutScript},
	{checker.LeaseExclusion, []string{"ttl-fraction"}, "", "",
		"count in milliseconds: set the TTL with PX or PEXPIRE, since EX and EXPIRE take whole seconds, and do not round the end of the lease", "ttl-fraction/single", nil},
	{checker.LeaseExclusion, []string{"client-clock-jump", "leap-second", "sweep-client-jump"}, "", "",
		"count the lease by Env.Clock, which is steady, and let Redis end the key, with PX: a wall clock can jump", "client-clock-jump/redlock", byWallClock},
	{checker.Tokens, nil, "", "",
		"never set the counter of fencing tokens back, not even in a release", "pause-fenced/fenced", setsCounterBack},
	{checker.Tokens, nil, "", "",
		"let the script that sets the key and increments the counter return the number: by the time of another request it may be that of a newer lease", "pause-fenced/fenced", readsCounterLater},
	{checker.Tokens, nil, "", "",
		"draw fencing tokens from one counter for all clients, which never expires, and increment it in the script that sets the key", "pause-fenced/fenced", countsElsewhere},
	{checker.OwnerOnly, nil, history.Retime, history.Acquire,
		"set the key and its TTL in one command that does nothing if the key is there: SET with NX and PX", "release-race/single", nil},
	{checker.OwnerOnly, nil, history.Over, history.Acquire,
		"set the key only if it is not there: SET with NX and PX", "release-race/single", nil},
	{checker.OwnerOnly, nil, "", "",
		"use a new random token for each acquire, and compare it in the same script that deletes, extends or overwrites the key", "release-race/single", nil},
	{checker.NoLostVote, []string{"extend-other-ttl", "sweep-extend-shorter"}, history.Retime, "",
		"while an extension is unanswered, let Until return the earlier of the old end and the new one", "extend-other-ttl/single-extend/no-reply", unansweredExtension},
	{checker.NoLostVote, nil, history.Retime, history.Extend,
		"after an extension, let Until return its end, even if that is earlier than the old one", "extend-other-ttl/single-extend/shorter", keepsLaterEnd},
	{checker.NoLostVote, nil, history.Delete, history.Extend,
		"give the key a TTL, with PEXPIRE, and not a date by the wall clock of the client, with PEXPIREAT", "sweep-client-jump/single-extend", sendsDate},
	{checker.NoLostVote, nil, history.Delete, history.Extend,
		"leave the key on the nodes that extended it if too few did: the lease goes on until its old end", "extend-minority/redlock-extend", extendedByFew},
	{checker.NoLostVote, nil, history.Delete, "",
		"use a new random token for each attempt, and compare it in the same script that deletes the key, so that a late request cannot delete the key of the next attempt", "late-clean-up/redlock", deletedLate},
	{checker.ExpiredOnReturn, nil, "", "",
		"count the lease by Env.Clock from before the first request, and before Acquire returns compare its end with Env.Clock.Now()", "pause-in-acquire/redlock", nil},
}

// fits reports whether a remedy can be one for a violation of a property. What overlaps at the resource is two leases, so their remedy helps.
func (c cure) fits(p checker.Property) bool {
	return c.property == "" || c.property == p || c.property == checker.LeaseExclusion && p == checker.ResourceExclusion
}

// cureFor returns the known remedy for a violation in a scenario, and a command that shows it; empty if there is none.
func cureFor(h *history.History, v checker.Violation, scenario string) string {
	change, during := "", ""
	if n := len(v.Events); n > 0 && h != nil {
		i := v.Events[n-1]
		change, during = h.Events[i].Op, operation(h, i)
	}
	for _, c := range cures {
		if c.fits(v.Property) && (len(c.scenarios) == 0 || slices.Contains(c.scenarios, scenario)) && (c.change == "" || c.change == change) &&
			(c.during == "" || c.during == during) && (c.shows == nil || h != nil && len(v.Events) > 0 && c.shows(h, v)) {
			return c.advice + " (lockstep show " + c.shownBy + ")"
		}
	}
	return ""
}
