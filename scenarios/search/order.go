package search

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
)

// How late something is does not matter in itself: what matters is which event it lands after. So a wait is a pair: what waits, and the
// later event that it waits for. Its magnitude is the time from the one to just after the other, in the run so far. Two events
// commute, and are no pair, if they have no key, link, process or resource in common.

// A wait is something that a perturbation holds up.
type wait struct {
	what   waiter
	client string        // that waits; whose message waits
	server string        // that waits; the other end of the message
	text   string        // of a request
	at     time.Duration // when it would go on, or arrive, without the perturbation
	over   time.Duration // when the operation of the client is over, for a reply
}

// A waiter is what waits.
type waiter int

const (
	waitingRequest waiter = iota // of a client to a server
	waitingReply                 // of a server to a client
	waitingClient                // a process, between two of its events
	waitingNode                  // a process that stalls: requests to it wait
	waitingRestart               // of a node, or the promotion of its replica: requests to it fail
)

// matters reports whether it makes a difference whether the wait ends before or after an event of the run so far. Keys are those of
// the server.
func (w wait) matters(e history.Event, isClient func(string) bool, keys []string) bool {
	arrives := e.Kind == history.Message && e.Op == history.Deliver && e.Word != "" && e.Word != handshake
	other := func(client string) bool { return isClient(client) && client != w.client }
	switch w.what {
	case waitingRequest:
		switch {
		case e.Process == w.client:
			return e.EndsOperation() // what the client sends next may overtake its request
		case e.Process == w.server && arrives:
			return other(e.By) && shareKey(w.text, e.Value, keys)
		case e.Process == w.server && e.Kind == history.State:
			return e.Op == history.Expire && shareKey(w.text, e.Key, keys)
		}
		return w.server == script.ResourceName && grants(e) && other(e.Process)
	case waitingReply:
		if e.Process == w.client {
			return arrives && e.At <= w.over // which of several replies comes first
		}
		return grants(e) && other(e.Process) || e.Process == script.ResourceName && e.Kind == history.State && other(e.By) || expires(e, w.client)
	case waitingClient:
		if grants(e) {
			return other(e.Process)
		}
		return e.Kind == history.State && e.Op != history.Over && e.Op != history.Retime && e.By != w.client && (other(e.By) || e.By == "")
	case waitingNode:
		locks := e.Op == history.Acquire || e.Op == history.Extend || e.Op == history.Release
		return isClient(e.Process) && locks && e.EndsOperation() || e.Process == w.server && e.Kind == history.State && e.Op == history.Expire
	case waitingRestart:
		return e.Process == w.server && arrives && isClient(e.By)
	}
	return false
}

// grants reports whether a client gets the lock.
func grants(e history.Event) bool { return e.Kind == history.OK && e.Op == history.Acquire }

// expires reports whether a key of a client expires.
func expires(e history.Event, client string) bool {
	return e.Kind == history.State && e.Op == history.Expire && history.Client(e.Owner) == client
}

// shareKey reports whether two requests may have a key in common. A request that names none of the keys that are known may have any.
func shareKey(a, b string, keys []string) bool {
	named := func(text string) []string {
		return slices.DeleteFunc(strings.Fields(text), func(word string) bool { return !slices.Contains(keys, word) })
	}
	x, y := named(a), named(b)
	return len(x) == 0 || len(y) == 0 || slices.ContainsFunc(x, func(key string) bool { return slices.Contains(y, key) })
}

// A mark is an event that a wait may end after: one of the run so far, or one that the wait itself brings about, such as a timeout or
// the end of a lease. Both times are counted from the end of the wait in the run so far.
type mark struct {
	at    time.Duration
	until time.Duration // a wait that ends after it; 0: any up to the next mark
}

// grain is the least distance of two events between which the end of a wait can be placed. What a process does next reaches others a
// latency later: which of two closer events it comes after is up to the messages, which wait as well.
func (w wait) grain() time.Duration {
	switch w.what {
	case waitingClient, waitingNode:
		return sim.MaxLatency
	}
	return 2
}

// waits returns the magnitudes of a wait: the fixed ones, or one between any two events that it matters to come between.
func (f *finder) waits(w wait, fixed []time.Duration) []time.Duration {
	if !f.ordered {
		return fixed
	}
	marks := f.expected(w, fixed)
	keys := f.keys(w.server)
	for _, e := range f.history.Events {
		if e.At > w.at && e.At <= f.end && w.matters(e, f.run.IsClient, keys) {
			marks = append(marks, mark{at: e.At - w.at})
		}
	}
	return f.thin(placedBetween(marks, w.grain()))
}

// mostPairs limits the number of pairs of a thing that waits and a later event; leastWaits for each are kept in any case. Without a limit, the number of
// pairs grows with the square of the number of events: a lock that polls a hundred times a second would have millions.
const (
	mostPairs  = 200_000
	leastWaits = 10 // for each event, however many there are
)

// thin limits the waits at one place to mostPairs divided by the number of events, but keeps at least leastWaits: first the shortest, up to
// half of the limit, then others spread over the rest.
func (f *finder) thin(all []time.Duration) []time.Duration {
	most := max(leastWaits, mostPairs/max(1, len(f.history.Events)))
	if len(all) <= most {
		return all
	}
	f.thinned = true
	kept, rest := all[:most/2:most/2], all[most/2:]
	for i := range most - most/2 {
		kept = append(kept, rest[i*len(rest)/(most-most/2)])
	}
	return kept
}

