package play

import (
	"cmp"
	"slices"
	"strconv"
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
	// shows reports whether the history shows that the lock does not follow the advice; nil if that needs no proof.
	shows func(*history.History, checker.Violation) bool
}

// cures lists the known remedies. The first that matches counts. A lock may break the same property in the same scenario for another reason,
// so a row says, if it can, what the history shows if the lock lacks this remedy. In other scenarios than those named, the same violation has too
// many causes for one piece of advice.
var cures = []cure{
	{checker.FaultTolerance, []string{"redlock-contended"}, "", "",
		"wait for a random time before each retry, so that clients do not split the votes again", "redlock-contended/redlock/staggered", nil},
	{checker.FaultTolerance, []string{"redlock-reply-lost"}, "", "",
		"after a failed acquire release on all nodes, also on those that did not answer: they may have set the key", "redlock-reply-lost/redlock", nil},
	{checker.FaultTolerance, []string{"redlock-hung-node", "hung-node-of-three"}, "", "",
		"give the request to each node a timeout of its own, much shorter than the TTL", "redlock-hung-node/redlock", nil},
	{checker.FaultTolerance, []string{"release-cancelled", "acquire-cancelled"}, "", "",
		"release with a context of its own, which is not cancelled with that of the caller", "release-cancelled/single/own-context", nil},
	{checker.LeaseExclusion, []string{"redlock-slow-acquire", "pause-in-acquire"}, "", "",
		"count the lease from before the first request, not from the reply", "redlock-slow-acquire/redlock/replies", outlasts},
	{checker.LeaseExclusion, []string{"extend-late"}, "", "",
		"an extension must not recreate an expired key: compare the token and set the TTL in one script", "extend-late/redlock-extend", nil},
	{checker.LeaseExclusion, []string{"redlock-contended", "redlock-partition-halves"}, "", "",
		"count the votes against a majority of all nodes, not of those that answered", "redlock-partition-halves/redlock", unheardMinority},
	{checker.DeadlockFreedom, []string{"crash-before-expire"}, "", "",
		"set the key and its TTL in one command, SET with NX and PX", "crash-before-expire/single", nil},
	{checker.DeadlockFreedom, []string{"acquire-cancelled"}, "", "",
		"stop waiting for the lock when the context is done", "acquire-cancelled/redlock/waiting", nil},
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

// seen lists remedies for causes that a history shows, whatever the scenario.
var seen = []struct {
	shows   func(*history.History, checker.Violation) bool
	advice  string
	shownBy string
}{
	{leavesKeys, "delete the keys of a try on all nodes before the next try, or they stand in its way", "redlock-contended/redlock/staggered"},
	{countedForLonger, "count the lease by Env.Clock, from before the request and not from the reply", "redlock-slow-acquire/redlock/replies"},
	{leavesNoMargin, "let Until be earlier than the first request plus the TTL, by a hundredth of the TTL and 2 ms for the drift of clocks", "clock-drift/redlock/below"},
	{byMinority, "take the lock only if more than half of all nodes have set the key: of four nodes, three", "redlock-partition-halves/redlock"},
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

// countedForLonger reports whether a lease that proves an overlap counts from too late, or by another clock: see outlasts.
func countedForLonger(h *history.History, v checker.Violation) bool {
	return overlaps(h, v) && outlasts(h, v)
}

// outlasts reports whether a lease of a violation was to last for longer than the TTL from when its key was asked for, by the clock of its
// client. Then it counts from too late, or by another clock. An Acquire may wait for long before it asks for the key, and a key by which it
// waits in a queue is another.
func outlasts(h *history.History, v checker.Violation) bool {
	passing := facts.Of(h).Passing
	return slices.ContainsFunc(v.Events, func(i int) bool {
		got := h.Events[i]
		if got.Kind != history.OK || got.Op != history.Acquire || got.Until == history.NoEnd {
			return false
		}
		ttl := h.Meta.TTL
		var ahead, sent time.Duration // how far the client's steady clock was ahead of true time, and when it asked for the key
		for _, e := range h.Events[:i] {
			switch {
			case e.Kind == history.Invoke && e.Process == got.Process && e.ID == got.ID:
				ahead, ttl = e.Clock-e.At, cmp.Or(e.TTL, h.Meta.TTL)
			case e.Kind == history.State && e.By == got.Process && e.Lease == got.Lease && !passing[e.Key]:
				sent = e.Departure()
			}
		}
		return sent > 0 && got.Until-ahead > sent+ttl
	})
}

// leases returns the leases whose grants prove a violation.
func leases(f *facts.Facts, v checker.Violation) (all []*facts.Lease) {
	for i := range f.Leases {
		if l := &f.Leases[i]; slices.Contains(v.Events, l.ReturnEvent) {
			all = append(all, l)
		}
	}
	return all
}

// minority reports whether a violation has a lease for which fewer nodes than a majority ever set a key, and says whether each node that had not
// set one had answered by then.
func minority(h *history.History, v checker.Violation) (is, answered bool) {
	f := facts.Of(h)
	for _, l := range leases(f, v) {
		var voted []string
		for _, n := range f.LivesOf[l.Label] {
			if k := f.Lives[n]; k.From < l.ReturnEvent && k.Vote && !slices.Contains(voted, k.Group) {
				voted = append(voted, k.Group)
			}
		}
		if len(h.Meta.Nodes) < 2 || len(voted) == 0 || len(voted) >= h.Meta.Quorum() || f.Events[l.ReturnEvent].Op != history.Acquire {
			continue
		}
		return true, !slices.ContainsFunc(h.Meta.Nodes, func(node string) bool {
			return !slices.Contains(voted, node) && !slices.ContainsFunc(h.Events[l.InvokeEvent:l.ReturnEvent], func(e history.Event) bool {
				return e.Kind == history.Message && e.Op == history.Deliver && e.Process == l.Client && e.By == node
			})
		})
	}
	return false, false
}

// byMinority reports whether a client had the lock from a minority of nodes, though all had answered.
func byMinority(h *history.History, v checker.Violation) bool {
	if !overlaps(h, v) {
		return false
	}
	is, answered := minority(h, v)
	return is && answered
}

// unheardMinority reports whether a client had the lock from a minority of nodes, and others had not answered.
func unheardMinority(h *history.History, v checker.Violation) bool {
	is, answered := minority(h, v)
	return is && !answered
}

// leavesNoMargin reports whether two leases on several nodes overlapped because of the drift of clocks, and one of them left less for it than
// Redlock does.
func leavesNoMargin(h *history.History, v checker.Violation) bool {
	if (v.Property != checker.LeaseExclusion && v.Property != checker.ResourceExclusion) || v.Assumption != checker.BoundedClockError || h == nil || len(h.Meta.Nodes) < 2 ||
		slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Injected && (e.Op == "jump" || e.Op == "slew") }) {
		return false
	}
	f := facts.Of(h)
	return slices.ContainsFunc(leases(f, v), func(l *facts.Lease) bool {
		margin, enough, ok := f.Margin(l)
		return ok && !enough && margin >= 0 && !f.Events[l.ReturnEvent].Renews
	})
}

