package engine

import (
	"slices"
	"time"

	"lockstep/sim/history"
)

// Owners says which lease each key of a node stands for.
type Owners map[string]Owner

// Owner is the lease that a key stands for, and what in its value says so; that is empty if nothing does.
type Owner struct{ Lease, Mark string }

// Event turns a change of a key into an event. Owner says what the key stands for after the request being served has given
// it a value. Op is empty if nothing has happened that concerns a lease: a key that is no string may well be one of a queue,
// or count something.
func (o Owners) Event(c Change, epoch time.Time, owner func() Owner) history.Event {
	since := func(t time.Time) time.Duration {
		if t.IsZero() {
			return history.NoEnd
		}
		return t.Sub(epoch)
	}
	e := history.Event{Kind: history.State, Op: c.Op, Key: c.Key, By: c.By, Owner: o[c.Key].Lease}
	switch c.Op {
	case history.Set, history.Over:
		e.Until = since(c.Deadline)
		o[c.Key] = owner()
		if e.Lease = o[c.Key].Lease; e.Lease == "" && !c.Collection {
			e.Value = c.New
		}
		if c.Op == history.Over && c.Collection && e.Lease == e.Owner {
			e.Op = ""
			if c.Deadline != c.OldDeadline {
				e.Op = history.Retime
			}
		}
	case history.Retime:
		e.Until = since(c.Deadline)
		e.Lease = e.Owner
	default:
		e.Until = since(c.OldDeadline)
		delete(o, c.Key)
	}
	if c.Collection && e.Lease == "" && e.Owner == "" {
		e.Op = ""
	}
	return e
}

// After returns what a key stands for after a change. A hash, a list or a set goes on standing for what it stood for while the
// mark of that is in it: others may queue there, and the owner may count. Lease is [history.Leases.Set] for the request being
// served.
func (o Owners) After(c Change, lease func(takes bool, values ...string) (lease, value string)) Owner {
	was := o[c.Key]
	if c.Op == history.Over && c.Collection && was.Lease != "" && (was.Mark == "" || slices.Contains(c.Marks(), was.Mark)) {
		return was
	}
	name, mark := lease(c.NX || o.swapped(c), c.Marks()...)
	return Owner{name, mark}
}

// swapped says that GETSET put a value over one that stands for a lease. That is how a lock is taken over whose value says
// when it ends.
func (o Owners) swapped(c Change) bool { return c.Command == "GETSET" && o[c.Key].Lease != "" }
