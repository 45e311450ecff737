package play

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/sim"
	"lockstep/sim/history"
)

// nearly is the largest difference between two times that count as the same in a repetition: two round trips on a simulated link.
// If two cases of a select in the library are ready, Go chooses at random, and a client may make one more round trip before it
// does the same.
const nearly = 4 * sim.MaxLatency

// Difference compares two repetitions of a run as its clients saw them, and describes the first difference; empty if there is
// none.
//
// A library may draw from randomness that cannot be seeded, and send from several goroutines over one connection in the order in
// which they ran. Then two repetitions differ in their traces, in nanoseconds and in the order of messages, and checksums cannot
// be compared. So this compares what matters: the status of each property, with the assumptions that were broken; and for each
// client its invocations and outcomes in order, with the operation, the lease, the fencing token, the value, whether there was an
// error, and the times to within some milliseconds.
func Difference(first, second *Outcome) string {
	if words := judgedOtherwise(first, second); words != "" {
		return words
	}
	var found string
	earliest := history.NoEnd
	for _, client := range clientsOf(first.History, second.History) {
		a, b := seenBy(client, first.History), seenBy(client, second.History)
		for i := range max(len(a), len(b)) {
			at, words := compareEvents(at(a, i), at(b, i))
			if words == "" {
				continue
			}
			if at < earliest {
				earliest, found = at, client+" "+words
			}
			break
		}
	}
	return found
}

// judgedOtherwise describes the first difference between the results of two runs: in the status of a property, the verdict, or
// the assumption; empty if there is none.
func judgedOtherwise(first, second *Outcome) string {
	for i, s := range first.Result.Statuses {
		if t := second.Result.Statuses[i]; s != t {
			return fmt.Sprintf("%s: %s, then %s", s.Property, s.Status, t.Status)
		}
	}
	if a, b := first.Result.Verdict, second.Result.Verdict; a != b {
		return fmt.Sprintf("verdict %v, then %v", a, b)
	}
	if a, b := assumptions(first.Result), assumptions(second.Result); a != b {
		return fmt.Sprintf("broken: %s, then %s", a, b)
	}
	return ""
}

// assumptions lists the assumptions that the violations of a run broke, each once.
func assumptions(r checker.Result) string {
	var broken []string
	for _, v := range r.Violations {
		if text := fmt.Sprintf("%s (%s)", v.Property, v.Assumption); !slices.Contains(broken, text) {
			broken = append(broken, text)
		}
	}
	slices.Sort(broken)
	return strings.Join(broken, ", ")
}

func clientsOf(histories ...*history.History) []string {
	var all []string
	for _, h := range histories {
		all = append(all, h.Meta.Clients...)
		all = append(all, h.Meta.Probe)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// seenBy lists the invocations and outcomes of a client.
func seenBy(client string, h *history.History) []history.Event {
	var seen []history.Event
	for _, e := range h.Events {
		switch e.Kind {
		case history.Invoke, history.OK, history.Fail, history.Info:
			if e.Process == client && e.Op != history.Unpaused {
				seen = append(seen, e)
			}
		}
	}
	return seen
}

func at(events []history.Event, i int) *history.Event {
	if i < len(events) {
		return &events[i]
	}
	return nil
}

// compareEvents describes the difference between two events, one of which may be missing; empty if there is none. It also returns
// the earlier time.
func compareEvents(a, b *history.Event) (earlier time.Duration, words string) {
	say := func(e *history.Event) string {
		if e == nil {
			return "nothing more"
		}
		text := fmt.Sprintf("%s %s", e.Kind, e.Op)
		for _, s := range []string{e.Value, e.Lease} {
			if s != "" {
				text += " " + s
			}
		}
		return fmt.Sprintf("%s at %.6fs", text, e.At.Seconds())
	}
	switch {
	case a == nil:
		return b.At, say(a) + ", then " + say(b)
	case b == nil:
		return a.At, say(a) + ", then " + say(b)
	}
	same := a.Kind == b.Kind && a.Op == b.Op && a.ID == b.ID && a.Lock == b.Lock && a.Lease == b.Lease && a.Fence == b.Fence &&
		a.Value == b.Value && (a.Error == "") == (b.Error == "") &&
		(a.At-b.At).Abs() < nearly && (a.Until == b.Until || (a.Until-b.Until).Abs() < nearly)
	if same {
		return 0, ""
	}
	return min(a.At, b.At), say(a) + ", then " + say(b)
}