// otherTTL reports whether a client gave a key that outlasted the beginning of a violation a longer TTL than it was asked for.
func otherTTL(h *history.History, v checker.Violation) bool {
	f := facts.Of(h)
	return slices.ContainsFunc(f.Lives, func(k facts.Life) bool {
		e := h.Events[k.Set]
		asked := facts.Before(f.Invokes[e.By], k.Set)
		return asked >= 0 && k.To > slices.Min(v.Events) && k.Promise != history.NoEnd && k.Promise > f.TTL(h.Events[asked])*101/100
	})
}

// withoutScript reports whether a client went on to send EVALSHA to a node that had restarted, and sent no script to it in full.
func withoutScript(h *history.History, _ checker.Violation) bool {
	back := slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Injected && e.Op == "restart" })
	if back < 0 {
		return false
	}
	sends := map[string]bool{}
	for _, e := range h.Events[back:] {
		if word, _, _ := strings.Cut(e.Value, " "); e.Kind == history.Message && e.Process == h.Events[back].Process {
			if word == "EVALSHA" {
				sends[e.By] = true
			}
			if word == "EVAL" || strings.HasPrefix(e.Value, "SCRIPT LOAD") {
				return false
			}
		}
	}
	return len(sends) > 0
}

// byWallClock reports whether a lease of a violation lasts for longer than the TTL, or a client gave a key another TTL than it was asked for, or
// removed its own key by an extension, or took that of another client. If a lock counts by a steady clock, and leaves it to Redis to end the key,
// none of this happens.
func byWallClock(h *history.History, v checker.Violation) bool {
	if outlasts(h, v) || otherTTL(h, v) {
		return true
	}
	f := facts.Of(h)
	return slices.ContainsFunc(f.Lives, func(k facts.Life) bool {
		if k.To >= len(h.Events) {
			return k.Promise == history.NoEnd
		}
		e := h.Events[k.To]
		asked := facts.Before(f.Invokes[h.Events[k.Set].By], k.Set)
		return k.Promise == history.NoEnd || asked >= 0 && k.Promise < f.TTL(h.Events[asked])*9/10 ||
			e.Op == history.Over && e.By != history.Client(k.Label) || e.Op == history.Delete && e.By == history.Client(k.Label) && operation(h, k.To) == history.Extend
	})
}

