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

// nearly is how far two times may be apart that count as the same when a run is repeated: what two round trips of a simulated
// link take at most. Where two things are ready at once for a select of the library, Go takes either, and a client may make a round trip
// more before it does the same.
const nearly = 4 * sim.MaxLatency

// Difference compares two repetitions of a run as its clients saw them, and words the first difference; empty if there is
// none.
//
// A library may draw from randomness that nobody can seed, and send from several goroutines over one connection in the order
// in which they ran. Then two repetitions differ in their traces, in nanoseconds and in the order of messages, and the
// checksum says nothing. What such a run is good for is what it shows: its verdict, and what each client did and got. So
// these are compared: the status of each property, with the assumptions that were broken; and for each client its
// invocations and outcomes, one after the other, with the operation, the lease, the fence, the value and whether there was an
// error, and with their times to within some milliseconds.
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

// judgedOtherwise words the first difference between what two runs were found to be: the status of a property, the verdict, or
// what was broken; empty if there is none.
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

// assumptions lists what the violations of a run broke, each once.
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

// seenBy lists what a client did, and what it was told.
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

// compareEvents words the difference between two events, one of which may be missing; empty if there is none. It also
// returns the earlier time.
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
