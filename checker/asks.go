package checker

import (
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// An ask is a sequence of tries of a client to acquire a lock: tries that follow each other with nothing but waiting in between.
type ask struct {
	client, lock string
	facts.Stretch
	first, last int // the first invocation and the last outcome; -1 if there was none
	tries       int
	got         bool // the last try obtained a lease
}

// gap is the longest wait between two tries of the same ask. Clients that poll wait one or two hundredths of a TTL by default; a
// lane that sleeps for longer is doing something else.
func (ix *index) gap() time.Duration { return max(ix.Meta.TTL/20, ix.Meta.Pace+ix.Meta.Pace/10) }

// asks returns the asks of all clients, client by client in the order of their first invocations.
func (ix *index) asks() []ask {
	var asks []ask
	open := map[string]int{} // client → the ask that its next try may belong to
	for i, e := range ix.Events {
		if e.Kind != history.Invoke {
			continue
		}
		if e.Op != history.Acquire {
			delete(open, e.Process)
			continue
		}
		n, retry := open[e.Process]
		if retry = retry && asks[n].lock == e.Lock && e.At-asks[n].To <= ix.gap(); !retry {
			n = len(asks)
			asks = append(asks, ask{client: e.Process, lock: e.Lock, Stretch: facts.Stretch{From: e.At}, first: i})
		}
		a := &asks[n]
		a.tries++
		delete(open, e.Process)
		out, answered := ix.Outcome[i]
		if !answered {
			a.last, a.To = -1, ix.goneAfter(e.Process, i)
			continue
		}
		a.last, a.To, a.got = out, ix.At(out), ix.Events[out].Kind == history.OK
		if !a.got {
			open[e.Process] = n
		}
	}
	return asks
}

// goneAfter returns when a client crashed or exited after event i; the end of the run if it did not.
func (ix *index) goneAfter(client string, i int) time.Duration {
	gone := max(ix.At(len(ix.Events)), ix.Meta.CapAt)
	for _, j := range []int{facts.After(ix.Crashes[client], i), facts.After(ix.Exits[client], i)} {
		if j >= 0 {
			gone = min(gone, ix.At(j))
		}
	}
	return gone
}
