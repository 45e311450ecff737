package checker

import (
	"time"

	"lockstep/sim"
)

// An Ending says what ended a hold.
type Ending string

const (
	Released   Ending = "released"    // the client invoked Release, whatever came of it
	LeaseEnded Ending = "lease ended" // the client's own steady clock read the end of the lease
	Crashed    Ending = "crashed"
	Exited     Ending = "exited"    // the client reached the end of its lane
	RunEnded   Ending = "run ended" // nothing: the client still held the lock after the last event
)

// A Lease is what one successful Acquire handed out, and how long its client relied on it. Times are true time since the
// start of the run. Events are indices into History.Events, -1 where there is none.
type Lease struct {
	Client string
	Lock   string
	Label  string // c1#2
	ID     int    // the operation that acquired it
	Fence  int64

	Invoked time.Duration // when Acquire was called
	Granted time.Duration // when a majority of nodes came to have its key, the last time before From; From if that was not seen
	From    time.Duration // when Acquire returned: the hold begins
	To      time.Duration // the hold ends, and does not include this instant; may lie after the last event
	End     time.Duration // when the client's steady clock reads the end of the lease, or sim.NoEnd

	GrantSeen bool
	Ended     Ending

	InvokeEvent int
	GrantEvent  int // the return if the grant was not seen, so that leases are ordered by it
	ReturnEvent int
	EndEvent    int // -1 if time alone ended the hold
}

// Leases returns the leases of h, in the order of their returns.
func Leases(h *sim.History) []Lease { return newIndex(h).leases }

// newLease describes the lease that event i, an ok acquire, handed out.
func (ix *index) newLease(i int) Lease {
	e := ix.Events[i]
	l := Lease{
		Client: e.Process, Lock: e.Lock, Label: e.Lease, ID: e.ID, Fence: e.Fence,
		Invoked: e.At, Granted: e.At, From: e.At,
		InvokeEvent: -1, GrantEvent: i, ReturnEvent: i, EndEvent: -1,
	}
	if j, ok := ix.invocation[i]; ok {
		l.InvokeEvent, l.Invoked = j, ix.Events[j].At
	}
	if j := last(ix.grants[l.Label], i); j >= 0 {
		l.GrantEvent, l.Granted, l.GrantSeen = j, ix.Events[j].At, true
	}

	// A lock that does not say how long its lease lasts is trusted for as long as its keys should live.
	until := e.Until
	if until == sim.NoEnd && ix.Meta.TTL > 0 {
		until = later(e.Clock, ix.Meta.TTL)
	}
	l.End = when(ix.clocks[l.Client], until)
	l.To, l.Ended = max(l.End, l.From), LeaseEnded

	for _, end := range []struct {
		event int
		ended Ending
	}{
		{first(ix.releases[l.Label], i), Released},
		{first(ix.crashes[l.Client], i), Crashed},
		{first(ix.exits[l.Client], i), Exited},
	} {
		if end.event >= 0 && ix.Events[end.event].At <= l.To && (l.EndEvent < 0 || end.event < l.EndEvent) {
			l.EndEvent, l.To, l.Ended = end.event, ix.Events[end.event].At, end.ended
		}
	}
	if l.To > ix.at(len(ix.Events)-1) {
		l.Ended = RunEnded
	}
	return l
}

// held says whether the client relied on the lease at all: not if it was over when Acquire returned.
func (l *Lease) held() bool { return l.From < l.To }

// String says who held what and when.
func (l *Lease) String() string {
	s := l.Client + " held " + l.Label + " from " + seconds(l.From)
	if l.To == sim.NoEnd {
		return s + " without end"
	}
	return s + " to " + seconds(l.To)
}
