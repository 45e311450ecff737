package reports

import (
	"fmt"
	"slices"
	"time"

	"lockstep/checker"
	"lockstep/sim/history"
)

// tellingDelay is how late a message must be for a timeline to say when it was sent.
const tellingDelay = 100 * time.Millisecond

// A deed is an operation of a client: an invocation and, if there was one, its outcome. Attempts to acquire that a client
// makes and is refused, one after the other, are one deed: a client that polls would fill a timeline with nothing. So are the
// many times that a client does the same, but for the first and the last of them.
type deed struct {
	process, op, value, lease, err string
	invoked, returned              time.Duration
	outcome                        history.Kind // empty if it never returned
	in, out                        int          // the events of the first invocation and the last outcome, -1 if it never returned
	times                          int          // how many attempts it stands for
	failed                         int          // how many of these certainly did not happen
	idle                           bool         // nothing changed on any server for it
	next                           int          // the event with which the client does something else; what it left is tidied up by then
}

// deeds joins the events of operations, in order of invocation. Waiting is no deed.
func deeds(h *history.History) []deed { return joinRepeats(joinRefusals(rawDeeds(h))) }

// rawDeeds returns all operations one by one.
func rawDeeds(h *history.History) []deed {
	type id struct {
		process string
		n       int
	}
	var ds []deed
	open := map[id]int{}
	for i := range h.Events {
		e := &h.Events[i]
		switch e.Kind {
		case history.Invoke:
			open[id{e.Process, e.ID}] = len(ds)
			ds = append(ds, deed{process: e.Process, op: e.Op, value: e.Value, lease: e.Lease, invoked: e.At, returned: e.At,
				in: i, out: -1, times: 1, next: len(h.Events)})
		case history.OK, history.Fail, history.Info:
			if n, found := open[id{e.Process, e.ID}]; found && e.Op == ds[n].op {
				ds[n].returned, ds[n].outcome, ds[n].err, ds[n].out = e.At, e.Kind, e.Error, i
			}
		}
	}
	lane := map[string]int{} // by process, the latest deed
	next := 0
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind == history.Invoke {
			lane[e.Process] = next
			next++
			ds[lane[e.Process]].idle = true
		}
		if n, found := lane[e.By]; found && e.Kind == history.State {
			ds[n].idle = false
		}
	}
	return ds
}

func joinRefusals(ds []deed) []deed {
	var joined []deed
	last := map[string]int{} // process: its latest deed
	for _, d := range ds {
		if d.op == history.Wait {
			continue
		}
		if d.outcome == history.Fail {
			d.failed = 1
		}
		n, found := last[d.process]
		if found && d.refused() && joined[n].refused() && d.outcome == joined[n].outcome {
			joined[n].returned, joined[n].err, joined[n].out = d.returned, d.err, d.out
			joined[n].times++
			joined[n].failed += d.failed
			continue
		}
		if found {
			joined[n].next = d.in
		}
		last[d.process] = len(joined)
		joined = append(joined, d)
	}
	return joined
}

// A client that does the same again and again is shown doing it at the beginning and once more at the end.
const (
	repeatsFrom  = 8 // fewer are all shown
	repeatsFirst = 2 // how many at the beginning
)

// joinRepeats makes one deed of the many times that a client does the same, with nothing but an acquire and a release around
// each.
func joinRepeats(ds []deed) []deed {
	lanes := map[string][]int{} // by process, where its deeds are
	gone := map[int]bool{}
	for i, d := range ds {
		lanes[d.process] = append(lanes[d.process], i)
	}
	for _, lane := range lanes {
		for len(lane) > 0 {
			n, same := repeats(ds, lane)
			if len(same) >= repeatsFrom {
				joinRun(ds, lane[afterReleases(ds, lane, same[repeatsFirst-1]+1):afterReleases(ds, lane, same[len(same)-2]+1)], gone)
			}
			lane = lane[n:]
		}
	}
	var joined []deed
	for i, d := range ds {
		if !gone[i] {
			joined = append(joined, d)
		}
	}
	return joined
}

// repeats returns how many deeds at the beginning of a lane belong to one thing that is done again and again, at least 1, and
// which of them are that thing itself.
func repeats(ds []deed, lane []int) (n int, same []int) {
	for n = 0; n < len(lane); n++ {
		d := &ds[lane[n]]
		if d.op == history.Acquire || d.op == history.Release {
			continue
		}
		if len(same) > 0 && (d.op != ds[lane[same[0]]].op || d.value != ds[lane[same[0]]].value) {
			break
		}
		same = append(same, n)
	}
	return max(n, 1), same
}

// afterReleases returns where in a lane the releases from n on end.
func afterReleases(ds []deed, lane []int, n int) int {
	for n < len(lane) && ds[lane[n]].op == history.Release {
		n++
	}
	return n
}

// joinRun makes one deed of a run of them, from the acquire of the first to the release of the last.
func joinRun(ds []deed, run []int, gone map[int]bool) {
	var whole deed
	for _, i := range run {
		if ds[i].op != history.Acquire && ds[i].op != history.Release {
			times, failed := whole.times+ds[i].times, whole.failed+ds[i].failed
			whole = ds[i]
			whole.times, whole.failed = times, failed
		}
		gone[i] = true
	}
	first, last := run[0], run[len(run)-1]
	whole.in, whole.invoked, whole.lease, whole.next = ds[first].in, ds[first].invoked, "", ds[last].next
	ds[first] = whole
	delete(gone, first)
}

// refused reports whether d asked for the lock and did not get it: it was told so, or nobody heard it.
func (d *deed) refused() bool {
	return d.op == history.Acquire && (d.outcome == history.Fail || d.outcome == history.Info && d.idle)
}

// folded reports whether d stands for several attempts, of which only the last outcome is shown.
func (d *deed) folded() bool { return d.times > 1 }

// covers reports whether event i is a part of the attempts that d stands for.
func (d *deed) covers(i int, e *history.Event) bool {
	if !d.folded() || i < d.in || i >= d.next {
		return false
	}
	switch e.Kind {
	case history.Invoke, history.Fail, history.OK, history.Info:
		switch e.Op {
		case history.Acquire, history.Wait, d.op:
			return e.Process == d.process
		case history.Release, history.Renew:
			return e.Process == d.process && d.op != history.Acquire
		}
	case history.State:
		return e.By == d.process
	case history.Message:
		return e.By == d.process || e.Process == d.process
	}
	return false
}

// summary says in a line what became of the attempts that d stands for.
func (d *deed) summary() string {
	s := "since " + seconds(d.invoked)
	switch {
	case d.op == history.Acquire:
		s += ": " + firstLine(d.err)
	case d.failed > 0:
		s += fmt.Sprintf(": %d not done", d.failed)
	}
	return s
}

// grantEvents returns the indices of the events that granted the leases, ascending.
func grantEvents(leases []checker.Lease) []int {
	var grants []int
	for _, l := range leases {
		if l.GrantSeen {
			grants = append(grants, l.GrantEvent)
		}
	}
	slices.Sort(grants)
	return grants
}

// fenceSeen returns the highest fence that the resource had accepted before event i.
func fenceSeen(h *history.History, i int) int64 {
	var seen int64
	for j := range h.Events[:i] {
		if e := &h.Events[j]; e.Kind == history.State && (e.Op == history.Accept || e.Op == history.Keep) {
			seen = max(seen, e.Fence)
		}
	}
	return seen
}