// keys are the keys that a server has had.
func (f *finder) keys(server string) (keys []string) {
	for _, e := range f.history.Events {
		if e.Kind == history.State && e.Process == server && e.Key != "" && !slices.Contains(keys, e.Key) {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// placedBetween returns a wait for each mark, which ends after it and before the next one. Of marks too close to each other only the
// last has one.
func placedBetween(marks []mark, grain time.Duration) (all []time.Duration) {
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.until, b.until)) })
	for i, m := range marks {
		next := history.NoEnd
		if i+1 < len(marks) {
			next = marks[i+1].at
		}
		until := roundAfter(m.at, next)
		if m.until > 0 {
			until = roundAfter(m.until-1, next)
		}
		if next-m.at >= grain && until < next && !slices.Contains(all, until) {
			all = append(all, until)
		}
	}
	return all
}

// roundAfter returns a duration between two others, a little greater than lo, that has few digits.
func roundAfter(lo, hi time.Duration) time.Duration {
	unit := time.Duration(1)
	for unit <= lo {
		unit *= 10
	}
	for ; unit > 1; unit /= 10 {
		if d := (lo/unit + 1) * unit; d < hi && d-lo <= max(lo/8, time.Millisecond) {
			return d
		}
	}
	return lo + 1
}

// expected are the marks that are not in the run so far, because the wait brings them about. Their times are not exact, so that their
// waits end a good deal later.
func (f *finder) expected(w wait, fixed []time.Duration) (marks []mark) {
	add := func(at, until time.Duration) {
		if at >= 0 && until > at {
			marks = append(marks, mark{at, until})
		}
	}
	if len(fixed) > 0 {
		add(0, fixed[0]) // before everything else
	}
	switch w.what {
	case waitingRequest, waitingReply:
		if f.NodeTimeout > 0 {
			add(f.NodeTimeout, twoDigits(f.NodeTimeout*6/5))
			if f.Retry > 0 {
				add(f.NodeTimeout+f.Retry, twoDigits(f.NodeTimeout+f.Retry*6/5))
			}
		}
	case waitingNode:
		if f.NodeTimeout > 0 {
			for _, e := range f.history.Events {
				if e.Kind == history.Message && e.Process == w.server && f.run.IsClient(e.By) && e.At > w.at {
					late := e.Sent - w.at
					add(late+f.NodeTimeout, late+f.NodeTimeout*6/5)
					break
				}
			}
		}
	}
	end := f.TTL
	if due := f.due(w); due > 0 {
		end = due - w.at
	}
	if w.what != waitingClient && !(w.what == waitingRequest && w.server == script.ResourceName) {
		add(f.TTL, f.long())
		return marks
	}
	// The lease of the client ends, its keys expire, the next holder comes, and goes.
	next := f.TTL / 5
	if valid := f.lease(w); valid > w.at && valid-w.at < end {
		marks = append(marks, mark{at: valid - w.at})
	}
	add(end, end+f.TTL/50)
	add(end+f.TTL/10, end+next)
	add(end+next+f.work(), end+next+f.work()*6/5)
	if w.what == waitingClient { // it goes on before the end, but what it does next comes after it
		for _, e := range f.history.Events {
			if e.Process == w.client && e.Kind == history.Invoke && e.At > w.at && end > e.At-w.at {
				add(end-(e.At-w.at), end-(e.At-w.at)+f.TTL/50)
			}
		}
	}
	return marks
}

// due returns when the last of the keys that the client has at the time of a wait expires, in true time; 0 if it has none.
func (f *finder) due(w wait) time.Duration {
	due := map[string]time.Duration{}
	for _, e := range f.history.Events {
		if e.At > w.at {
			break
		}
		if e.Kind != history.State || e.Key == "" {
			continue
		}
		at := e.Process + " " + e.Key
		switch e.Op {
		case history.Set, history.Over, history.Retime:
			if delete(due, at); e.By == w.client && e.Until > 0 && e.Until != history.NoEnd {
				due[at] = e.Until - e.Wall
			}
		case history.Delete, history.Expire, history.Lose:
			delete(due, at)
		}
	}
	var last time.Duration
	for _, d := range due {
		last = max(last, d)
	}
	return last
}

// lease returns when the lease ends that the client has at the time of a wait, by its own clock and in true time; 0 if it has none or
// the lock does not say.
func (f *finder) lease(w wait) (end time.Duration) {
	label := ""
	for _, e := range f.history.Events {
		switch {
		case e.At > w.at:
			return end
		case e.Process != w.client:
		case e.Op == history.Release && e.Kind == history.Invoke:
			if e.Lease == label {
				end = 0
			}
		case e.Until > 0 && e.Until != history.NoEnd && (grants(e) || e.Op == history.Extend && e.Kind == history.OK || e.Op == history.Renew):
			end, label = e.At+e.Until-e.Clock, e.Lease
		}
	}
	return end
}

// work is the longest time in the run for which a client holds the lock.
func (f *finder) work() (longest time.Duration) {
	since := map[string]time.Duration{}
	for _, e := range f.history.Events {
		switch {
		case grants(e):
			since[e.Lease] = e.At
		case e.Op == history.Release && e.Kind != history.Invoke:
			if from, ok := since[e.Lease]; ok {
				longest = max(longest, e.At-from)
				delete(since, e.Lease) // it may be released again
			}
		}
	}
	return longest
}
