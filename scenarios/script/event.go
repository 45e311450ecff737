package script

import (
	"slices"
	"strings"

	"lockstep/sim/history"
)

// Matches reports whether an event of a history is one that a When step waits for.
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
	case Receives:
		return h.Kind == history.Message && h.Op == history.Deliver && h.By == e.Value
	}
	op, kinds := e.What.Means()
	return h.Op == op && slices.Contains(kinds, h.Kind) && (e.Value == "" || value == e.Value)
}

// Means returns the events of a history for which the word stands.
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
	case Receives:
		return history.Deliver, []history.Kind{history.Message}
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

// An Event is an event that a [When] step waits for. It happens to a client or to a server.
type Event struct {
	Process string
	What    What
	Nth     int    // which of the matching events, from 2 on; 0 for the first
	Value   string // the word that is written, for Writes, Wrote, Updates and Updated; the server, for Follows, Sdown and Odown; the client, for Sets, Deletes and Receives
}

// What is the word of an [Event].
type What string

// What happens to a client. The present tense names the invocation of an operation, the past tense its outcome.
const (
	Acquires    What = "acquires"
	Acquired    What = "acquired" // ok: the client got a lease
	Refused     What = "refused"  // the acquire failed: the client certainly has no lease
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
	Sets     What = "sets"     // it sets a key of the lock, which was not there, for a client
	Deletes  What = "deletes"  // a command deletes a key of a client's lease there
	Receives What = "receives" // a request of a client arrives; its reply is not yet under way
	Promoted What = "promoted" // it becomes a primary
	Follows  What = "follows"  // it becomes a replica of the other
	Sdown    What = "sdown"    // it believes by itself that the other is down
	Odown    What = "odown"    // it knows that enough of them believe so
	Elected  What = "elected"  // it was elected to find a successor
)

// whats are the words of events, sorted.
var whats = []What{
	Acquired, Acquires, Deletes, Elected, Entered, Enters, Extended, Extends, Follows, Incremented, Increments, Lost, Odown,
	Paused, Promoted, Receives, Refused, Released, Releases, Renewed, Resumed, Sdown, Sets, Updated, Updates, Writes, Wrote,
}

// Server reports whether the event happens to servers.
func (w What) Server() bool {
	return slices.Contains([]What{Sets, Deletes, Receives, Promoted, Follows, Sdown, Odown, Elected}, w)
}

// Form is the form of the text after the event's word: a value, or nothing.
func (w What) Form() string {
	switch w {
	case Writes, Wrote:
		return "VALUE"
	case Updates, Updated:
		return "WORD"
	case Follows, Sdown, Odown:
		return "NODE"
	case Sets, Deletes, Receives:
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
