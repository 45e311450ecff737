// Package facts reads a history once for everybody who judges, explains or shows it: which client held which lease, which key
// stood for a lease where and until when, which operations have which outcomes, what was down, paused or out of reach, and what
// the clocks showed. It judges nothing.
//
// Everything is defined by events, and not by what a lock says about itself.
//
//   - A lease is granted by the node event that completes the last majority of nodes with its key before Acquire returns.
//     A key that is gone is no longer a vote, so that tries with one token do not add up. This event determines the order of
//     grants: a reply that is held for 12 s does not make its receiver the newer holder. A key that a client sets on a promoted
//     replica is a vote of the node that the replica replaced; a replicated key is not a vote.
//   - A client holds the lease from the return of Acquire. The hold ends when the client invokes Release, crashes, exits, or
//     learns that the lease is lost, or when its own steady clock reaches the end of the lease, whichever comes first. An
//     extension in time moves that end; one that comes too late begins another hold of the same lease. Until a client knows the
//     outcome of an extension, it relies only on the earlier of the old end and the new one. Once it has failed, or nobody can
//     tell, the client relies on the end that the lock gives.
package facts

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"lockstep/sim/history"
)

// Facts are what a history shows. Maps and slices of numbers have indices into Events, ascending, unless they say otherwise. Facts
// are not changed once they are made, and any number of goroutines may read them.
type Facts struct {
	*history.History

	// Malformed says where the history contradicts itself; nil if it does not. If it does, the rest proves nothing.
	Malformed error

	Groups     map[string]string // the lock node of each server: itself, or the node of which it is a replica
	Servers    map[string]bool   // whose events are not commands of a client
	Promotions map[string][]int  // by the lock node that was replaced

	Invokes    map[string][]int // invocations, by client
	Outcome    map[int]int      // of an invocation
	Invocation map[int]int      // of an outcome
	Reads      map[string][]int // of the resource: the ok outcomes, by client
	Exits      map[string][]int

	Leases     []Lease           // the first hold of each, in the order of their returns
	Holds      []Lease           // all holds, in the order of their beginnings
	HoldsOf    map[string][]int  // where in Holds, by label
	Successor  map[string]*Lease // by label, the lease on the same lock that was granted next
	Releases   map[string][]int  // invocations, by label
	Extensions map[string][]int  // by label, the events that told a client another end, including renewals by the lock itself
	Passing    map[string]bool   // keys by which clients only ask for the lock, or wait for it: see readPassing
	Losses     map[string][]int  // by label, the events that told a client that its lease is lost
	changes    map[string][]int  // by label, Extensions, Losses, and the invocations and outcomes of all extensions
	byLabel    map[string]int    // where in Leases
	grants     map[string][]int  // by label, the events by which a majority of nodes got a key of the lease
	keys       int               // how many keys on one node are needed for its vote

	Lives   []Life                // of the keys that stood for a lease, in the order of their beginnings
	LivesOf map[string][]int      // where in Lives, by the label of the lease
	livesAt map[place][]int       // where in Lives
	Dues    map[int]time.Duration // by the event that set it, the deadline of a key in true time
	Fences  map[string][]int      // changes of the counters of fencing tokens, by server
	hidden  bool                  // no key is known to be such a counter, so that Fences has all changes of keys

	Bitten  map[int]bool // the numbers of the faults that had an effect
	Pauses  map[string][]Span
	Crashes map[string][]int  // and orderly stops
	Outages map[string][]Span // from a crash or an orderly stop to the restart
	Cuts    []int             // faults of links that last: cuts, holds and delays; see [Lasting]
	Undone  map[int]int       // by a fault that lasts, on a process or a link: the fault that ended it

	Clocks      map[string][]history.Clock // readings of steady clocks; see [When]
	ClockFaults map[string][]int

	// Messages that took as long as if the other end was out of reach, by sender and by receiver; see [Facts.OutOfReach].
	Tardy map[string][]int
	// KeptBack is when a fault held or delayed a message that it had chosen. Messages that are sent after it on the same connection
	// cannot overtake it.
	KeptBack  map[Direction][]Stretch
	Shut      map[Direction][]Stretch // when each direction of a link was cut or held
	broken    map[Direction][]Stretch // or its delay made the other end as good as gone; see Apart
	disturbed map[Direction][]Stretch // or it had any delay
}

