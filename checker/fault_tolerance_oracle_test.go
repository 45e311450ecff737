package checker

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
	"lockstep/sim/history"
)

// state returns which of some operations happened last to a process or a link by t.
func state(h *history.History, process string, t time.Duration, kind history.Kind, ops ...string) string {
	op := ""
	for _, e := range h.Events {
		if e.Process == process && e.Kind == kind && slices.Contains(ops, e.Op) && e.At <= t {
			op = e.Op
		}
	}
	return op
}

func downAt(h *history.History, process string, t time.Duration) bool {
	crashed := state(h, process, t, history.Injected, "crash", "stop", "restart")
	return crashed == "crash" || crashed == "stop" || pausedAt(h, process, t)
}

func pausedAt(h *history.History, process string, t time.Duration) bool {
	return state(h, process, t, history.Injected, "pause", "resume") == "pause"
}

// apartAt reports whether a message could not pass between two processes, in either direction.
func apartAt(h *history.History, a, b string, t time.Duration) bool {
	there, back := false, false
	for _, e := range h.Events {
		if e.Kind != history.Injected || e.At > t || e.Op != "cut" && e.Op != "heal" {
			continue
		}
		_, link, _ := strings.Cut(e.Value, " ")
		if link == "" || link == a+"-"+b || link == a+"->"+b {
			there = e.Op == "cut"
		}
		if link == "" || link == a+"-"+b {
			back = e.Op == "cut"
		}
	}
	return there || back
}

func leadsAt(h *history.History, server string, t time.Duration) bool {
	switch state(h, server, t, history.State, history.Promoted, history.Followed) {
	case history.Promoted:
		return true
	case history.Followed:
		return false
	}
	return server != "r1"
}

func members(h *history.History, node string) []string {
	if node == "n1" {
		return []string{"n1", "r1"}
	}
	return []string{node}
}

// heldAt reports whether some client could rely on the lock.
func heldAt(h *history.History, lock string, t time.Duration) bool {
	for _, l := range facts.Of(h).Holds { // TestHoldOracle tests these
		from, to := l.From, l.End
		if h.Events[l.ReturnEvent].Op == history.Acquire {
			from = l.Granted
		}
		for _, e := range h.Events {
			released := e.Op == history.Release && e.Kind != history.Invoke
			if (released || foundLost(e)) && e.Lease == l.Label {
				to = min(to, e.At)
			}
		}
		if l.Lock == lock && from <= t && t < to {
			return true
		}
	}
	return false
}

// foundLost reports whether e is the outcome of an extension that found its lease lost.
func foundLost(e history.Event) bool {
	return e.Op == history.Extend && e.Kind == history.Fail && e.ID != 0 && 0 < e.Until && e.Until <= e.Clock
}

// letGoOracle returns when a release of a lease, or an extension that found it lost, left its key although nothing separated the client from the server, nor
// was the request that set the key still on its way, late, when the release began.
func letGoOracle(h *history.History, label, server string, set int) (time.Duration, bool) {
	owner := history.Client(label)
	late := h.Events[set].Sent > 0 && h.Events[set].At-h.Events[set].Sent >= h.Meta.TTL/400
	for _, e := range h.Events[:set] {
		if e.Kind == history.State && e.Process == server && e.Lease == label && (e.Op == history.Set || e.Op == history.Over) {
			late = false // the lock asked for it twice
		}
	}
	for i, in := range h.Events {
		gaveUp := in.Op == history.Release || in.Op == history.Extend && slices.ContainsFunc(h.Events, func(e history.Event) bool {
			return e.Process == owner && e.ID == in.ID && foundLost(e)
		})
		if !gaveUp || in.Kind != history.Invoke || in.Lease != label {
			continue
		}
		if late && i < set { // its request may have overtaken the one that set the key
			continue
		}
		fine := true
		for j, e := range h.Events {
			if e.At < in.At { // a fault from before may last
				continue
			}
			u := e.At
			fine = fine && state(h, owner, u, history.Injected, "crash") == "" && !pausedAt(h, owner, u) && !apartAt(h, owner, server, u) && !downAt(h, server, u)
			if e.Process == owner && e.ID == in.ID && e.Op == in.Op && e.Kind != history.Invoke && e.ID != 0 {
				if in.Op == history.Extend && guessedOracle(h, i, j) {
					return u, true
				}
				if fine && !underWay(h, i, j, owner, server) && !underWay(h, i, j, server, owner) {
					return u, true
				}
				break
			}
		}
	}
	return 0, false
}

