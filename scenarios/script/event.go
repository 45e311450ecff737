package script

import (
	"slices"
	"strings"

	"lockstep/sim/history"
)

// Matches reports whether something in a history is what a When step waits for.
func (e Event) Matches(h history.Event) bool {
	if h.Process != e.Process {
		return false
	}
	value := h.Value
	switch e.What {
	case Sets:
		value = history.Client(h.Lease)
	case Deletes:
		value = history.Client(h.Owner)
	}
	op, kinds := e.What.Means()
	return h.Op == op && slices.Contains(kinds, h.Kind) && (e.Value == "" || value == e.Value)
}

// Means says which events of a history the word stands for.
func (w What) Means() (op string, kinds []history.Kind) {
	var (
		invoked  = []history.Kind{history.Invoke}
		done     = []history.Kind{history.OK}
		answered = []history.Kind{history.OK, history.Fail}
		told     = []history.Kind{history.Info}
		injected = []history.Kind{history.Injected}
		became   = []history.Kind{history.State}
	)
	switch w {
	case Acquires:
		return history.Acquire, invoked
	case Acquired:
		return history.Acquire, done
	case Refused:
		return history.Acquire, []history.Kind{history.Fail}
	case Extends:
		return history.Extend, invoked
	case Extended:
		return history.Extend, done
	case Releases:
		return history.Release, invoked
	case Released:
		return history.Release, done
	case Increments:
		return history.Increment, invoked
	case Incremented:
		return history.Increment, done
	case Enters:
		return history.Enter, invoked
	case Entered:
		return history.Enter, answered
	case Writes:
		return history.Write, invoked
	case Wrote:
		return history.Write, answered
	case Updates:
		return history.Update, invoked
	case Updated:
		return history.Update, answered
	case Renewed:
		return history.Renew, told
	case Lost:
		return history.Lost, told
	case Paused:
		return history.Pause{}.Verb(), injected
	case Resumed:
		return history.Resume{}.Verb(), injected
	case Sets:
		return history.Set, became
	case Deletes:
		return history.Delete, became
	case Promoted:
		return history.Promoted, became
	case Follows:
		return history.Followed, became
	case Sdown:
		return history.Sdown, became
	case Odown:
		return history.Odown, became
	case Elected:
		return history.Leader, became
	}
	panic("scenarios: no such event: " + string(w))
}

// An Event is what a [When] step waits for: something that happens to a client or to a server.
type Event struct {
	Process string
	What    What
	Nth     int    // which of those that fit, from 2 on; 0 for the first
	Value   string // what is written, for Writes, Wrote, Updates and Updated; which server is meant, for Follows, Sdown and Odown; which client's, for Sets and Deletes
}

// What is the word of an [Event].
type What string

// What happens to a client. The present tense names the invocation of an operation, the past tense its outcome.
const (
	Acquires    What = "acquires"
	Acquired    What = "acquired" // ok: the client was handed a lease
	Refused     What = "refused"  // the acquire failed: certainly no lease
	Extends     What = "extends"
	Extended    What = "extended" // ok: the lease ends later
	Releases    What = "releases"
	Released    What = "released" // ok
	Increments  What = "increments"
	Incremented What = "incremented" // ok
	Enters      What = "enters"
	Entered     What = "entered" // ok or fail: the resource answered
	Writes      What = "writes"
	Wrote       What = "wrote" // ok or fail: the resource answered
	Updates     What = "updates"
	Updated     What = "updated" // ok or fail: the resource answered
	Renewed     What = "renewed" // the lock renewed its lease by itself
	Lost        What = "lost"    // the lock said that the lease is lost
	Paused      What = "paused"  // by its own lane or by the nemesis
	Resumed     What = "resumed" // likewise
)

// What happens to a server.
const (
	Sets     What = "sets"     // it sets a key of the lock for a client
	Deletes  What = "deletes"  // a command deletes a key there that stood for a lease of a client
	Promoted What = "promoted" // it is a primary from now on
	Follows  What = "follows"  // it is a replica of the other from now on
	Sdown    What = "sdown"    // it thinks on its own that the other is down
	Odown    What = "odown"    // it knows that enough of them think so
	Elected  What = "elected"  // it was elected to find a successor
)

// whats are the words of events, sorted.
var whats = []What{
	Acquired, Acquires, Deletes, Elected, Entered, Enters, Extended, Extends, Follows, Incremented, Increments, Lost, Odown,
	Paused, Promoted, Refused, Released, Releases, Renewed, Resumed, Sdown, Sets, Updated, Updates, Writes, Wrote,
}

// Server reports whether the event happens to servers.
func (w What) Server() bool {
	return slices.Contains([]What{Sets, Deletes, Promoted, Follows, Sdown, Odown, Elected}, w)
}

// Form is how the rest of an event is written after its word: a place for a value, or nothing.
func (w What) Form() string {
	switch w {
	case Writes, Wrote:
		return "VALUE"
	case Updates, Updated:
		return "WORD"
	case Follows, Sdown, Odown:
		return "NODE"
	case Sets, Deletes:
		return "CLIENT"
	}
	return ""
}

func (e Event) String() string {
	s := e.Process + " " + string(e.What)
	if e.Value != "" {
		s += " " + e.Value
	}
	if e.Nth > 1 {
		s += " " + strings.TrimSpace(history.FormatNth(e.Nth))
	}
	return s
}