// A Span is the time between two events. If nothing ends it, To is the number of events.
type Span struct{ From, To int }

// Of reads a history. It accepts any history, also one that contradicts itself.
func Of(h *history.History) *Facts {
	f := &Facts{
		History:     h,
		Malformed:   WellFormed(h),
		byLabel:     map[string]int{},
		HoldsOf:     map[string][]int{},
		Successor:   map[string]*Lease{},
		Groups:      map[string]string{},
		Servers:     map[string]bool{},
		LivesOf:     map[string][]int{},
		livesAt:     map[place][]int{},
		Dues:        map[int]time.Duration{},
		Fences:      map[string][]int{},
		Promotions:  map[string][]int{},
		Invocation:  map[int]int{},
		Outcome:     map[int]int{},
		grants:      map[string][]int{},
		Releases:    map[string][]int{},
		Reads:       map[string][]int{},
		Extensions:  map[string][]int{},
		Passing:     map[string]bool{},
		Losses:      map[string][]int{},
		changes:     map[string][]int{},
		Crashes:     map[string][]int{},
		Exits:       map[string][]int{},
		Invokes:     map[string][]int{},
		Bitten:      map[int]bool{},
		Pauses:      map[string][]Span{},
		Outages:     map[string][]Span{},
		Undone:      map[int]int{},
		Clocks:      map[string][]history.Clock{},
		ClockFaults: map[string][]int{},
		Tardy:       map[string][]int{},
		KeptBack:    map[Direction][]Stretch{},
		broken:      map[Direction][]Stretch{},
		disturbed:   map[Direction][]Stretch{},
		Shut:        map[Direction][]Stretch{},
		keys:        1,
	}
	f.readServers()
	f.readOperations()
	f.readFaults()
	f.readKeys()
	f.readMessages()
	f.readLinks()
	f.readKeptBack()
	for i, e := range h.Events {
		if e.Kind == history.OK && e.Op == history.Acquire {
			holds := f.newHolds(i)
			f.byLabel[e.Lease] = len(f.Leases)
			f.Leases = append(f.Leases, holds[0])
			f.Holds = append(f.Holds, holds...)
		}
	}
	slices.SortFunc(f.Holds, func(a, b Lease) int { return cmp.Compare(a.ReturnEvent, b.ReturnEvent) })
	for n, l := range f.Holds {
		f.HoldsOf[l.Label] = append(f.HoldsOf[l.Label], n)
	}
	for _, leases := range f.ByGrant() {
		for i, l := range leases[1:] {
			f.Successor[leases[i].Label] = l
		}
	}
	return f
}

// readServers finds out which processes are servers. A node without replicas is a group of its own.
func (f *Facts) readServers() {
	for _, n := range f.Meta.Nodes {
		f.Groups[n], f.Servers[n] = n, true
	}
	for r, n := range f.Meta.Replicas {
		if slices.Contains(f.Meta.Nodes, n) && f.Groups[r] == "" {
			f.Groups[r] = n
		}
		f.Servers[r] = true
	}
	for _, p := range f.Meta.Others {
		f.Servers[p] = true
	}
	for i, e := range f.Events {
		if e.Kind == history.State && e.Op == history.Promoted && f.Groups[e.Process] != "" {
			f.Promotions[f.Groups[e.Process]] = append(f.Promotions[f.Groups[e.Process]], i)
		}
	}
}