// guessedOracle reports whether an extension, given its two events, reported a lease as lost that had not ended, although its request had not been
// answered.
func guessedOracle(h *history.History, in, out int) bool {
	asked, lasted := false, false
	for i, e := range h.Events {
		request := e.Kind == history.Message && e.By == h.Events[in].Process
		sent := e.At
		if e.Sent != 0 {
			sent = max(0, e.Sent)
		}
		asked = asked || request && i >= in && h.Events[in].At <= sent && sent < h.Events[out].At
		if e.Kind == history.Message && e.Op == history.Deliver && e.Process == h.Events[in].Process && in <= i && i < out && e.Word != "HELLO" && !strings.HasPrefix(e.Value, "NOSCRIPT") {
			return false
		}
	}
	for _, l := range facts.Of(h).Holds { // the last that had begun
		if l.Label == h.Events[in].Lease && l.From <= h.Events[in].At {
			lasted = h.Events[out].At < l.End
		}
	}
	return asked && lasted
}

// underWay reports whether a message from one process to another was lost, late, or held by a fault, so that it had not arrived by
// the outcome.
func underWay(h *history.History, in, out int, from, to string) bool {
	begin, end := h.Events[in].At, h.Events[out].At
	for i, e := range h.Events {
		switch {
		case e.Kind == history.Message && e.By == from && e.Process == to:
			lost := e.Op == history.Drop && in < i && i < out
			late := i > out && begin <= e.Sent && e.Sent < end && (e.Op == history.Drop || e.At-e.Sent >= h.Meta.TTL/400)
			if lost || late {
				return true
			}
		case e.Kind == history.Bite && e.At <= end:
			words := strings.Fields(e.Value) // on request release c1->n1 delay 3s
			if len(words) < 5 || words[0] != "on" || words[3] != from+"->"+to {
				continue
			}
			if words[4] == "delay" {
				by, err := time.ParseDuration(words[5])
				if err == nil && end < e.At+by {
					return true
				}
			}
			if words[4] == "hold" && !slices.ContainsFunc(h.Events[i:], func(f history.Event) bool {
				verb, link, _ := strings.Cut(f.Value, " ")
				mine := link == from+"-"+to || link == to+"-"+from || link == from+"->"+to || verb == "heal" && link == ""
				return f.Kind == history.Injected && f.At <= end && mine && (verb == "release" || verb == "heal")
			}) {
				return true
			}
		}
	}
	return false
}