// setsCounterBack reports whether a client gave the counter of fencing tokens a lower value between the grants of two leases of a violation.
func setsCounterBack(h *history.History, v checker.Violation) bool {
	f := facts.Of(h)
	all := leases(f, v)
	return len(all) >= 2 && f.CounterSetBack(all[0], all[len(all)-1]) >= 0
}

// readsCounterLater reports whether a lease of a violation has another token than the counter had when the key was set, by the same command.
func readsCounterLater(h *history.History, v checker.Violation) bool {
	f := facts.Of(h)
	return slices.ContainsFunc(leases(f, v), func(l *facts.Lease) bool {
		i := f.CountedWithKey(l)
		return i >= 0 && h.Events[i].Value != strconv.FormatInt(l.Fence, 10)
	})
}

// countsElsewhere reports whether a lease of a violation has a token that was not counted by the command that set its key, or the counter was
// gone for a time.
func countsElsewhere(h *history.History, v checker.Violation) bool {
	f := facts.Of(h)
	all := leases(f, v)
	for _, events := range f.Fences {
		for _, i := range events {
			if e := h.Events[i]; e.Lease == "" && e.Owner == "" && e.Op != history.Set && e.Op != history.Over && e.Op != history.Retime {
				return true
			}
		}
	}
	return len(all) == 0 || slices.ContainsFunc(all, func(l *facts.Lease) bool { return f.CountedWithKey(l) < 0 })
}

// extension returns the outcome of the extension by which a client made the last change of a violation; false if there was none.
func extension(h *history.History, v checker.Violation) (history.Event, bool) {
	f := facts.Of(h)
	i := v.Events[len(v.Events)-1]
	for _, in := range slices.Backward(f.Invokes[h.Events[i].By]) {
		if e := h.Events[in]; e.At <= h.Events[i].Departure() && e.Op == history.Extend {
			out, ok := f.Outcome[in]
			if !ok {
				return history.Event{}, false
			}
			return h.Events[out], true
		}
	}
	return history.Event{}, false
}

// unansweredExtension reports whether the extension that shortened the life of a key did not succeed, as far as its client knew.
func unansweredExtension(h *history.History, v checker.Violation) bool {
	out, ok := extension(h, v)
	return !ok || out.Kind != history.OK
}

// keepsLaterEnd reports whether the extension that shortened the life of a key succeeded, but its lease was to last for longer than the key.
func keepsLaterEnd(h *history.History, v checker.Violation) bool {
	out, ok := extension(h, v)
	key := h.Events[v.Events[len(v.Events)-1]]
	return ok && out.Kind == history.OK && v.Assumption == checker.None && key.Until > 0 && out.Until-out.Clock > key.Until-key.Wall-key.At
}

// sendsDate reports whether an extension removed a key because a clock was wrong: then it sent a date.
func sendsDate(_ *history.History, v checker.Violation) bool {
	return v.Assumption == checker.BoundedClockError
}

// deletedLate reports whether the request that deleted a key had left before the one that set it.
func deletedLate(h *history.History, v checker.Violation) bool {
	gone := h.Events[v.Events[len(v.Events)-1]]
	for _, i := range slices.Backward(v.Events[:len(v.Events)-1]) {
		if e := h.Events[i]; e.Process == gone.Process && e.Key == gone.Key && (e.Op == history.Set || e.Op == history.Over) {
			return gone.Departure() < e.Departure()
		}
	}
	return false
}

// extendedByFew reports whether an extension that deleted a key had been carried out by some nodes, but not by a majority.
func extendedByFew(h *history.History, v checker.Violation) bool {
	i := v.Events[len(v.Events)-1]
	f := facts.Of(h)
	var moved []string
	for j := i; j >= 0; j-- {
		e := h.Events[j]
		if e.Process == h.Events[i].By && e.Kind == history.Invoke && e.Op == history.Extend {
			break
		}
		if node := f.Groups[e.Process]; e.By == h.Events[i].By && node != "" && (e.Op == history.Retime || e.Op == history.Over) && !slices.Contains(moved, node) {
			moved = append(moved, node)
		}
	}
	return len(h.Meta.Nodes) > 1 && len(moved) < h.Meta.Quorum()
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
			(c.during == "" || c.during == during) && (c.shows == nil || h != nil && len(v.Events) > 0 && c.shows(h, v)) {
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