func (f *Facts) readOperations() {
	type operation struct {
		process string
		id      int
	}
	pending := map[operation]int{}
	ppm := map[string]int64{}
	for i, e := range f.Events {
		op := operation{e.Process, e.ID}
		switch {
		case e.Kind == history.Invoke:
			pending[op] = i
			f.Invokes[e.Process] = append(f.Invokes[e.Process], i)
			if e.Op == history.Release {
				f.Releases[e.Lease] = append(f.Releases[e.Lease], i)
			}
		case e.Kind == history.Info && e.Op == history.Exit:
			f.Exits[e.Process] = append(f.Exits[e.Process], i)
		case e.EndsOperation():
			if j, ok := pending[op]; ok {
				f.Invocation[i], f.Outcome[j] = j, i
			}
		}
		switch {
		case e.Kind == history.OK && e.Op == history.Acquire:
			f.keys = max(f.keys, e.Keys)
		case e.Kind == history.OK && e.Op == history.Read:
			f.Reads[e.Process] = append(f.Reads[e.Process], i)
		case e.Kind == history.Info && e.Op == history.Lost, e.Kind == history.Fail && e.Op == history.Extend && 0 < e.Until && e.Until <= e.Clock:
			f.Losses[e.Lease] = append(f.Losses[e.Lease], i)
		case e.Op == history.Extend && (e.Kind == history.OK || e.EndsOperation() && e.Until > 0), e.Kind == history.Info && e.Op == history.Renew:
			f.Extensions[e.Lease] = append(f.Extensions[e.Lease], i)
		}
		if e.Op == history.Extend || e.Kind == history.Info && (e.Op == history.Renew || e.Op == history.Lost) {
			f.changes[e.Lease] = append(f.changes[e.Lease], i)
		}
		if isReading(e) {
			if e.Kind == history.Injected {
				ppm[e.Process] = e.PPM
			}
			f.Clocks[e.Process] = append(f.Clocks[e.Process], history.Clock{Since: e.At, Steady: e.Clock, PPM: ppm[e.Process]})
		}
	}
}

func (f *Facts) readFaults() {
	end := len(f.Events)
	begin := func(spans map[string][]Span, process string, i int) {
		if s := spans[process]; len(s) == 0 || s[len(s)-1].To < end {
			spans[process] = append(s, Span{i, end})
		}
	}
	finish := func(spans map[string][]Span, process string, i int) {
		if s := spans[process]; len(s) > 0 && s[len(s)-1].To == end {
			s[len(s)-1].To = i
		}
	}
	open := map[string][]int{} // by target, the faults that last
	undo := func(target string, i int, ops ...string) {
		open[target] = slices.DeleteFunc(open[target], func(j int) bool {
			ends := slices.Contains(ops, f.Events[j].Op)
			if ends {
				f.Undone[j] = i
			}
			return ends
		})
	}
	for i, e := range f.Events {
		if e.Kind == history.Bite {
			f.Bitten[e.ID] = true
		}
		if e.Kind != history.Injected {
			continue
		}
		switch x := e.Fault().(type) {
		case history.Heal:
			for target := range open {
				if x.Link == (history.Link{}) || target == x.Target() {
					undo(target, i, "cut", "hold", "delay")
				}
			}
		case history.ReleaseLink:
			undo(x.Target(), i, "hold")
		case history.Delay:
			undo(x.Target(), i, "delay")
		}
		if link, ok := Lasting(e); ok {
			f.Cuts = append(f.Cuts, i)
			open[link.String()] = append(open[link.String()], i)
		}
		switch e.Op {
		case "pause":
			begin(f.Pauses, e.Process, i)
			open[e.Process] = append(open[e.Process], i)
		case "resume":
			finish(f.Pauses, e.Process, i)
			undo(e.Process, i, "pause")
		case "crash", "stop":
			f.Crashes[e.Process] = append(f.Crashes[e.Process], i)
			begin(f.Outages, e.Process, i)
			open[e.Process] = append(open[e.Process], i)
		case "restart":
			finish(f.Outages, e.Process, i)
			undo(e.Process, i, "crash", "stop")
		case "drift", "jump", "slew":
			f.ClockFaults[e.Process] = append(f.ClockFaults[e.Process], i)
		}
	}
}

func (f *Facts) readMessages() {
	for i, e := range f.Events {
		if e.Kind == history.Message && f.OutOfReach(e.At-e.Sent) {
			f.Tardy[e.By] = append(f.Tardy[e.By], i)
			f.Tardy[e.Process] = append(f.Tardy[e.Process], i)
		}
	}
}