// standsAt reports whether a server has a key that excuses the lock: nobody could have removed it.
func standsAt(h *history.History, lock, server string, t time.Duration) bool {
	for i, set := range h.Events {
		if set.Process != server || set.Kind != history.State || set.Op != history.Set && set.Op != history.Over || set.At > t {
			continue
		}
		if slices.ContainsFunc(acquired(h), func(j int) bool { return h.Events[j].Lease == set.Lease && h.Events[j].Lock != lock }) {
			continue // it is a key of another lock
		}
		end := time.Duration(history.NoEnd)
		timed, promise := set.At, promiseOracle(h, i)
		for j, e := range h.Events[i+1:] {
			if e.Process != server || e.Kind != history.State {
				continue
			}
			if e.Op == history.Retime {
				timed, promise = e.At, promiseOracle(h, i+1+j)
			}
			if slices.Contains([]string{history.Set, history.Over, history.Delete, history.Expire, history.Lose}, e.Op) {
				end = e.At
				break
			}
		}
		if t >= end {
			continue
		}
		// When did it become a key that nobody could remove?
		owner, hindered := history.Client(set.Lease), time.Duration(history.NoEnd)
		instants := []time.Duration{set.At}
		if set.Sent != 0 {
			instants = append(instants, set.Sent)
		}
		for _, e := range h.Events {
			if e.At >= slices.Min(instants) && e.At < end {
				instants = append(instants, e.At)
			}
		}
		for _, u := range instants {
			crashed := state(h, owner, u, history.Injected, "crash") != ""
			if crashed || pausedAt(h, owner, u) || apartAt(h, owner, server, u) || downAt(h, server, u) {
				hindered = min(hindered, max(u, set.At))
			}
		}
		if promise != history.NoEnd {
			hindered = min(hindered, timed+promise+promise/100+10*time.Millisecond)
		}
		handed := slices.ContainsFunc(acquired(h), func(j int) bool { return h.Events[j].Lease == set.Lease && h.Events[grantOracle(h, j)].At < end })
		for _, e := range h.Events {
			between := e.By == owner && e.Process == server || e.By == server && e.Process == owner && e.Word != requestOracle(h, i)
			if handed || e.Kind != history.Message || !between {
				continue
			}
			lost := e.At
			if e.Op != history.Drop {
				lost = e.Sent
			}
			if late := e.At-e.Sent >= h.Meta.TTL/400; (e.Op == history.Drop || late) && lost >= slices.Min(instants) && lost < end {
				hindered = min(hindered, max(lost, set.At))
			}
		}
		back, given := letGoOracle(h, set.Lease, server, i)
		switch {
		case handed && t >= forfeitOracle(h, set.Lease, server, i, promise):
		case handed && promise != history.NoEnd && !postdatedOracle(h, set.Lease, timed, promise) && promise > 2*askedOracle(h, set.Lease)+time.Second && t >= max(heardOracle(h, set, timed, end)+askedOracle(h, set.Lease), endOracle(h, set.Lease)):
		case handed && (!given || t < back || hindered <= back):
			return true
		case !handed && hindered <= t:
			return true
		}
	}
	return false
}

// requestOracle returns the word of the last request that a server received from the owner of a key before it set the key.
func requestOracle(h *history.History, set int) (word string) {
	for _, e := range h.Events[:set] {
		if e.Kind == history.Message && e.Op == history.Deliver && e.Process == h.Events[set].Process && e.By == history.Client(h.Events[set].Lease) {
			word = e.Word
		}
	}
	return word
}

// forfeitOracle returns from when on a key no longer excuses the lock: it has no end, but its lease had one.
func forfeitOracle(h *history.History, label, server string, set int, promise time.Duration) time.Duration {
	var end time.Duration
	for _, l := range facts.Of(h).Holds {
		if l.Label == label {
			if l.Endless || promise != history.NoEnd {
				return history.NoEnd
			}
			end = max(end, l.End)
		}
	}
	if e := h.Events[set]; e.By == "" || e.By == history.Client(label) { // this request may be an extension that sets the key again
		for _, l := range facts.Of(h).Holds {
			if l.Label == label && l.ReturnEvent < set && l.From <= e.Departure() && e.Departure() <= l.End {
				end = max(end, e.At+askedOracle(h, label))
			}
		}
	}
	for _, e := range h.Events[set:] { // until its key ends: it may be an extension
		if e.Process == server && e.Kind == history.State && slices.Contains([]string{history.Over, history.Delete, history.Expire, history.Lose}, e.Op) && e.Owner == label {
			break
		}
		heard := e.Kind == history.Message && e.Op == history.Deliver && e.Process == server && e.By == history.Client(label)
		for _, l := range facts.Of(h).Holds {
			if heard && l.Label == label && l.From <= e.Sent && e.Sent <= l.End {
				end = max(end, e.At+askedOracle(h, label))
			}
		}
	}
	return end + h.Meta.TTL/100 + 10*time.Millisecond
}

