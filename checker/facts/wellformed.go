package facts

import (
	"fmt"
	"time"

	"lockstep/sim/history"
)

// A Contradiction says on which line a history contradicts itself, as [history.History.WriteTo] writes it.
type Contradiction struct {
	Line int
	What string
}

func (c *Contradiction) Error() string { return fmt.Sprintf("line %d: %s", c.Line, c.What) }

// WellFormed returns a [Contradiction] if the history contradicts itself.
func WellFormed(h *history.History) error {
	type operation struct {
		process string
		id      int
	}
	var (
		pending = map[operation]string{} // the invoked operation; empty once it has an outcome
		leases  = map[string]int{}       // where each lease was obtained
		clocks  = map[string]time.Duration{}
		now     time.Duration
	)
	for i, e := range h.Events {
		fail := func(format string, args ...any) error {
			return &Contradiction{lineOf(i), fmt.Sprintf(format, args...)}
		}
		if e.At < now {
			return fail("time runs backwards, from %v to %v", now, e.At)
		}
		now = e.At

		if isReading(e) {
			if e.Clock < clocks[e.Process] {
				return fail("the steady clock of %s runs backwards, from %v to %v", e.Process, clocks[e.Process], e.Clock)
			}
			clocks[e.Process] = e.Clock
			if e.PPM <= -1_000_000 {
				return fail("%s has a clock that does not advance: %d ppm", e.Process, e.PPM)
			}
		}

		op := operation{e.Process, e.ID}
		switch {
		case e.Kind == history.Invoke:
			if _, known := pending[op]; known {
				return fail("%s invokes operation %d twice", e.Process, e.ID)
			}
			pending[op] = e.Op
		case e.EndsOperation():
			invoked, known := pending[op]
			switch {
			case !known:
				return fail("%s %s of %s without an invocation", e.Kind, e.Op, e.Process)
			case invoked == "":
				return fail("%s %s of %s has two outcomes", e.Kind, e.Op, e.Process)
			case invoked != e.Op:
				return fail("%s %s of %s is the outcome of %s", e.Kind, e.Op, e.Process, invoked)
			}
			pending[op] = ""
		}

		if e.Keys < 0 || e.Keys > mostKeys {
			return fail("a lease of %d keys on each node; there can be 0 to %d", e.Keys, mostKeys)
		}
		if e.Kind == history.OK && e.Op == history.Acquire {
			if e.Lease == "" {
				return fail("%s acquires a lease without a name", e.Process)
			}
			if first, known := leases[e.Lease]; known {
				return fail("lease %s was already handed out on line %d", e.Lease, lineOf(first))
			}
			leases[e.Lease] = i
		}
	}
	if h.Meta.TTL < 0 || h.Meta.Bound < 0 {
		return &Contradiction{1, "the TTL or the bound of the probe is negative"}
	}
	return nil
}

// lineOf returns the line of an event. The first line of a history is not an event.
func lineOf(event int) int { return event + 2 }

// mostKeys limits how many keys a lease may have on each node: no lock has more than a handful.
const mostKeys = 1000
