package sim

import (
	"container/heap"
	"time"
)

// An action is something that the scheduler does when its time has come.
type action interface{ act(*World) }

type actionFunc func()

func (f actionFunc) act(*World) { f() }

// Events of one instant happen in this order. Bytes come before timers: a process that resumes finds a reply that
// arrived during its pause before it finds that the reply is late, as Go does after a real SIGSTOP.
const (
	classFault = iota
	classDelivery
	classTimer
)

// An item is one event in the queue.
type item struct {
	at    time.Duration
	class uint8
	due   time.Duration // at, or what that was before a pause put it off
	key   string        // orders timers of different owners that share an instant
	seq   uint64
	proc  *Process // whose pause defers it; nil if no pause does
	act   action
	index int  // in the heap, -1 outside
	waits bool // for the end of a pause
}

// joins reports whether it belongs to one event with the one before it. No rule can order the timers of one process
// that come due together, nor packets that differ in nothing but their connection: which of them is first follows the
// Go scheduler. So they happen one after the other, but what comes of them is put into an order together.
func (it *item) joins(before *item) bool {
	if it.at != before.at || it.class != before.class || it.due != before.due {
		return false
	}
	if it.class == classTimer {
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
	switch { // the hottest comparison of a run: no closures, no strings before they are needed
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

// remove takes an item out, wherever it waits.
func (q *queue) remove(it *item) {
	it.waits = false
	if it.index >= 0 {
		heap.Remove(q, it.index)
	}
}
