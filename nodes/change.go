package nodes

import (
	"slices"
	"strings"
	"time"

	"lockstep/sim"
)

// A Change is one change of a string key.
//
// It is the difference between two states of the key, whichever command made it: SET of the value that the key already
// has is a sim.Retime if it moves the deadline, and otherwise no change. A command that changes several keys makes
// several changes. Each is reported once, in order of execution, when it has happened.
type Change struct {
	// Op is sim.Set, sim.Over, sim.Retime, sim.Delete, sim.Expire or sim.Lose.
	Op  string
	Key string
	// Old and New are the values before and after; empty where the key did not live.
	Old, New string
	// Deadline and OldDeadline are the ends of the key by the wall clock of the node; zero if it had none.
	Deadline, OldDeadline time.Time
	// By is the client whose command it was, or, on a replica, the primary; empty for sim.Expire and sim.Lose, which no
	// client causes, and for what a disk brought back at a restart.
	By string
	// NX says that SET with NX, or SETNX, made the change.
	NX bool
	// Command is the command as the client sent it, in capitals: EVALSHA for whatever a script does, EXEC for what a
	// transaction does. On a replica it is that of the effect, or PSYNC. Empty where By is.
	Command string
}

// A Key is a string key of a node.
type Key struct {
	Name, Value string
	Deadline    time.Time // by the wall clock of the node; zero: none
}

// entry is what the node remembers of a key of any type, in order to see changes and deadlines without asking miniredis
// for every key.
type entry struct {
	value    string
	text     bool  // a string key; others have no value here
	deadline int64 // milliseconds since 1970 by the wall clock of the node; 0: none
}

// Observe sets the function told of every change of a string key. It must not call back into the node.
func (r *Redis) Observe(f func(Change)) { r.observer = f }

// Keys returns the string keys in order of their names, as the last command or [Redis.Tick] left them: a key whose
// deadline has passed is there until one of the two finds that out.
func (r *Redis) Keys() []Key {
	var keys []Key
	for name, e := range r.keys {
		if e.text {
			keys = append(keys, Key{Name: name, Value: e.value, Deadline: date(e.deadline)})
		}
	}
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return keys
}

// look compares a key with what the node remembers of it, and reports the difference.
func (r *Redis) look(name string) {
	old, had := r.keys[name]
	var is entry
	value, err := r.db.Get(name)
	lives := err == nil || r.db.Exists(name)
	if lives {
		is = entry{value: value, text: err == nil, deadline: r.db.TTL(name).Milliseconds()}
	}
	if is == old && had == lives {
		return
	}
	if lives {
		r.keys[name] = is
	} else {
		delete(r.keys, name)
	}
	r.retimed(old.deadline, is.deadline)
	r.invalidate(name)
	if r.effects.logs {
		r.changed(name, old, is, lives)
	}

	if c := difference(name, old, is); c.Op != "" {
		c.By, c.NX, c.Command = r.by, r.nx, r.word
		r.report(c)
	}
}

// difference says how a key went from one state to another. Op is empty if it did not, or if the key is a hash, a list:
// nothing that Change speaks of.
func difference(name string, old, is entry) Change {
	c := Change{
		Op: sim.Over, Key: name, Old: old.value, New: is.value, Deadline: date(is.deadline), OldDeadline: date(old.deadline),
	}
	switch {
	case old == is, !old.text && !is.text:
		return Change{}
	case !old.text:
		c.Op, c.OldDeadline = sim.Set, time.Time{}
	case !is.text:
		c.Op, c.Deadline = sim.Delete, time.Time{}
	case old.value == is.value:
		c.Op = sim.Retime
	}
	return c
}

// drop removes a key whose deadline has passed.
func (r *Redis) drop(name string) {
	old := r.keys[name]
	r.db.Del(name)
	delete(r.keys, name)
	r.retimed(old.deadline, 0)
	r.invalidate(name)
	if r.effects.logs {
		r.emit("DEL", name)
		r.effects.expired++
	}
	if old.text {
		r.report(Change{Op: sim.Expire, Key: name, Old: old.value, OldDeadline: date(old.deadline)})
	}
}

func (r *Redis) report(c Change) {
	if r.observer != nil {
		r.observer(c)
	}
}

// date is a deadline as a time; zero if there is none.
func date(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
