package play

import (
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// A cure is a known remedy for a violation of a property in certain scenarios.
type cure struct {
	property  checker.Property
	scenarios []string // in which this is the cause; if empty, in any
	change    string   // the last event of the violation, if this is the cause: history.Retime, history.Delete; if empty, any
	during    string   // the operation that made this change: history.Acquire, history.Extend; if empty, any
	advice    string
	shownBy   string // a run of the catalogue in which a lock that follows the advice keeps the property
}

// cures lists the known remedies. The first that matches counts. In other scenarios than those named, the same violation has too
// many causes for one piece of advice.
var cures = []cure{
	{checker.FaultTolerance, []string{"redlock-contended"}, "", "",
		"wait for a random time before each retry, so that clients do not split the votes again", "redlock-contended/redlock/staggered"},
	{checker.FaultTolerance, []string{"redlock-reply-lost"}, "", "",
		"after a failed acquire release on all nodes, also on those that did not answer: they may have set the key", "redlock-reply-lost/redlock"},
	{checker.FaultTolerance, []string{"redlock-hung-node", "hung-node-of-three"}, "", "",
		"give the request to each node a timeout of its own, much shorter than the TTL", "redlock-hung-node/redlock"},
	{checker.FaultTolerance, []string{"release-cancelled", "acquire-cancelled"}, "", "",
		"release with a context of its own, which is not cancelled with that of the caller", "release-cancelled/single/own-context"},
	{checker.LeaseExclusion, []string{"redlock-slow-acquire", "pause-in-acquire"}, "", "",
		"count the lease from before the first request, not from the reply", "redlock-slow-acquire/redlock/replies"},
	{checker.LeaseExclusion, []string{"extend-late"}, "", "",
		"an extension must not recreate an expired key: compare the token and set the TTL in one script", "extend-late/redlock-extend"},
	{checker.LeaseExclusion, []string{"redlock-contended", "redlock-partition-halves"}, "", "",
		"count the votes against a majority of all nodes, not of those that answered", "redlock-partition-halves/redlock"},
	{checker.DeadlockFreedom, []string{"crash-before-expire"}, "", "",
		"set the key and its TTL in one command, SET with NX and PX", "crash-before-expire/single"},
	{checker.DeadlockFreedom, []string{"acquire-cancelled"}, "", "",
		"stop waiting for the lock when the context is done", "acquire-cancelled/redlock/waiting"},
	{checker.FaultTolerance, []string{"two-ttls"}, "", "",
		"set the key with the TTL of this acquire", "two-ttls/single/shorter"},
	{checker.FaultTolerance, []string{"crash-restart-scripts"}, "", "",
		"send EVAL when EVALSHA is answered NOSCRIPT, as Script.Run of go-redis does", "crash-restart-scripts/single"},
	{checker.LeaseExclusion, []string{"ttl-fraction"}, "", "",
		"count in milliseconds: set the TTL with PX or PEXPIRE, since EX and EXPIRE take whole seconds, and do not round the end of the lease", "ttl-fraction/single"},
	{checker.LeaseExclusion, []string{"client-clock-jump", "leap-second", "sweep-client-jump"}, "", "",
		"count the lease by Env.Clock, which is steady, and let Redis end the key, with PX: a wall clock can jump", "client-clock-jump/redlock"},
	{checker.Tokens, nil, "", "",
		"draw fencing tokens from one counter for all clients, which never expires, and increment it in the script that sets the key", "pause-fenced/fenced"},
	{checker.OwnerOnly, nil, history.Retime, history.Acquire,
		"set the key and its TTL in one command that does nothing if the key is there: SET with NX and PX", "release-race/single"},
	{checker.OwnerOnly, nil, history.Over, history.Acquire,
		"set the key only if it is not there: SET with NX and PX", "release-race/single"},
	{checker.OwnerOnly, nil, "", "",
		"use a new random token for each acquire, and compare it in the same script that deletes, extends or overwrites the key", "release-race/single"},
	{checker.NoLostVote, []string{"extend-other-ttl", "sweep-extend-shorter"}, history.Retime, "",
		"while an extension is unanswered, let Until return the earlier of the old end and the new one", "extend-other-ttl/single-extend/no-reply"},
	{checker.NoLostVote, nil, history.Delete, history.Extend,
		"leave the key on the nodes that extended it if too few did: the lease goes on until its old end", "extend-minority/redlock-extend"},
	{checker.NoLostVote, nil, history.Delete, "",
		"use a new random token for each attempt, and compare it in the same script that deletes the key, so that a late request cannot delete the key of the next attempt", "late-clean-up/redlock"},
	{checker.ExpiredOnReturn, nil, "", "",
		"count the lease by Env.Clock from before the first request, and before Acquire returns compare its end with Env.Clock.Now()", "pause-in-acquire/redlock"},
}

// seen lists remedies for causes that a history shows, whatever the scenario.
var seen = []struct {
	shows   func(*history.History, checker.Violation) bool
	advice  string
	shownBy string
}{
	{leavesKeys, "delete the keys of a try on all nodes before the next try, or they stand in its way", "redlock-contended/redlock/staggered"},
	{countedForLonger, "count the lease by Env.Clock, from before the request and not from the reply", "redlock-slow-acquire/redlock/replies"},
	{withoutEnd, "let Until return a time, counted by Env.Clock from before the request", "redlock-slow-acquire/redlock/replies"},
}

// leavesKeys reports whether a client, before it had the lease, asked a node for its key again by the same command, while the key that it had set
// before was there and stayed as it was.
func leavesKeys(h *history.History, v checker.Violation) bool {
	if v.Property != checker.FaultTolerance || h == nil || len(h.Meta.Nodes) < 2 {
		return false
	}
	f := facts.Of(h)
	start := func(i int) string { // the command, without its arguments after the key or the digest
		words := strings.Fields(h.Events[i].Value)
		return strings.Join(words[:min(2, len(words))], " ")
	}
	return slices.ContainsFunc(f.Lives, func(k facts.Life) bool {
		client, end := history.Client(k.Label), k.To
		if l := f.Lease(k.Label); l != nil {
			end = min(end, l.ReturnEvent)
		}
		request := ""
		for i := range min(end, len(h.Events)) {
			switch e := h.Events[i]; {
			case e.Kind != history.Message || e.Op != history.Deliver || e.Process != k.Node || e.By != client:
			case i < k.From:
				request = start(i)
			case request != "" && request == start(i) && !slices.ContainsFunc(h.Events[i:], func(o history.Event) bool {
				return o.At == e.At && o.Kind == history.State && o.Process == k.Node && o.Key == k.Key
			}):
				return true
			}
		}
		return false
	})
}

// overlaps reports whether no broken assumption explains that two leases overlapped.
func overlaps(h *history.History, v checker.Violation) bool {
	return (v.Property == checker.LeaseExclusion || v.Property == checker.ResourceExclusion) && v.Assumption == checker.None && h != nil
}

// countedForLonger reports whether a lease that proves an overlap was to last for longer than the TTL from when its key was asked for, by the
// clock of its client. Then it counts from too late, or by another clock. An Acquire may wait for long before it asks for the key, and a key
// by which it waits in a queue is another.
func countedForLonger(h *history.History, v checker.Violation) bool {
	if !overlaps(h, v) {
		return false
	}
	passing := facts.Of(h).Passing
	return slices.ContainsFunc(v.Events, func(i int) bool {
		got := h.Events[i]
		if got.Kind != history.OK || got.Op != history.Acquire || got.Until == history.NoEnd {
			return false
		}
		var ahead, sent time.Duration // how far the client's steady clock was ahead of true time, and when it asked for the key
		for _, e := range h.Events[:i] {
			switch {
			case e.Kind == history.Invoke && e.Process == got.Process && e.ID == got.ID:
				ahead = e.Clock - e.At
			case e.Kind == history.State && e.By == got.Process && e.Lease == got.Lease && !passing[e.Key]:
				sent = e.Departure()
			}
		}
		return sent > 0 && got.Until-ahead > sent+h.Meta.TTL
	})
}

// withoutEnd reports whether a lease that proves an overlap has no end, though its key expires and the lock does not renew it.
func withoutEnd(h *history.History, v checker.Violation) bool {
	if !overlaps(h, v) {
		return false
	}
	return slices.ContainsFunc(v.Events, func(i int) bool {
		got := h.Events[i]
		return got.Kind == history.OK && got.Op == history.Acquire && got.Until == history.NoEnd && !got.Renews &&
			slices.ContainsFunc(h.Events[:i], func(e history.Event) bool {
				return e.Kind == history.State && e.Lease == got.Lease && e.Until > 0 && e.Until != history.NoEnd
			})
	})
}

// cureFor returns the known remedy for a violation in a scenario, and a command that shows it; empty if there is none. What overlaps at the
// resource is two leases, so their remedy helps.
func cureFor(h *history.History, v checker.Violation, scenario string) string {
	for _, c := range seen {
		if c.shows(h, v) {
			return c.advice + " (lockstep show " + c.shownBy + ")"
		}
	}
	change, during := "", ""
	if n := len(v.Events); n > 0 && h != nil {
		i := v.Events[n-1]
		change, during = h.Events[i].Op, operation(h, i)
	}
	for _, c := range cures {
		if (c.property == v.Property || c.property == checker.LeaseExclusion && v.Property == checker.ResourceExclusion) && (len(c.scenarios) == 0 || slices.Contains(c.scenarios, scenario)) && (c.change == "" || c.change == change) &&
			(c.during == "" || c.during == during) {
			return c.advice + " (lockstep show " + c.shownBy + ")"
		}
	}
	return ""
}

// operation returns the operation in which a client sent the request that made change i; empty if there was none.
func operation(h *history.History, i int) string {
	change, op := h.Events[i], ""
	for _, e := range h.Events[:i] {
		switch {
		case e.Process != change.By || e.At > change.Departure():
		case e.Kind == history.Invoke:
			op = e.Op
		case e.Op == op && (e.Kind == history.OK || e.Kind == history.Fail || e.Kind == history.Info):
			op = ""
		}
	}
	return op
}
