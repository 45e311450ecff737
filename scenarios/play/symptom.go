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

// The functions of this file report what a history shows of a lock that lacks a remedy: see [cures].

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

// countedForLonger reports whether a lease that proves an overlap counts from too late, or by another clock: see outlasts. If another client has
// removed the key of such a lease before its time, an earlier Until would not have helped.
func countedForLonger(h *history.History, v checker.Violation) bool {
	return overlaps(h, v) && outlasts(h, v) && !takenEarly(h, v)
}

// takenEarly reports whether a client deleted or overwrote, before its deadline, the key of another client's lease that proves a violation.
func takenEarly(h *history.History, v checker.Violation) bool {
	f := facts.Of(h)
	return slices.ContainsFunc(leases(f, v), func(l *facts.Lease) bool {
		return slices.ContainsFunc(f.LivesOf[l.Label], func(n int) bool {
			k := f.Lives[n]
			if k.To >= len(h.Events) || k.Promise == history.NoEnd {
				return false
			}
			by := h.Events[k.To].By
			return by != "" && by != l.Client && !f.Servers[by] && h.Events[k.To].At < k.Due()
		})
	})
}

// outlasts reports whether a lease of a violation was to last for longer than the TTL from when its key was asked for, or extended, by the clock
// of its client. Then it counts from too late, or by another clock. An Acquire may wait for long before it asks for the key, and a key by which
// it waits in a queue is another.
func outlasts(h *history.History, v checker.Violation) bool {
	f := facts.Of(h)
	passing := f.Passing
	longer := func(i int) bool { // the extension or renewal that ended with event i
		e := h.Events[i]
		asked := facts.Before(f.Invokes[e.Process], i)
		if e.Until == history.NoEnd || asked < 0 {
			return false
		}
		ahead, ttl := e.Clock-e.At, h.Meta.TTL
		if e.Op == history.Extend {
			ahead, ttl = h.Events[asked].Clock-h.Events[asked].At, f.TTL(h.Events[asked])
		} else {
			asked = max(facts.Before(f.Extensions[e.Lease], i), 0)
		}
		for _, s := range slices.Backward(h.Events[asked:i]) {
			if s.Kind == history.State && s.By == e.Process && (s.Lease == e.Lease || s.Op == history.Retime && s.Owner == e.Lease) && !passing[s.Key] {
				return e.Until-ahead > s.Departure()+ttl+facts.Rounding // a slow clock falls behind a little until the reply
			}
		}
		return false
	}
	return slices.ContainsFunc(v.Events, func(i int) bool {
		got := h.Events[i]
		if got.Kind != history.OK || got.Op != history.Acquire || got.Until == history.NoEnd {
			return false
		}
		if last := facts.Before(f.Extensions[got.Lease], slices.Max(v.Events)+1); last >= 0 && longer(last) {
			return true
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

// movesUnheard reports whether the last extension or renewal of a lease that proves an overlap moved its end, although fewer nodes than a majority
// had extended its key, or set it again.
func movesUnheard(h *history.History, v checker.Violation) bool {
	if !overlaps(h, v) {
		return false
	}
	f := facts.Of(h)
	return slices.ContainsFunc(leases(f, v), func(l *facts.Lease) bool {
		last := facts.Before(f.Extensions[l.Label], slices.Max(v.Events)+1)
		if last < l.ReturnEvent || h.Events[last].Op == history.Lost {
			return false
		}
		since := max(facts.Before(f.Extensions[l.Label], last), l.ReturnEvent)
		if in, ok := f.Invocation[last]; ok {
			since = in
		}
		var moved []string
		for _, e := range h.Events[since:last] {
			if e.Kind == history.State && e.By == l.Client && (e.Lease == l.Label || e.Owner == l.Label) && e.Op != history.Delete && !slices.Contains(moved, f.Groups[e.Process]) {
				moved = append(moved, f.Groups[e.Process])
			}
		}
		return len(moved) < h.Meta.Quorum()
	})
}

// waitsLong reports whether an operation of a client took longer than a quarter of the TTL before a violation was complete.
func waitsLong(h *history.History, v checker.Violation) bool {
	for in, out := range facts.Of(h).Outcome {
		if in <= slices.Max(v.Events) && h.Events[out].At-h.Events[in].At > h.Meta.TTL/4 && h.Events[in].Op != history.Write {
			return true
		}
	}
	return false
}

// recreates reports whether an extension set a key that was gone.
func recreates(h *history.History, v checker.Violation) bool {
	for i, e := range h.Events[:slices.Max(v.Events)+1] {
		if e.Kind == history.State && e.Op == history.Set && operation(h, i) == history.Extend {
			return true
		}
	}
	return false
}

// hasEnds reports whether each key of a lock has an end. Then it is not a key that blocks the others for ever.
func hasEnds(h *history.History, _ checker.Violation) bool {
	return !slices.ContainsFunc(facts.Of(h).Lives, func(k facts.Life) bool { return k.Promise == history.NoEnd && k.To >= len(h.Events) })
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

// minority reports whether a client had the lock although fewer nodes than a majority ever set a key for it.
func minority(h *history.History, v checker.Violation) bool {
	if v.Property != checker.LeaseExclusion && v.Property != checker.ResourceExclusion || h == nil || len(h.Meta.Nodes) < 2 {
		return false
	}
	f := facts.Of(h)
	return slices.ContainsFunc(leases(f, v), func(l *facts.Lease) bool {
		var voted []string
		for _, n := range f.LivesOf[l.Label] {
			if k := f.Lives[n]; k.From < l.ReturnEvent && k.Vote && !slices.Contains(voted, k.Group) {
				voted = append(voted, k.Group)
			}
		}
		return len(voted) > 0 && len(voted) < h.Meta.Quorum() && f.Events[l.ReturnEvent].Op == history.Acquire
	})
}

// leavesKeyOfCancelled reports whether a key outlived an operation whose context had ended, by more than a tenth of the TTL: an acquire that did
// not get the lease, or a release.
func leavesKeyOfCancelled(h *history.History, v checker.Violation) bool {
	f := facts.Of(h)
	return slices.ContainsFunc(f.Lives, func(k facts.Life) bool {
		if k.From > slices.Max(v.Events) {
			return false
		}
		client := history.Client(k.Label)
		in := facts.Before(f.Invokes[client], k.From)
		if l := f.Lease(k.Label); l != nil {
			in = facts.After(f.Releases[k.Label], k.From)
		}
		out, ended := f.Outcome[in]
		outlives := k.To >= len(h.Events) || ended && h.Events[k.To].At-h.Events[out].At > h.Meta.TTL/10
		return in >= 0 && ended && outlives && h.Events[out].Kind != history.OK && strings.Contains(h.Events[out].Error, "context")
	})
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

// forgotten reports whether a node, or the one that took its place, did not know a lease or its extension.
func forgotten(_ *history.History, v checker.Violation) bool {
	return v.Assumption == checker.DurableNodes
}