// askedOracle returns the longest TTL that a client asked for.
func askedOracle(h *history.History, label string) (asked time.Duration) {
	for _, e := range h.Events {
		if acquired := e.Kind == history.OK && e.Op == history.Acquire; e.Lease == label && (acquired || e.Kind == history.Invoke && e.Op == history.Extend) {
			asked = max(asked, cmp.Or(e.TTL, h.Meta.TTL))
		}
	}
	return asked
}

// postdatedOracle reports whether the wall clock of its owner explains why a key outlasts what was asked for.
func postdatedOracle(h *history.History, label string, timed, promise time.Duration) bool {
	var ahead time.Duration
	for _, e := range h.Events {
		if e.Process == history.Client(label) && e.At <= timed {
			ahead = e.Wall
		}
	}
	excess := promise - askedOracle(h, label)
	return excess > facts.Rounding && excess <= ahead+facts.Rounding
}

// heardOracle returns when the node of a key, set by an event, last heard from its owner before the key ended, or when its deadline was set.
func heardOracle(h *history.History, set history.Event, timed, end time.Duration) time.Duration {
	for _, e := range h.Events {
		if e.Kind == history.Message && e.Op == history.Deliver && e.Process == set.Process && e.By == history.Client(set.Lease) && set.At <= e.At && e.At < end {
			timed = max(timed, e.At)
		}
	}
	return timed
}

// endOracle returns the last end of a lease.
func endOracle(h *history.History, label string) (end time.Duration) {
	for _, l := range facts.Of(h).Holds {
		if l.Label == label {
			end = max(end, l.End)
		}
	}
	return end
}

// promiseOracle returns for how long a key was to live: one TTL or for ever or, for a copy, the time that was left to the key on
// n1.
func promiseOracle(h *history.History, i int) time.Duration {
	e := h.Events[i]
	timed := e
	if e.By == "n1" {
		for _, k := range h.Events[:i] {
			switch {
			case k.Process != "n1" || k.Kind != history.State:
			case (k.Op == history.Set || k.Op == history.Over) && k.Lease == e.Lease, k.Op == history.Retime && k.Owner == e.Lease:
				timed = k
			}
		}
	}
	if timed.Until == history.NoEnd {
		return history.NoEnd
	}
	return max(0, timed.At+h.Meta.TTL-e.At)
}

// neededAt reports whether a client that asks is entitled to the lock.
func neededAt(h *history.History, client, lock string, t time.Duration) bool {
	if pausedAt(h, client, t) || heldAt(h, lock, t) {
		return false
	}
	gone, taken := 0, 0
	for _, node := range h.Meta.Nodes {
		there, stands := false, false
		for _, m := range members(h, node) {
			leads := leadsAt(h, m, t)
			there = there || leads && !downAt(h, m, t) && !apartAt(h, client, m, t) && !refusesAt(h, m, t)
			stands = stands || leads && standsAt(h, lock, m, t)
		}
		switch {
		case !there:
			gone++
		case stands:
			taken++
		}
	}
	return gone <= 1 && gone+taken <= 1 // of three nodes
}

// refusesAt reports whether the last that is known of a server is that it refused a write because it had too few replicas.
func refusesAt(h *history.History, server string, t time.Duration) bool {
	refuses := func(e history.Event) bool { return strings.HasPrefix(e.Value, "NOREPLICAS") }
	return slices.ContainsFunc(h.Events, func(refusal history.Event) bool {
		if refusal.Kind != history.Message || refusal.By != server || !refuses(refusal) || refusal.Sent > t {
			return false
		}
		return !slices.ContainsFunc(h.Events, func(e history.Event) bool {
			switch {
			case e.Kind == history.Message && e.By == server:
				return e.Word == refusal.Word && !refuses(e) && refusal.Sent < e.Sent && e.Sent <= t
			case e.Kind == history.Injected:
				return refusal.Sent < e.At && e.At <= t
			}
			return false
		})
	})
}

