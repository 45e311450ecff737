package sim

import (
	"container/heap"
	"time"
)

// An action is what the scheduler does for an event.
type action interface{ act(*World) }

type actionFunc func()

func (f actionFunc) act(*World) { f() }

// Events of one instant happen in this order. Bytes come before timers: a process that resumes finds a reply that
// arrived during its pause before it finds that the reply is late, as Go nearly always does after a real SIGSTOP. With
// [Config.TimersFirst] it is the other way round.
const (
	classFault   = iota
	classOverdue // a timer that came due in a pause, with Config.TimersFirst
	classDelivery
	classTimer
)

// An item is one event in the queue.
type item struct {
	at    time.Duration
	class uint8
	due   time.Duration // the original value of at, if a pause has deferred it
	key   string        // orders timers of different owners at one instant
	seq   uint64
	proc  *Process // the process whose pause defers it; nil if no pause does
	act   action
	index int  // in the heap, -1 outside
	waits bool // until the end of a pause
}

// joins reports whether it is part of the same event as the item before it. Timers of one process that come due together, and
// packets that differ only in their connection, have no order of their own: it would depend on the Go scheduler. So they happen
// one after the other, but their effects are sorted together.
func (it *item) joins(before *item) bool {
	if it.at != before.at || it.class != before.class || it.due != before.due {
		return false
	}
	if it.class == classTimer || it.class == classOverdue {
		return it.proc != nil && it.proc == before.proc
	}
	p, ok := it.act.(*packet)
	q, also := before.act.(*packet)
	return ok && also && p.twin(q)
}

type queue []*item

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	switch { // the hottest comparison of a run: no closures, and strings only if necessary
	case a.at != b.at:
		return a.at < b.at
	case a.class != b.class:
		return a.class < b.class
	case a.due != b.due:
		return a.due < b.due
	case a.key != b.key:
		return a.key < b.key
	}
	return a.seq < b.seq
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue) Push(x any) {
	it := x.(*item)
	it.index = len(*q)
	*q = append(*q, it)
}

func (q *queue) Pop() any {
	old := *q
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	it.index = -1
	return it
}

func (q queue) head() *item {
	if len(q) == 0 {
		return nil
	}
	return q[0]
}

// remove removes an item, wherever it waits.
func (q *queue) remove(it *item) {
	it.waits = false
	if it.index >= 0 {
		heap.Remove(q, it.index)
	}
}
