// Package link keeps the state of the links between processes under faults. The simulated network and the proxies in
// front of real servers consult it before they let a message through.
package link

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockstep/sim/history"
)

// A Direction is the link from one process to another. All connections between the two share its faults.
type Direction[T any] struct {
	From, To string
	// Delay is added to the latency of each message, because of the fault with the number DelayID.
	Delay   time.Duration
	DelayID int
	Own     T // data of the network

	cut, held     bool
	cutID, holdID int // the active faults
}

func (d *Direction[T]) String() string { return d.From + "->" + d.To }

// Compare orders directions by their names.
func (d *Direction[T]) Compare(e *Direction[T]) int {
	return cmp.Or(strings.Compare(d.From, e.From), strings.Compare(d.To, e.To))
}

// Blocked reports whether a fault keeps all messages from arriving, and returns the number of that fault.
func (d *Direction[T]) Blocked() (id int, blocked bool) {
	switch {
	case d.cut:
		return d.cutID, true
	case d.held:
		return d.holdID, true
	}
	return 0, false
}

// A Table holds the directions of a network, and the faults that wait for a message. It is not safe for concurrent use.
type Table[T any] struct {
	made       func(*Direction[T])
	directions map[[2]string]*Direction[T]
	armed      []*armed
}

// armed is a fault that waits for its message.
type armed struct {
	history.Chosen
	id   int
	seen int // how many messages have matched
}

// NewTable returns an empty table. It calls made, if not nil, with each direction that is added.
func NewTable[T any](made func(*Direction[T])) *Table[T] {
	return &Table[T]{made: made, directions: map[[2]string]*Direction[T]{}}
}

// Between returns the direction from one process to another.
func (t *Table[T]) Between(from, to string) *Direction[T] {
	d := t.directions[[2]string{from, to}]
	if d == nil {
		d = &Direction[T]{From: from, To: to}
		t.directions[[2]string{from, to}] = d
		if t.made != nil {
			t.made(d)
		}
	}
	return d
}

// covered lists the directions that a link includes, in the order of their names; for the zero link, all of them.
func (t *Table[T]) covered(l history.Link) []*Direction[T] {
	if l != (history.Link{}) {
		ds := []*Direction[T]{t.Between(l.From, l.To)}
		if l.Both {
			ds = append(ds, t.Between(l.To, l.From))
		}
		return ds
	}
	var ds []*Direction[T]
	for _, d := range t.directions {
		ds = append(ds, d)
	}
	slices.SortFunc(ds, (*Direction[T]).Compare)
	return ds
}

// Effects are the actions of a network when faults on its links begin or end.
type Effects[T any] struct {
	// Bite notes that a fault has had an effect.
	Bite func(id int)
	// Release releases the single messages that are held in a direction, and everything that waited for the direction to open.
	// The id is that of the fault that ends the wait.
	Release func(d *Direction[T], id int)
}

// Inject applies a fault to the links that it covers; id is its number. It returns false if the fault does not concern links. A
// fault that ends others bites at once; any other bites when it affects a message.
func (t *Table[T]) Inject(f history.Fault, id int, on Effects[T]) bool {
	switch f := f.(type) {
	case history.Cut:
		for _, d := range t.covered(f.Link) {
			d.cut, d.cutID = true, id
		}
	case history.Hold:
		for _, d := range t.covered(f.Link) {
			d.held, d.holdID = true, id
		}
	case history.Delay:
		for _, d := range t.covered(f.Link) {
			if f.By == 0 && d.Delay > 0 {
				on.Bite(id)
			}
			d.Delay, d.DelayID = f.By, id
		}
	case history.Heal:
		for _, d := range t.covered(f.Link) {
			if d.Delay > 0 || d.cut {
				on.Bite(id)
			}
			d.Delay, d.cut = 0, false
			t.release(d, id, on)
		}
	case history.ReleaseLink:
		for _, d := range t.covered(f.Link) {
			t.release(d, id, on)
		}
	case history.Chosen:
		t.armed = append(t.armed, &armed{Chosen: f, id: id})
	default:
		return false
	}
	return true
}

func (t *Table[T]) release(d *Direction[T], id int, on Effects[T]) {
	if d.held {
		on.Bite(id)
	}
	d.held = false
	on.Release(d, id)
}

// Disarm removes the faults that still wait for a message.
func (t *Table[T]) Disarm() { t.armed = nil }

// A Message describes a message, so that a fault that waits for one can recognize it.
type Message struct {
	From, To string
	Reply    bool
	Word     string // the first word of the request
	Op       string // the operation of its client
}

// Choose calls hit with each fault that waited for this message and with the number of the fault, in the order of injection. If
// hit returns true, the message is lost, and no further fault sees it.
func (t *Table[T]) Choose(m Message, hit func(f history.Chosen, id int) (lost bool)) {
	for i := 0; i < len(t.armed); i++ {
		a := t.armed[i]
		if a.Reply != m.Reply || a.Link.From != m.From || a.Link.To != m.To || a.What != m.Word && a.What != m.Op {
			continue
		}
		if a.seen++; a.seen < a.Nth {
			continue
		}
		t.armed = slices.Delete(t.armed, i, i+1)
		i--
		if hit(a.Chosen, a.id) {
			return
		}
	}
}
