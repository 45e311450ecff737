package checker

import (
	"fmt"
	"strings"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// unmet returns why the run proves nothing: nobody asked for the lock, it ended before its time, a fault had no effect, or a dangerous
// state did not occur. A lock that survives a pause which hit it after it had finished has survived nothing. A run that ended early counts
// nevertheless if a call never returned, or if a client asked in vain for a free lock: that is why it did not end.
func unmet(ix *index, musts []Must) []string {
	var reasons []string
	if !ix.someAsked() {
		reasons = append(reasons, "no client asked for the lock")
	}
	if ix.Meta.Cap != "" && len(ix.stuck())+len(ix.hanging()) == 0 {
		reasons = append(reasons, "the run hit "+ix.Meta.Cap+ix.unended())
	}
	for _, e := range ix.Events {
		if e.Kind == history.State && e.Op == history.Refuse {
			what := "does not simulate"
			if ix.Meta.On == history.OnReal {
				what = "cannot follow on real servers"
			}
			reasons = append(reasons, fmt.Sprintf("%s sent %s to %s, a command that Lockstep %s, and got an error", e.By, e.Value, e.Process, what))
		}
	}
	for _, i := range ix.neverBit() {
		reasons = append(reasons, fmt.Sprintf("the fault `%s` had no effect", ix.Events[i].Value)+ix.whyIdle(i))
	}
	for _, m := range musts {
		if !m.met(ix) {
			reasons = append(reasons, fmt.Sprintf("must %v: did not occur", m))
		}
	}
	return reasons
}

// someAsked reports whether a client other than the probe asked for the lock. A lock that nobody asks for keeps all its promises.
func (ix *index) someAsked() bool {
	return ix.some(func(_ int, e history.Event) bool {
		return e.Kind == history.Invoke && (e.Op == history.Acquire || e.Op == history.Increment) && e.Process != ix.Meta.Probe
	})
}

// unended says which operations of clients had not ended when the run hit a cap: perhaps a lock tries for ever.
func (ix *index) unended() string {
	var ops []string
	for i, e := range ix.Events {
		if _, ended := ix.Outcome[i]; !ended && e.Kind == history.Invoke && facts.After(ix.Crashes[e.Process], i) < 0 && facts.After(ix.Exits[e.Process], i) < 0 {
			ops = append(ops, fmt.Sprintf("%s of %s, which began at %s", e.Op, e.Process, history.Seconds(e.At)))
		}
	}
	if len(ops) == 0 {
		return ""
	}
	return " during " + strings.Join(ops, ", and ")
}

// neverBit returns the injections of faults that had no effect.
func (ix *index) neverBit() []int {
	settled := map[int]bool{0: true} // faults that were returned already; number 0 is a consequence of another fault
	var idle []int
	for i, e := range ix.Events {
		if e.Kind == history.Injected && !settled[e.ID] && !ix.Bitten[e.ID] {
			settled[e.ID] = true
			idle = append(idle, i)
		}
	}
	return idle
}

func (ix *index) idle() []string {
	var faults []string
	for _, i := range ix.neverBit() {
		faults = append(faults, ix.Events[i].Value)
	}
	return faults
}

// whyIdle says why a fault had no effect, where that is known.
func (ix *index) whyIdle(i int) string {
	e := ix.Events[i]
	switch gone := ix.Exits[e.Process]; {
	case e.Op == history.Missed:
		return ": its moment never came"
	case len(gone) > 0 && gone[0] < i:
		return fmt.Sprintf(": %s had already finished all its steps (at %s)", e.Process, history.Seconds(ix.Events[gone[0]].At))
	case !ix.setsUnreadClock(i):
		return ""
	}
	return ": from then on the lock of " + e.Process + " read no clock of its process, and the clock of package time cannot be set"
}

// setsUnreadClock reports whether a fault that had no effect set a clock of a client.
func (ix *index) setsUnreadClock(i int) bool {
	e := ix.Events[i]
	return !ix.Servers[e.Process] && e.Process != history.ResourceName && (e.Op == "jump" || e.Op == "drift" || e.Op == "slew")
}