// fenceSuffix is the suffix of the usual name of a counter of fencing tokens, after the name of its lock.
const fenceSuffix = ":fence"

// counters returns a function that reports whether fencing tokens are counted in a key: it has the usual name, or has had the token of a
// lease as its value. If there is no such key, the counter may be a part of the lock's own key, such as a field of a hash.
func (f *Facts) counters() func(key string) bool {
	tokens := map[string]bool{}
	for _, e := range f.Events {
		if e.Op == history.Acquire && e.Fence != 0 {
			tokens[strconv.FormatInt(e.Fence, 10)] = true
		}
	}
	keys := map[string]bool{}
	for _, e := range f.Events {
		if e.Kind == history.State && f.Groups[e.Process] != "" && (strings.HasSuffix(e.Key, fenceSuffix) || tokens[e.Value]) {
			keys[e.Key] = true
		}
	}
	f.hidden = len(keys) == 0 && len(tokens) > 0
	return func(key string) bool { return keys[key] || f.hidden }
}

// At returns the instant of event i; for the end of a [Span] or a [Life] that nothing ends, that of the last event.
func (f *Facts) At(i int) time.Duration { return f.Events[min(i, len(f.Events)-1)].At }

// Lease returns the first hold of the lease with a label, or nil if no Acquire is known to have returned it.
func (f *Facts) Lease(label string) *Lease {
	if n, ok := f.byLabel[label]; ok {
		return &f.Leases[n]
	}
	return nil
}

// Paused returns how long a process was paused between two instants of true time, and the event of the first such pause.
func (f *Facts) Paused(process string, from, to time.Duration) (total time.Duration, pause int) {
	pause = -1
	for _, s := range f.Pauses[process] {
		if d := min(f.At(s.To), to) - max(f.At(s.From), from); d > 0 {
			total += d
			if pause < 0 {
				pause = s.From
			}
		}
	}
	return total, pause
}

// HoldAt returns the last hold of a lease that had begun by the instant t, or the first hold; nil if there is no such lease.
func (f *Facts) HoldAt(label string, t time.Duration) *Lease {
	var found *Lease
	for _, n := range f.HoldsOf[label] {
		if l := &f.Holds[n]; found == nil || l.From <= t {
			found = l
		}
	}
	return found
}

// After returns the first of ascending event indices after i, or -1.
func After(events []int, i int) int {
	if n := sort.SearchInts(events, i+1); n < len(events) {
		return events[n]
	}
	return -1
}

// Before returns the last of ascending event indices before i, or -1.
func Before(events []int, i int) int {
	if n := sort.SearchInts(events, i); n > 0 {
		return events[n-1]
	}
	return -1
}

// Asked reports whether a client sent a request to a node in a call, given its two events. What leaves at the instant of the second
// belongs to the next call.
func (f *Facts) Asked(client string, in, out int) bool {
	return slices.ContainsFunc(f.Events[in:], func(e history.Event) bool {
		return e.Kind == history.Message && e.By == client && f.Groups[e.Process] != "" && f.At(in) <= e.Departure() && e.Departure() < f.At(out)
	})
}

// Unanswered reports whether a client asked, in a call with two events, and got no answer from any node. The reply to the greeting of a new
// connection answers nothing, nor does NOSCRIPT.
func (f *Facts) Unanswered(client string, in, out int) bool {
	return f.Asked(client, in, out) && !slices.ContainsFunc(f.Events[in:out], func(e history.Event) bool {
		return e.Kind == history.Message && e.Op == history.Deliver && e.Process == client && e.Word != "HELLO" && !strings.HasPrefix(e.Value, "NOSCRIPT")
	})
}

// TheLock returns words for a lock: "the lock", with its name if the clients ask for several locks.
func (f *Facts) TheLock(name string) string {
	if len(f.Meta.Names) == 0 {
		return "the lock"
	}
	return fmt.Sprintf("the lock %q", history.ShortName(name))
}
