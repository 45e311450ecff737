package facts

import (
	"cmp"
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

	Endless bool // the lock gave the lease no end
	Lasts   bool // its client relies on it without an end

	Renews  bool // its lock renews it silently
	Renewed bool // its keys were renewed by a lock that reports nothing, not even that the lease is lost

	GrantSeen bool
	Ended     Ending

	InvokeEvent int
	GrantEvent  int // the return if the grant was not seen; leases are ordered by it
	ReturnEvent int // the first event of the hold
	EndEvent    int // -1 if time alone ended the hold
}

// attemptedAgain reports whether a key of a lease had been deleted by its client or had expired after event j, and was then set anew before event
// i. Some locks use one token for all attempts of an acquire. Then the majority of event j belongs to an attempt that failed.
func (f *Facts) attemptedAgain(label string, j, i int) bool {
	ended := map[place]bool{}
	for _, n := range f.LivesOf[label] { // in the order in which they began
		k := &f.Lives[n]
		if p := (place{k.Node, k.Key}); ended[p] && k.From < i {
			return true
		} else if k.To > j && k.To < i {
			e := f.Events[k.To]
			ended[p] = e.Op == history.Expire || e.Op == history.Delete && e.By == history.Client(label)
		}
	}
	return false
}

// newHolds returns the holds of the lease that event i, an ok acquire, returned: the first, and those that began with a late
// extension. A client that has released a lease does not hold it again, even if an extension was in progress. After the lock has
// said that the lease is lost, only an extension that the client asked for begins a hold.
func (f *Facts) newHolds(i int) []Lease {
	e := f.Events[i]
	l := Lease{
		Client: e.Process, Lock: e.Lock, Label: e.Lease, ID: e.ID, Fence: e.Fence,
		Invoked: e.At, Granted: e.At, From: e.At,
		InvokeEvent: -1, GrantEvent: i, ReturnEvent: i, EndEvent: -1,
	}
	if j, ok := f.Invocation[i]; ok {
		l.InvokeEvent, l.Invoked = j, f.Events[j].At
	}
	if j := Before(f.grants[l.Label], i); j >= 0 && !f.attemptedAgain(l.Label, j, i) {
		l.GrantEvent, l.Granted, l.GrantSeen = j, f.Events[j].At, true
	}
	f.valid(&l, i)

	given, ended := f.GivenUp(l.Label, l.Client, i)
	var holds []Lease
	finish := func() {
		if l.EndEvent < 0 && l.To > f.At(len(f.Events)-1) {
			l.Ended = RunEnded
		}
		holds = append(holds, l)
	}
	told := false          // the lock has said that the lease is lost
	asked := l             // as it was when the extension in progress was asked for
	again := func(j int) { // an end that comes too late begins a hold
		finish()
		told = false
		l.From, l.ReturnEvent, l.EndEvent = f.At(j), j, -1
	}
	for _, j := range f.changes[l.Label] {
		e := f.Events[j]
		_, moved := slices.BinarySearch(f.Extensions[l.Label], j)
		_, lost := slices.BinarySearch(f.Losses[l.Label], j)
		switch {
		case e.Process != l.Client || j < i || given >= 0 && j > given:
		case e.Kind == history.Invoke:
			asked = l
			if end := When(f.Clocks[l.Client], Later(e.Clock, f.TTL(e))); f.TTL(e) > 0 && l.EndEvent < 0 && e.At < l.To && end < l.To && !l.Lasts {
				l.End, l.To = end, end
			}
		case !moved && !lost: // the end is as it was
			switch {
			case l.EndEvent >= 0:
				l.End = asked.End
			case e.At < l.To:
				l.End, l.To = asked.End, asked.To
			case e.At < asked.To:
				again(j)
				l.End, l.To = asked.End, asked.To
			}
		case lost:
			told = true
			if l.EndEvent < 0 && e.At <= l.To {
				l.EndEvent, l.To, l.Ended = j, e.At, LeaseLost
			}
		case told && e.Op == history.Renew:
		case l.EndEvent < 0 && e.At < l.To:
			f.valid(&l, j)
			asked = l
		case e.Kind != history.OK && e.Op == history.Extend && (told || e.Until <= e.Clock): // it was over, and is
		default:
			again(j)
			f.valid(&l, j)
			asked = l
		}
	}
	if given >= 0 && l.EndEvent < 0 && f.At(given) <= l.To {
		l.EndEvent, l.To, l.Ended = given, f.At(given), ended
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
func (f *Facts) valid(l *Lease, i int) {
	e := f.Events[i]
	until := e.Until
	l.Endless, l.Renews = until == history.NoEnd, e.Renews && until == history.NoEnd
	if until == history.NoEnd && f.Meta.TTL > 0 && !e.Renews && !f.lasting(l.Label, i) {
		until = Later(e.Clock, f.TTL(e))
	}
	l.End = When(f.Clocks[l.Client], until)
	if i > l.ReturnEvent {
		l.End = max(l.End, e.At) // until then it lasted, even if the new end has passed already
	}
	if due := f.renewedUntil(l.Label); l.Endless && until < history.NoEnd && due > 0 {
		l.End, l.Renewed = max(l.End, due), true
	}
	l.To, l.Ended = max(l.End, e.At), LeaseEnded
	if l.Lasts = until == history.NoEnd; l.Lasts {
		l.End = f.keysOver(l.Label)
	}
}

// TTL returns for how long a client asked by an acquire or an extension.
func (f *Facts) TTL(e history.Event) time.Duration { return cmp.Or(e.TTL, f.Meta.TTL) }

// LongestTTL returns the longest TTL for which a client acquired a lease, or asked to extend it.
func (f *Facts) LongestTTL(label string) (asked time.Duration) {
	if l := f.Lease(label); l != nil {
		asked = f.TTL(f.Events[l.ReturnEvent])
	}
	for _, i := range f.changes[label] {
		if e := f.Events[i]; e.Kind == history.Invoke {
			asked = max(asked, f.TTL(e))
		}
	}
	return cmp.Or(asked, f.Meta.TTL)
}

// lasting reports whether the client had set the keys of a lease without a deadline by event i, on a majority of nodes. It
// ignores what others did to a key.
func (f *Facts) lasting(label string, i int) bool {
	voters := map[voter]bool{}
	for _, n := range f.LivesOf[label] {
		if k := f.Lives[n]; k.Vote && k.From < i && k.lasting {
			voters[f.voter(k)] = true
		}
	}
	return len(voters) >= f.Enough()
}

// renewedUntil returns until when a majority of nodes was to keep the keys of a lease, by the silent renewals of its client; 0 if there was no
// majority. It ignores what others did to a key.
func (f *Facts) renewedUntil(label string) time.Duration {
	renewed := map[voter]time.Duration{}
	for _, n := range f.LivesOf[label] {
		k := f.Lives[n]
		renewed[f.voter(k)] = max(renewed[f.voter(k)], k.renewed)
	}
	if len(renewed) < f.Enough() {
		return 0
	}
	dues := slices.Sorted(maps.Values(renewed))
	return dues[len(dues)-f.Enough()]
}

// keysOver returns when the last key of a lease expired, or [history.NoEnd] if none did or a command removed it.
func (f *Facts) keysOver(label string) time.Duration {
	over := history.NoEnd
	for _, n := range f.LivesOf[label] {
		k := f.Lives[n]
		if k.To == len(f.Events) {
			return history.NoEnd
		}
		switch e := f.Events[k.To]; {
		case e.Op != history.Expire && e.Op != history.Lose:
			return history.NoEnd
		case over == history.NoEnd || e.At > over:
			over = e.At
		}
	}
	return over
}

// GivenUp returns the first event after i by which a client gave up a lease for good, or ended; -1 if there is none.
func (f *Facts) GivenUp(label, client string, i int) (event int, ended Ending) {
	event = -1
	for _, end := range []struct {
		event int
		ended Ending
	}{
		{After(f.Releases[label], i), Released},
		{After(f.Crashes[client], i), Crashed},
		{After(f.Exits[client], i), Exited},
	} {
		if end.event >= 0 && (event < 0 || end.event < event) {
			event, ended = end.event, end.ended
		}
	}
	return event, ended
}

// Held reports whether the client relied on the lease at all: it did not if the lease was over when Acquire returned.
func (l *Lease) Held() bool { return l.From < l.To }

// String says who held what and when.
func (l *Lease) String() string {
	s := l.Client + " held " + l.Label + " from " + history.Seconds(l.From)
	if l.To == history.NoEnd {
		return s + " without end"
	}
	return s + " to " + history.Seconds(l.To)
}

// Free returns when a lock is free after a hold: if its client is gone without releasing it, at the end of the lease.
func (l *Lease) Free() time.Duration {
	if l.Ended == Crashed || l.Ended == Exited {
		return max(l.To, l.End)
	}
	return l.To
}

// ByGrant returns the leases of each lock in the order of their grants.
func (f *Facts) ByGrant() map[string][]*Lease {
	locks := map[string][]*Lease{}
	for i := range f.Leases {
		l := &f.Leases[i]
		locks[l.Lock] = append(locks[l.Lock], l)
	}
	for _, leases := range locks {
		slices.SortFunc(leases, func(a, b *Lease) int { return cmp.Compare(a.GrantEvent, b.GrantEvent) })
	}
	return locks
}

// Enough returns how many keys a lease needs: those of a majority of the nodes.
func (f *Facts) Enough() int { return f.Meta.Quorum() * f.keys }

// A voter casts one vote, which is a key. It is a node, or, if a lease takes several keys on a node, one key of that node.
type voter struct{ group, key string }

func (f *Facts) voter(k Life) voter {
	if f.keys == 1 {
		return voter{group: k.Group}
	}
	return voter{k.Group, k.Key}
}

// Votes returns the keys that count for a lease, at most one for each voter: those that existed when it was granted, or were set
// later but before its Acquire returned. If it never had a majority at one instant, they are those that existed when Acquire
// returned, or would have, had the nodes kept them until their deadlines.
func (f *Facts) Votes(l *Lease) []int {
	var votes []int
	for _, n := range f.LivesOf[l.Label] {
		k := f.Lives[n]
		stood := l.GrantEvent < k.To
		if !l.GrantSeen {
			stood = l.ReturnEvent < k.To || l.From < k.Due() && f.cutShort(k)
		}
		again := func(m int) bool { return f.voter(f.Lives[m]) == f.voter(k) }
		if k.Vote && k.From < l.ReturnEvent && stood && !slices.ContainsFunc(votes, again) {
			votes = append(votes, n)
		}
	}
	return votes
}

// cutShort reports whether a node dropped a key before its deadline, without a command that removed it.
func (f *Facts) cutShort(k Life) bool {
	return f.Early(k) || k.To < len(f.Events) && f.Events[f.Cause(k)].Op == history.Lose
}

// Margin returns by how much a lease was to end, when its Acquire returned, before the first of its keys that were there then would expire, if the
// clocks of its client and of the node run alike. Redlock leaves a hundredth of the TTL and 2 ms for the drift of clocks; enough reports whether
// it was as much as that hundredth. ok is false if the history does not show it.
func (f *Facts) Margin(l *Lease) (margin time.Duration, enough, ok bool) {
	got := f.Events[l.ReturnEvent]
	if got.Op != history.Acquire || got.Until == history.NoEnd || l.InvokeEvent < 0 {
		return 0, false, false
	}
	for _, n := range f.LivesOf[l.Label] {
		k := f.Lives[n]
		if k.From > l.ReturnEvent || k.To < l.ReturnEvent || f.Events[k.From].By != l.Client || f.Passing[k.Key] || k.Promise == history.NoEnd {
			continue
		}
		if left := Reading(f.Clocks[l.Client], f.At(k.From)) + k.Promise - got.Until; !ok || left < margin {
			margin, ok = left, true
		}
	}
	return margin, margin >= f.TTL(f.Events[l.InvokeEvent])/100, ok
}