// patience is half a TTL of a random history.
const patience = 2 * time.Second

// faultToleranceOracle returns when clients had asked in vain for too long: one time for each client, before these are merged into
// violations.
func faultToleranceOracle(h *history.History) []time.Duration {
	var found []time.Duration
	for _, s := range unservedOracle(h) {
		found = append(found, s.From+patience)
	}
	slices.Sort(found)
	return found
}

// unservedOracle returns the times, longer than patience, in which a client asked for a lock in vain that it should have got.
func unservedOracle(h *history.History) (found []facts.Stretch) {
	instants := []time.Duration{}
	for _, e := range h.Events {
		instants = append(instants, e.At)
		if e.Kind == history.Message {
			instants = append(instants, e.Sent) // a late message is missed from then on
			for d := time.Duration(0); d <= h.Meta.TTL; d += time.Second {
				instants = append(instants, e.At+d) // a node has heard from its sender
			}
		}
		if e.Kind == history.State && e.Key == "k" {
			for d := time.Duration(0); d <= h.Meta.TTL; d += time.Second {
				instants = append(instants, e.At+d, e.At+d+d/100+10*time.Millisecond)
			}
		}
	}
	for _, l := range facts.Of(h).Holds {
		instants = append(instants, l.End, min(l.End, time.Hour)+h.Meta.TTL/100+10*time.Millisecond)
	}
	slices.Sort(instants)
	for i, e := range h.Events {
		if e.Kind != history.Invoke || e.Op != history.Acquire || e.Process == h.Meta.Probe {
			continue
		}
		if j := previous(h, i); j >= 0 && h.Events[j].Op == history.Acquire && h.Events[j].Kind != history.OK && h.Events[j].At == e.At && lockOf(h, j) == e.Lock {
			continue // one of several consecutive tries, not the first
		}
		if owed(h, i) {
			continue
		}
		from, end := time.Duration(-1), lastOf(h, i)
		for n, t := range instants {
			if t < e.At || t >= end || n > 0 && t == instants[n-1] {
				continue
			}
			next := end
			for _, u := range instants[n:] {
				if u > t {
					next = min(u, end)
					break
				}
			}
			if !neededAt(h, e.Process, e.Lock, t) {
				from = -1
				continue
			}
			if from < 0 {
				from = t
			}
			switch before := t - from; {
			case next-from <= patience:
			case before <= patience:
				found = append(found, facts.Stretch{From: from, To: next})
			default:
				found[len(found)-1].To = next
			}
		}
	}
	return found
}

// owed reports whether a client that asks for a lock has had it before and not called Release since.
func owed(h *history.History, ask int) (owes bool) {
	label := ""
	for _, e := range h.Events[:ask] {
		switch {
		case e.Process != h.Events[ask].Process:
		case e.Op == history.Acquire && e.Kind == history.OK && e.Lock == h.Events[ask].Lock:
			label, owes = e.Lease, true
		case e.Op == history.Release && e.Kind == history.Invoke && e.Lease == label:
			owes = false
		}
	}
	return owes
}

// previous returns the outcome of the operation of a client before event i, or -1.
func previous(h *history.History, i int) int {
	for j := i - 1; j >= 0; j-- {
		if e := h.Events[j]; e.Process == h.Events[i].Process && (e.Kind == history.OK || e.Kind == history.Fail || e.Kind == history.Info && e.ID != 0) {
			return j
		}
	}
	return -1
}

// lockOf returns the lock that the operation of an outcome asked for.
func lockOf(h *history.History, outcome int) string {
	for _, e := range h.Events[:outcome] {
		if e.Kind == history.Invoke && e.Process == h.Events[outcome].Process && e.ID == h.Events[outcome].ID {
			return e.Lock
		}
	}
	return ""
}

