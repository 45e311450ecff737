package checker

import (
	"maps"
	"slices"
	"time"

	"lockstep/sim/history"
)

// An Ending says what ended a hold.
type Ending string

const (
	Released   Ending = "released"    // the client invoked Release, whatever its outcome
	LeaseEnded Ending = "lease ended" // the client's own steady clock read the end of the lease
	LeaseLost  Ending = "lease lost"  // the lock told the client so
	Crashed    Ending = "crashed"
	Exited     Ending = "exited"    // its lane ended
	RunEnded   Ending = "run ended" // nothing: the client still held the lock after the last event
)

// A Lease is what one successful Acquire returned, and how long its client relied on it without interruption. A lease that was
// extended after its end is held more than once: then there is a Lease for each hold, with the same label and grant. Times are
// true time since the start of the run. Events are indices into History.Events, -1 if there is none.
type Lease struct {
	Client string
	Lock   string
	Label  string // c1#2
	ID     int    // the operation that acquired it
	Fence  int64

	Invoked time.Duration // when Acquire was called
	Granted time.Duration // when a majority of nodes got its key, the last time before From; From if that was not seen
	From    time.Duration // when the hold begins: Acquire returned, or else the late extension
	To      time.Duration // when the hold ends, exclusive; may be after the last event
	// End is when the client's steady clock reads the end of the lease, with extensions in time. If the lease has no end by its
	// lock, End is when its keys expired, which the client may not know, or history.NoEnd if they did not.
	End time.Duration

	endless bool // the lock gave the lease no end
	lasts   bool // its client relies on it without an end

	Renews  bool // its lock renews it silently
	Renewed bool // its keys were renewed by a lock that reports nothing, not even that the lease is lost

	GrantSeen bool
	Ended     Ending

	InvokeEvent int
	GrantEvent  int // the return if the grant was not seen; leases are ordered by it
	ReturnEvent int // the first event of the hold
	EndEvent    int // -1 if time alone ended the hold
}

// Leases returns the holds of h, in the order of their beginnings: one for each lease, unless it was extended after its end.
func Leases(h *history.History) []Lease { return newIndex(h).holds }

// newHolds returns the holds of the lease that event i, an ok acquire, returned: the first, and those that began with a late
// extension. A client that has released a lease does not hold it again, even if an extension was in progress. After the lock has
// said that the lease is lost, only an extension that the client asked for begins a hold.
func (ix *index) newHolds(i int) []Lease {
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
	ix.valid(&l, i)

	given, ended := ix.givenUp(l.Label, l.Client, i)
	var holds []Lease
	finish := func() {
		if l.EndEvent < 0 && l.To > ix.at(len(ix.Events)-1) {
			l.Ended = RunEnded
		}
		holds = append(holds, l)
	}
	changes := slices.Concat(ix.extensions[l.Label], ix.losses[l.Label])
	slices.Sort(changes)
	told := false // the lock has said that the lease is lost
	for _, j := range changes {
		e := ix.Events[j]
		switch {
		case e.Process != l.Client || j < i || given >= 0 && j > given:
		case e.Op == history.Lost || e.Kind == history.Fail: // an extension that failed because the lease is over
			told = true
			if l.EndEvent < 0 && e.At <= l.To {
				l.EndEvent, l.To, l.Ended = j, e.At, LeaseLost
			}
		case told && e.Op == history.Renew:
		case l.EndEvent < 0 && e.At < l.To:
			ix.valid(&l, j)
		default:
			finish()
			told = false
			l.From, l.ReturnEvent, l.EndEvent = e.At, j, -1
			ix.valid(&l, j)
		}
	}
	if given >= 0 && l.EndEvent < 0 && ix.at(given) <= l.To {
		l.EndEvent, l.To, l.Ended = given, ix.at(given), ended
	}
	finish()
	return holds
}

