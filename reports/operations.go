package reports

import (
	"fmt"
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// TellingDelay is how late a message must be for a timeline to show when it was sent.
const TellingDelay = 100 * time.Millisecond

// A Deed is an operation of a client: an invocation and, if there was one, its outcome. Consecutive tries to acquire that are
// refused are one deed, because a client that polls would fill the timeline. If a client repeats an operation many times, all
// repetitions except the first and the last are one deed.
type Deed struct {
	Process, Op, Value, Lease, Err string
	Invoked, Returned              time.Duration
	Outcome                        history.Kind // empty if it never returned
	In, Out                        int          // the events of the first invocation and the last outcome; Out is -1 if it never returned
	Times                          int          // how many tries it stands for
	Failed                         int          // how many of them certainly did not happen
	idle                           bool         // it changed nothing on any server
	Next                           int          // the event with which the client begins something else; the effects of the deed end before it
}

// Deeds joins the events of operations, in order of invocation. Waiting is not a deed.
func Deeds(f *facts.Facts) []Deed { return joinRepeats(JoinRefusals(RawDeeds(f))) }

// RawDeeds returns all operations, and joins none.
func RawDeeds(f *facts.Facts) []Deed {
	var ds []Deed
	latest := map[string]int{} // by process, its last deed
	for i := range f.Events {
		e := &f.Events[i]
		switch n, found := latest[e.By]; {
		case e.Kind == history.Invoke:
			latest[e.Process] = len(ds)
			d := Deed{Process: e.Process, Op: e.Op, Value: e.Value, Lease: e.Lease, Invoked: e.At, Returned: e.At,
				In: i, Out: -1, Times: 1, Next: len(f.Events), idle: true}
			if out, answered := f.Outcome[i]; answered {
				o := &f.Events[out]
				d.Returned, d.Outcome, d.Err, d.Out = o.At, o.Kind, o.Error, out
			}
			ds = append(ds, d)
		case e.Kind == history.State && found:
			ds[n].idle = false
		}
	}
	return ds
}

// JoinRefusals joins consecutive tries to acquire that were refused, and leaves out waits.
func JoinRefusals(ds []Deed) []Deed {
	var joined []Deed
	last := map[string]int{} // by process, the last deed
	for _, d := range ds {
		if d.Op == history.Wait {
			continue
		}
		if d.Outcome == history.Fail {
			d.Failed = 1
		}
		n, found := last[d.Process]
		if found && d.Refused() && joined[n].Refused() && d.Outcome == joined[n].Outcome {
			joined[n].Returned, joined[n].Err, joined[n].Out = d.Returned, d.Err, d.Out
			joined[n].Times++
			joined[n].Failed += d.Failed
			continue
		}
		if found {
			joined[n].Next = d.In
		}
		last[d.Process] = len(joined)
		joined = append(joined, d)
	}
	return joined
}

// If a client repeats an operation, only the beginning and the end are shown.
const (
	RepeatsFrom  = 8 // if there are fewer, all are shown
	repeatsFirst = 2 // how many are shown at the beginning
)

// joinRepeats joins operations that a client repeats, with nothing but acquires and releases in between, into one deed.
func joinRepeats(ds []Deed) []Deed {
	lanes := map[string][]int{} // by process, where its deeds are
	gone := map[int]bool{}
	for i, d := range ds {
		lanes[d.Process] = append(lanes[d.Process], i)
	}
	for _, lane := range lanes {
		for len(lane) > 0 {
			n, same := repeats(ds, lane)
			if len(same) >= RepeatsFrom {
				joinRun(ds, lane[afterReleases(ds, lane, same[repeatsFirst-1]+1):afterReleases(ds, lane, same[len(same)-2]+1)], gone)
			}
			lane = lane[n:]
		}
	}
	var joined []Deed
	for i, d := range ds {
		if !gone[i] {
			joined = append(joined, d)
		}
	}
	return joined
}

// repeats returns how many deeds at the beginning of a lane belong to one repeated operation, at least 1. Same has the positions of
// the operation itself, without its acquires and releases.
func repeats(ds []Deed, lane []int) (n int, same []int) {
	for n = 0; n < len(lane); n++ {
		d := &ds[lane[n]]
		if d.Op == history.Acquire || d.Op == history.Release {
			continue
		}
		if len(same) > 0 && (d.Op != ds[lane[same[0]]].Op || d.Value != ds[lane[same[0]]].Value) {
			break
		}
		same = append(same, n)
	}
	return max(n, 1), same
}

// afterReleases returns the position in a lane after the releases that begin at n.
func afterReleases(ds []Deed, lane []int, n int) int {
	for n < len(lane) && ds[lane[n]].Op == history.Release {
		n++
	}
	return n
}

// joinRun joins several deeds into one, from the acquire of the first to the release of the last.
func joinRun(ds []Deed, run []int, gone map[int]bool) {
	var whole Deed
	for _, i := range run {
		if ds[i].Op != history.Acquire && ds[i].Op != history.Release {
			times, failed := whole.Times+ds[i].Times, whole.Failed+ds[i].Failed
			whole = ds[i]
			whole.Times, whole.Failed = times, failed
		}
		gone[i] = true
	}
	first, last := run[0], run[len(run)-1]
	whole.In, whole.Invoked, whole.Lease, whole.Next = ds[first].In, ds[first].Invoked, "", ds[last].Next
	ds[first] = whole
	delete(gone, first)
}

// Refused reports whether d asked for the lock and did not get it: it was refused, or had no reply.
func (d *Deed) Refused() bool {
	return d.Op == history.Acquire && (d.Outcome == history.Fail || d.Outcome == history.Info && d.idle)
}

// Folded reports whether d stands for several tries, of which only the last outcome is shown.
func (d *Deed) Folded() bool { return d.Times > 1 }

// Covers reports whether event i is part of the tries that d stands for.
func (d *Deed) Covers(i int, e *history.Event) bool {
	if !d.Folded() || i < d.In || i >= d.Next {
		return false
	}
	switch e.Kind {
	case history.Invoke, history.Fail, history.OK, history.Info:
		switch e.Op {
		case history.Acquire, history.Wait, d.Op:
			return e.Process == d.Process
		case history.Release, history.Renew:
			return e.Process == d.Process && d.Op != history.Acquire
		}
	case history.State:
		return e.By == d.Process
	case history.Message:
		return e.By == d.Process || e.Process == d.Process
	}
	return false
}

// Summary sums up the tries that d stands for in one line.
func (d *Deed) Summary() string {
	s := "since " + history.Seconds(d.Invoked)
	switch {
	case d.Op == history.Acquire:
		s += ": " + FirstLine(d.Err)
	case d.Failed > 0:
		s += fmt.Sprintf(": %d not done", d.Failed)
	}
	return s
}

// GrantEvents returns the indices of the events that granted the leases, ascending.
func GrantEvents(leases []facts.Lease) []int {
	var grants []int
	for _, l := range leases {
		if l.GrantSeen {
			grants = append(grants, l.GrantEvent)
		}
	}
	slices.Sort(grants)
	return grants
}

// revivals says how a lease had ended, by the extension that revived it.
func revivals(leases []facts.Lease) map[int]string {
	revived := map[int]string{}
	ended := map[string]string{} // by label
	for _, l := range leases {
		if before, again := ended[l.Label]; again {
			revived[l.ReturnEvent] = before
		}
		ended[l.Label] = ", after it had ended at " + history.Seconds(l.To)
		if l.Ended == facts.LeaseLost {
			ended[l.Label] = ", after it was reported as lost at " + history.Seconds(l.To)
		}
	}
	return revived
}

// FenceSeen returns the highest fencing token that the resource had accepted before event i.
func FenceSeen(h *history.History, i int) int64 {
	var seen int64
	for j := range h.Events[:i] {
		if e := &h.Events[j]; e.Kind == history.State && (e.Op == history.Accept || e.Op == history.Keep) {
			seen = max(seen, e.Fence)
		}
	}
	return seen
}
