package engine

import (
	"slices"
	"strings"
	"time"

	"lockstep/sim/history"
)

// A Change is one change of a key.
//
// It is the difference between two states of the key, whatever the command: SET of the value that the key already has is a
// history.Retime if it moves the deadline, and otherwise no change. A command that changes several keys makes several changes.
// Each is reported once, in order of execution, after it has happened.
type Change struct {
	// Op is history.Set, history.Over, history.Retime, history.Delete, history.Expire or history.Lose.
	Op  string
	Key string
	// Old and New are the values before and after; empty if there was no key. The value of a hash, a list, a set or a sorted set
	// is the command that makes it, as a client sends it.
	Old, New string
	// Deadline and OldDeadline are points in time by the wall clock of the node; zero if the key had none.
	Deadline, OldDeadline time.Time
	// By is the client whose command it was, or, on a replica, the primary. It is empty for history.Expire and history.Lose,
	// which no client causes, and for what a disk brought back at a restart.
	By string
	// NX says that SET with NX, SETNX or HSETNX made the change.
	NX bool
	// Command is the command as the client sent it, in capitals: EVALSHA for all that a script does, EXEC for all that a
	// transaction does. On a replica it is that of the effect, or PSYNC. It is empty if By is.
	Command string
	// Collection says that the key is, or was if it is gone, a hash, a list, a set or a sorted set.
	Collection bool
	// Waiter is the connection that waited for the change, in BLPOP or BRPOP. It is nil if the change was made by the command
	// that was last given to [Session.Feed].
	Waiter *Session
}

// Marks returns the parts of New by which a client may recognise its own key: the value of a string; otherwise the fields, the
// values, the elements, the members and their scores.
func (c *Change) Marks() []string {
	if !c.Collection {
		return []string{c.New}
	}
	command, _, err := ParseCommand([]byte(c.New))
	if err != nil {
		panic("engine: " + err.Error())
	}
	return command[2:]
}

// A Key is a key of a node.
type Key struct {
	Name, Value string    // the value as in Change
	Deadline    time.Time // by the wall clock of the node; zero: none
}

// Entry is what is remembered of a key of any type, so that changes and deadlines are found without asking miniredis or a server
// about every key.
type Entry struct {
	Value    string // as in Change
	Text     bool   // a string key
	Deadline int64  // milliseconds since 1970 by the wall clock of the node; 0: none
}

// lives reports whether there is a key. The command that makes a collection is never empty.
func (e Entry) lives() bool { return e.Text || e.Value != "" }

// Collection returns the entry of a key that is not a string, given the command that makes the key. The entry has no
// deadline.
func Collection(command []string) Entry {
	var w Replies
	w.command(command...)
	return Entry{Value: string(w)}
}

// Observe sets a function that is called with every change of a key. It must not call back into the node.
func (r *Redis) Observe(f func(Change)) { r.observer = f }

// Keys returns the keys in order of their names, as the last command or [Redis.Tick] left them: a key whose deadline has passed
// is included until one of the two removes it.
func (r *Redis) Keys() []Key {
	var keys []Key
	for name, e := range r.keys {
		keys = append(keys, Key{Name: name, Value: e.Value, Deadline: date(e.Deadline)})
	}
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return keys
}

// look compares a key with the remembered one, and reports the difference.
func (r *Redis) look(name string) {
	old, had := r.keys[name]
	var is Entry
	value, err := r.db.Get(name)
	lives := err == nil || r.db.Exists(name)
	switch {
	case err == nil:
		is = Entry{Value: value, Text: true}
	case lives:
		is = Collection(r.contents(name))
	}
	is.Deadline = r.db.TTL(name).Milliseconds()
	if is == old && had == lives {
		return
	}
	if lives {
		r.keys[name] = is
	} else {
		delete(r.keys, name)
	}
	r.retimed(old.Deadline, is.Deadline)
	r.invalidate(name)
	if len(r.waiters) > 0 && lives {
		r.made(name)
	}
	if r.effects.logs {
		r.changed(name, old, is, lives)
	}

	if c := Difference(name, old, is); c.Op != "" {
		c.By, c.NX, c.Command, c.Waiter = r.by, r.nx, r.word, r.turn
		r.report(c)
	}
}

// Difference returns the change of a key from one state to another. Op is empty if there was none.
func Difference(name string, old, is Entry) Change {
	c := Change{
		Op: history.Over, Key: name, Old: old.Value, New: is.Value, Deadline: date(is.Deadline), OldDeadline: date(old.Deadline),
		Collection: !is.Text,
	}
	switch {
	case old == is:
		return Change{}
	case !is.lives():
		c.Op, c.Collection = history.Delete, !old.Text
	case !old.lives():
		c.Op = history.Set
	case old.Text == is.Text && old.Value == is.Value:
		c.Op = history.Retime
	}
	return c
}

// Ended returns the change in which a key ends without a command of a client.
func (e Entry) Ended(op, name string) Change {
	return Change{Op: op, Key: name, Old: e.Value, OldDeadline: date(e.Deadline), Collection: !e.Text}
}

// drop removes a key whose deadline has passed.
func (r *Redis) drop(name string) {
	old := r.keys[name]
	r.db.Del(name)
	delete(r.keys, name)
	r.retimed(old.Deadline, 0)
	r.invalidate(name)
	if r.effects.logs {
		r.emit("DEL", name)
		r.effects.expired++
	}
	r.report(old.Ended(history.Expire, name))
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