// valid sets the end of a hold by event i, an ok acquire or an extension. If the lock does not say how long its lease lasts, the
// client goes by what it knows of the keys:
//
//   - they last for one TTL: it relies on the lease for a TTL by its own clock, or until the deadline of the last renewal;
//   - they have no deadline either: it relies on the lease until it gives it up;
//   - the lock renews them and says when the lease is lost: it relies on the lease until it is told.
func (ix *index) valid(l *Lease, i int) {
	e := ix.Events[i]
	until := e.Until
	l.endless, l.Renews = until == history.NoEnd, e.Renews && until == history.NoEnd
	if until == history.NoEnd && ix.Meta.TTL > 0 && !e.Renews && !ix.lasting(l.Label, i) {
		until = later(e.Clock, ix.Meta.TTL)
	}
	l.End = when(ix.clocks[l.Client], until)
	if i > l.ReturnEvent {
		l.End = max(l.End, e.At) // until then it lasted, even if the new end has passed already
	}
	if due := ix.renewedUntil(l.Label, i); l.endless && until < history.NoEnd && due > 0 {
		l.End, l.Renewed = max(l.End, due), true
	}
	l.To, l.Ended = max(l.End, e.At), LeaseEnded
	if l.lasts = until == history.NoEnd; l.lasts {
		l.End = ix.keysOver(l.Label)
	}
}

// lasting reports whether the client had set the keys of a lease without a deadline by event i, on a majority of nodes. It
// ignores what others did to a key.
func (ix *index) lasting(label string, i int) bool {
	voters := map[voter]bool{}
	for _, n := range ix.livesOf[label] {
		if k := ix.lives[n]; k.vote && k.from < i && k.lasting {
			voters[ix.voter(k)] = true
		}
	}
	return len(voters) >= ix.enough()
}

// renewedUntil returns until when a majority of nodes was to keep the keys of a lease, by the silent renewals of its client up to
// event i; 0 if there was no majority. It ignores what others did to a key.
func (ix *index) renewedUntil(label string, i int) time.Duration {
	renewed := map[voter]time.Duration{}
	for _, n := range ix.livesOf[label] {
		if k := ix.lives[n]; k.vote && k.from < i && i < k.to {
			renewed[ix.voter(k)] = max(renewed[ix.voter(k)], k.renewed)
		}
	}
	if len(renewed) < ix.enough() {
		return 0
	}
	dues := slices.Sorted(maps.Values(renewed))
	return dues[len(dues)-ix.enough()]
}

// keysOver returns when the last key of a lease expired, or [history.NoEnd] if none did or a command removed it.
func (ix *index) keysOver(label string) time.Duration {
	over := history.NoEnd
	for _, n := range ix.livesOf[label] {
		k := ix.lives[n]
		if k.to == len(ix.Events) {
			return history.NoEnd
		}
		switch e := ix.Events[k.to]; {
		case e.Op != history.Expire && e.Op != history.Lose:
			return history.NoEnd
		case over == history.NoEnd || e.At > over:
			over = e.At
		}
	}
	return over
}

// givenUp returns the first event after i by which a client gave up a lease for good, or ended; -1 if there is none.
func (ix *index) givenUp(label, client string, i int) (event int, ended Ending) {
	event = -1
	for _, end := range []struct {
		event int
		ended Ending
	}{
		{first(ix.releases[label], i), Released},
		{first(ix.crashes[client], i), Crashed},
		{first(ix.exits[client], i), Exited},
	} {
		if end.event >= 0 && (event < 0 || end.event < event) {
			event, ended = end.event, end.ended
		}
	}
	return event, ended
}

// held reports whether the client relied on the lease at all: it did not if the lease was over when Acquire returned.
func (l *Lease) held() bool { return l.From < l.To }

// String says who held what and when.
func (l *Lease) String() string {
	s := l.Client + " held " + l.Label + " from " + history.Seconds(l.From)
	if l.To == history.NoEnd {
		return s + " without end"
	}
	return s + " to " + history.Seconds(l.To)
}