// lastOf returns when the tries that begin with event i end: with the outcome of the last one that follows at once.
func lastOf(h *history.History, i int) time.Duration {
	ask := h.Events[i]
	for j, e := range h.Events[i+1:] {
		gone := e.Kind == history.Injected && e.Op == "crash" || e.Op == history.Exit
		if e.Process == ask.Process && gone {
			return e.At
		}
		if e.Process != ask.Process || e.ID != ask.ID || e.Kind == history.Injected || e.Kind == history.Invoke {
			continue
		}
		if e.Kind == history.OK {
			return e.At
		}
		for k, next := range h.Events[i+1+j+1:] {
			if next.Process == ask.Process && next.Kind == history.Invoke {
				if next.Op == history.Acquire && next.Lock == ask.Lock && next.At == e.At {
					return lastOf(h, i+1+j+1+k)
				}
				break
			}
		}
		return e.At
	}
	return h.Events[len(h.Events)-1].At
}

// One violation stands for all clients that asked in vain at the same time. So the oracle must have found the time of each
// violation, and every time that it finds must lie in one.
func TestFaultToleranceOracle(t *testing.T) {
	outcomes := tally{}
	rapid.Check(t, func(t *rapid.T) {
		outcomes[compareFaultTolerance(t, handmade.Random(t))]++
	})
	outcomes.check(t)
}

// After the two late replies had left, exactly half a TTL remained in which the keys could have been removed. This is not too long.
func TestFaultToleranceOracleUntilAMessageLeft(t *testing.T) {
	h := handmade.History(t, `
		nodes 3
		ttl 4
		0    c2 invoke acquire
		0    n1 set c2#1 key=k
		0    n2 set c2#1 key=k
		0    c1 invoke acquire
		3    c2 deliver n1 sent=2 word=SET
		3    c2 deliver n2 sent=2 word=SET
		3    c1 fail acquire`)
	if compareFaultTolerance(t, h) {
		t.Error("violated")
	}
}

// A reply that left at the very start of the run and arrived a second later is late like any other: time 0 is an instant, not a
// missing value. Its client could not know of the key, which therefore excuses the refusals.
func TestFaultToleranceOracleSentAtTheStart(t *testing.T) {
	h := handmade.History(t, `
		nodes 3
		ttl 4
		probe c3
		0    c1 fault pause
		0    c2 invoke acquire
		0    c2 ok acquire c2#1 until=never
		0    c1 invoke acquire
		0    n2 set c1#1 key=k
		0    c3 invoke acquire
		0    n3 set c3#1 key=k
		0    c1 ok acquire c1#1 until=never
		0    c1 invoke release c1#1
		0    c1 ok release c1#1
		0    c1 invoke release c1#1
		0    c2 invoke release c2#1
		0    c2 ok release c2#1
		1    c3 deliver n3 sent=0 word=SET
		1    c2 invoke acquire
		4    c1 ok release c1#1`)
	if compareFaultTolerance(t, h) {
		t.Error("violated")
	}
}

// A heal of a link releases a held reply whichever end of the link it names first. So c2 could have removed its key from n2 when it
// released, and the key excuses nothing.
func TestFaultToleranceOracleHealNamesTheOtherEndFirst(t *testing.T) {
	h := handmade.History(t, `
		nodes 3
		ttl 4
		0    c1 invoke acquire
		0    n3 set c1#1 key=k
		0    c1 ok acquire c1#1 until=never
		0    c2 invoke acquire
		1    n2 set c2#1 key=k
		1    n2->c2 bite on_reply_release_n2->c2_hold
		1    c2 ok acquire c2#1 until=1
		1    c2 invoke release c2#1
		1    c2 ok release c2#1
		1    c2-n2 fault heal heal_c2-n2
		4    c2 fault pause
		4    c1 invoke release c1#1
		4    c1 ok release c1#1
		4    c1 invoke acquire
		8    n1 fault resume`)
	if !compareFaultTolerance(t, h) {
		t.Error("not violated")
	}
}

