package sim

import (
	"cmp"
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
	classResumed
)

// An item is one event in the queue.
type item struct {
	at    time.Duration
	class uint8
	key   string // orders timers of different owners that share an instant
	seq   uint64
	proc  *Process // whose pause defers it; nil if no pause does
	act   action
	index int // in the heap, -1 outside
}

type queue []*item

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(
		cmp.Compare(a.at, b.at),
		cmp.Compare(a.class, b.class),
		cmp.Compare(a.key, b.key),
		cmp.Compare(a.seq, b.seq),
	) < 0
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

func (q *queue) remove(it *item) {
	if it.index >= 0 {
		heap.Remove(q, it.index)
	}
}
