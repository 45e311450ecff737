package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/sim/history"
)

// Owners says which lease each key of a node stands for.
type Owners map[string]Owner

// Owner is the lease that a key stands for, and the mark in its value that says so; the mark is empty if nothing does.
type Owner struct {
	Lease, Mark string
	// The field of a hash whose value is the mark; empty if the mark is the name of a field, as in Redisson. If the hash stands for nothing any
	// more, mark and field are the last that it had.
	field string
	// Leases after one another had their marks in that field, so it names the owner. A queue has a field for each lease.
	fixed bool
}

// Event converts a change of a key into an event. If the current request has set the key, owner returns what it stands for. Op is
// empty if the change concerns no lease: a collection may hold a queue, or be a counter.
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

// After returns what a key stands for after a change. A hash, a list or a set stands for the same lease as long as it contains
// the mark of that lease: others may queue there, and the owner may count. If the mark is the value of a field of a hash, it must stay in that
// field: a hash that remains after the release may have the mark in another, as that of the last owner. Lease is [history.Leases.Set] for
// the request being served.
func (o Owners) After(c Change, lease func(takes history.Taking, key string, values ...string) (lease, value string)) Owner {
	var was Owner
	hash, marks := c.hash(), c.Marks()
	if c.Op == history.Over && c.Collection {
		was = o[c.Key]
		now, there := hash[was.field]
		switch {
		case was.Lease != "" && was.Mark == "": // a script may count in a hash before it writes whose it is
			if name, mark := lease(history.TakesNothing, c.Key, marks...); name == was.Lease {
				was.Mark, was.field = mark, fieldOf(hash, mark)
			}
			return was
		case was.field == "" || hash == nil:
			if was.Lease != "" && slices.Contains(marks, was.Mark) {
				return was
			}
			was = Owner{}
		case there && was.Lease != "" && now == was.Mark:
			return was
		case there:
			marks = []string{now}
		case was.fixed:
			was.Lease = ""
			return was
		default: // in a queue the next may come to the front
			marks = slices.DeleteFunc(slices.Clone(marks), func(m string) bool { return m == was.Mark })
		}
	}
	takes := history.TakesNothing
	switch {
	case c.NX || o.swapped(c):
		takes = history.TakesAlways
	case c.onlyRemoves():
		takes = history.OnlyRemoves
	default:
		takes = c.maybeTakes()
	}
	name, mark := lease(takes, c.Key, marks...)
	if name == "" {
		was.Lease = ""
		return was
	}
	field := fieldOf(hash, mark)
	return Owner{name, mark, field, field != "" && field == was.field}
}

// hash returns the fields of a hash with their values; nil if the key is none.
func (c *Change) hash() map[string]string {
	if !c.Collection {
		return nil
	}
	command, _, err := ParseCommand([]byte(c.New))
	if err != nil || !strings.EqualFold(command[0], "HSET") {
		return nil
	}
	fields := map[string]string{}
	for i := 2; i+1 < len(command); i += 2 {
		fields[command[i]] = command[i+1]
	}
	return fields
}

// fieldOf returns the first field of a hash whose value is a mark; empty if there is none, or if the mark is the name of a field.
func fieldOf(hash map[string]string, mark string) string {
	if _, ok := hash[mark]; ok || mark == "" {
		return ""
	}
	for _, field := range slices.Sorted(maps.Keys(hash)) {
		if hash[field] == mark {
			return field
		}
	}
	return ""
}

// onlyRemoves reports whether all that a collection contains was there before.
func (c Change) onlyRemoves() bool {
	if c.Op != history.Over || !c.Collection {
		return false
	}
	old, _, err := ParseCommand([]byte(c.Old))
	if err != nil || len(old) < 2 { // it was a string
		return false
	}
	return !slices.ContainsFunc(c.Marks(), func(m string) bool { return !slices.Contains(old[2:], m) })
}

// maybeTakes says how a script or a transaction may take a lock with a short token: it makes a string or a hash that has an expiry, or gets one by
// the next command. A number may also be a counter, and a list or a set that has another name than the lock is more likely a queue.
func (c Change) maybeTakes() history.Taking {
	if c.Op != history.Set || c.Command != "EVAL" && c.Command != "EVALSHA" && c.Command != "EXEC" {
		return history.TakesNothing
	}
	number := false
	if c.Collection {
		if command, _, err := ParseCommand([]byte(c.New)); err != nil || !strings.EqualFold(command[0], "HSET") {
			return history.TakesNamed
		}
	} else {
		_, err := strconv.ParseFloat(c.New, 64)
		number = err == nil
	}
	switch endless := c.Deadline.IsZero(); {
	case number && endless: // a counter
		return history.TakesNothing
	case number:
		return history.TakesNumbered
	case endless:
		return history.TakesNamed
	}
	return history.TakesInAcquire
}

// swapped reports whether GETSET replaced a value that stands for a lease. A lock whose value is the time of its end is taken
// over in this way.
func (o Owners) swapped(c Change) bool { return c.Command == "GETSET" && o[c.Key].Lease != "" }