// compareFaultTolerance fails the test unless the checker and the oracle agree on a history, and returns whether it is violated.
func compareFaultTolerance(t rapid.TB, h *history.History) bool {
	t.Helper()
	want := faultToleranceOracle(h)
	var got []time.Duration
	for _, v := range Check(facts.Of(h), nil).Violations {
		if v.Property == FaultTolerance {
			got = append(got, v.At)
		}
	}
	if (len(got) > 0) != (len(want) > 0) || len(got) > 0 && got[0] != want[0] {
		t.Fatalf("found %v, oracle %v", got, want)
	}
	for _, at := range got {
		if !slices.Contains(want, at) {
			t.Fatalf("found %v, oracle %v", got, want)
		}
	}
	return len(want) > 0
}

// stuckOracle reports whether a client was left unserved for too long after a TTL without a fault.
func stuckOracle(h *history.History) bool {
	return slices.ContainsFunc(unservedOracle(h), func(s facts.Stretch) bool {
		return s.To > max(s.From, settledOracle(h, s.To)+h.Meta.TTL)+5*time.Second
	})
}

// settledOracle returns the last instant before another at which a fault acted.
func settledOracle(h *history.History, before time.Duration) (at time.Duration) {
	instants := []time.Duration{before}
	for _, e := range h.Events {
		late := e.Kind == history.Message && (e.Op == history.Drop || e.At-e.Sent >= h.Meta.TTL/400)
		if e.At < before && (late || e.Kind == history.Injected || e.Kind == history.Bite) {
			at = max(at, e.At)
		}
		if e.At < before {
			instants = append(instants, e.At)
		}
		for d := range 4 { // until a message is no longer kept back
			if t := e.At + time.Duration(d)*time.Second; e.Kind == history.Bite && t < before {
				instants = append(instants, t)
			}
		}
	}
	slices.Sort(instants)
	for n, t := range instants[:len(instants)-1] {
		if troubledAt(h, t) {
			at = max(at, instants[n+1])
		}
	}
	return at
}

// troubledAt reports whether a fault acts that lasts.
func troubledAt(h *history.History, t time.Duration) bool {
	servers := []string{"n1", "n2", "n3", "r1"}
	for _, p := range append(servers, "c1", "c2", "c3") {
		if pausedAt(h, p, t) || slices.Contains(servers, p) && downAt(h, p, t) {
			return true
		}
		var ppm int64
		for _, e := range h.Events {
			if e.Process == p && e.Op == "drift" && e.At <= t {
				ppm = e.PPM
			}
		}
		if ppm != 0 {
			return true
		}
		for _, s := range servers {
			if p != s && apartAt(h, p, s, t) {
				return true
			}
		}
	}
	for i, e := range h.Events {
		if e.Kind == history.Bite && e.At <= t && keptBackAt(h, i, t) {
			return true
		}
	}
	return false
}

// keptBackAt reports whether a fault, which had an effect at event i, still keeps its message back.
func keptBackAt(h *history.History, i int, t time.Duration) bool {
	bite := h.Events[i]
	words := strings.Fields(bite.Value) // on request release c1->n1 delay 3s
	if words[4] == "delay" {
		by, err := time.ParseDuration(words[5])
		return err == nil && t < bite.At+by
	}
	a, b, _ := strings.Cut(words[3], "->")
	return words[4] == "hold" && !slices.ContainsFunc(h.Events[i:], func(e history.Event) bool {
		verb, link, _ := strings.Cut(e.Value, " ")
		mine := slices.Contains([]string{a + "-" + b, b + "-" + a, a + "->" + b}, link) || verb == "heal" && link == ""
		return e.Kind == history.Injected && e.At <= t && mine && (verb == "release" || verb == "heal")
	})
}
