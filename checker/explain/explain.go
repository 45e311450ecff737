// Package explain says why a violation occurred, in sentences that each cite events of the history.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// A Sentence is one step of an explanation.
type Sentence struct {
	Text string `json:"text"`
	// Events are indices into History.Events. The first is the event that the sentence is about; the others, ascending, support it,
	// and may be older. Each process, lease and instant in the text is in one of these events.
	Events []int `json:"events"`
}

// Story explains why a violation occurred to a reader who has not seen the timeline, in one to ten sentences in the order of
// events. The last sentence says which assumption was broken, if any, and cites the events that broke it. Story uses only the
// history. If the history shows too little, the only sentence is the text of the violation.
func Story(f *facts.Facts, v checker.Violation) []Sentence {
	v.Events = slices.DeleteFunc(slices.Clone(v.Events), func(i int) bool { return i < 0 || i >= len(f.Events) })
	n := &narrator{f: f, v: v, told: map[int]bool{}}
	if len(v.Events) > 0 && f.Malformed == nil {
		n.tell()
	}
	if len(n.story) == 0 {
		return []Sentence{{strings.TrimSuffix(v.What, ".") + ".", v.Events}}
	}
	for _, i := range v.Events {
		n.sign(i)
	}
	n.conclude()
	return n.sentences()
}

// sentencesMost is the greatest number of sentences of a story.
const sentencesMost = 10

// A narrator writes the story of one violation. It knows most events by their operation alone: only release, promote and follow are
// also the names of faults.
type narrator struct {
	f      *facts.Facts
	v      checker.Violation
	story  []said
	told   map[int]bool // the faults that were told
	paused []facts.Span // the pauses that were told
	cause  []int        // the events that broke an assumption, as far as they are known
	blame  Sentence     // the last sentence if no assumption was broken; empty for the default
}

// A said is a sentence of a story whose sentences are not yet in order.
type said struct {
	Sentence
	weight weight
	route  *route // if it is about faults on links
	drift  *drift // if it is about clocks that drift
}

// The weight of a sentence decides which sentences are left out if there are too many.
type weight int

const (
	background weight = iota // the situation at the start
	detail                   // makes the story clearer
	step                     // the story cannot be understood without it
)

func (n *narrator) tell() {
	switch n.v.Property {
	case checker.LeaseExclusion:
		n.tellOverlap()
	case checker.ResourceExclusion:
		n.tellWrite()
	case checker.ExpiredOnReturn:
		n.tellReturn()
	case checker.NoLostUpdate:
		n.tellLostUpdate()
	case checker.OwnerOnly:
		n.tellIntrusion()
	case checker.NoLostVote:
		n.tellLostVote()
	case checker.Tokens:
		n.tellTokens()
	case checker.DeadlockFreedom, checker.FaultTolerance:
		n.tellStandstill()
	}
}

// say adds a sentence about event at; others are further events that support it. Events of -1 are ignored.
func (n *narrator) say(w weight, at int, others []int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if rest, ok := strings.CutPrefix(text, "the "); ok {
		text = "The " + rest
	}
	if at < 0 || at >= len(n.f.Events) || slices.ContainsFunc(n.story, func(s said) bool { return s.Text == text }) {
		return
	}
	rest := slices.DeleteFunc(sorted(slices.Clone(others)...), func(i int) bool { return i == at || i >= len(n.f.Events) })
	n.story = append(n.story, said{Sentence: Sentence{text, append([]int{at}, rest...)}, weight: w})
}

// conclude says which assumption was broken. The sentence cites the events that broke it, and the events of the violation that no
// other sentence cites.
func (n *narrator) conclude() {
	var events []int
	text := broke(n.v.Assumption)
	switch {
	case n.forgetful():
		text = "The environment broke the assumption that the resource keeps what it has accepted."
		events = append(events, n.cause...)
	case n.v.Assumption != checker.None && n.v.Assumption != "":
		events = append(events, n.cause...)
	case len(n.refusals()) > 0:
		text, events = n.withoutCommands(), append(events, n.refusals()...)
	case n.blame.Text != "":
		text, events = n.blame.Text, append(events, n.blame.Events...)
	case n.unmarked() >= 0:
		text = "No broken assumption explains this: the lock itself is at fault. Its key holds no token of a lease."
		events = append(events, n.unmarked())
	case n.lockless():
		text = "No assumption was broken. There was no lock: nothing kept the clients apart."
	}
	for _, i := range n.v.Events {
		if !slices.ContainsFunc(n.story, func(s said) bool { return slices.Contains(s.Events, i) }) {
			events = append(events, i)
		}
	}
	if events = sorted(events...); len(events) == 0 {
		events = n.v.Events[len(n.v.Events)-1:]
	}
	n.story = append(n.story, said{Sentence: Sentence{text, events}, weight: step})
}

// refusals returns the events by which Lockstep refused commands of the lock, up to the violation.
func (n *narrator) refusals() (events []int) {
	for i, e := range n.f.Events {
		if e.Kind == history.State && e.Op == history.Refuse && e.At <= n.v.At {
			events = append(events, i)
		}
	}
	return events
}

// withoutCommands says that the lock lacked commands which Lockstep refused, so that the violation says nothing about it.
func (n *narrator) withoutCommands() string {
	var names []string
	for _, i := range n.refusals() {
		if name := n.event(i).Value; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	does := "does not simulate "
	if n.f.Meta.On == history.OnReal {
		does = "cannot follow "
	}
	return "This may not be the fault of the lock: Lockstep " + does + history.List(names) + ", and answered with an error."
}

// forgetful reports whether the assumption was broken because the resource, and not a lock node, lost something.
func (n *narrator) forgetful() bool {
	return n.v.Assumption == checker.DurableNodes &&
		n.culprit(func(e history.Event) bool { return e.Op == history.Lose && e.Process == history.ResourceName }) >= 0
}

// lockless reports whether the clients of the run had no lock: none asked for one, or the leases that they got had no keys.
func (n *narrator) lockless() bool {
	if len(n.f.Lives) > 0 || n.unmarked() >= 0 {
		return false
	}
	asked, got := false, false
	for _, e := range n.f.Events {
		if e.Op == history.Acquire && e.Process != n.f.Meta.Probe {
			asked, got = true, got || e.Kind == history.OK
		}
	}
	return got || !asked
}

// unmarked returns the first change of a key on a node by a client, if no key ever stood for a lease: a lock may count clients in its
// key, so that nobody knows whose it is. It returns -1 otherwise.
func (n *narrator) unmarked() int {
	if len(n.f.Lives) > 0 {
		return -1
	}
	return slices.IndexFunc(n.f.Events, func(e history.Event) bool {
		return e.Kind == history.State && n.f.Groups[e.Process] != "" && e.Key != "" && e.By != "" && !n.f.Servers[e.By]
	})
}

// broke says in plain words which assumption was broken.
func broke(a checker.Assumption) string {
	const lead = "The environment broke the assumption that "
	switch a {
	case checker.BoundedPause:
		return lead + "no process is paused for longer than its lease lasts."
	case checker.BoundedClockError:
		return lead + "clocks run at nearly the same rate and do not jump."
	case checker.BoundedDelay:
		return lead + "a message arrives while the lease under which it was sent still lasts."
	case checker.DurableNodes:
		return lead + "a node that has granted a lease, and any node that takes its place, remembers it while it lasts."
	case checker.None, "":
		return "No broken assumption explains this: the lock itself is at fault."
	}
	return "The environment broke the assumption of " + string(a) + "."
}

// sentences puts the story in order and shortens it to sentencesMost. The last sentence stays last.
func (n *narrator) sentences() []Sentence {
	last := len(n.story) - 1
	slices.SortStableFunc(n.story[:last], func(a, b said) int { return cmp.Compare(a.Events[0], b.Events[0]) })
	for w := background; len(n.story) > sentencesMost && w <= step; {
		i := len(n.story) - 2
		for i >= 0 && n.story[i].weight != w {
			i--
		}
		if i < 0 {
			w++
			continue
		}
		n.story = slices.Delete(n.story, i, i+1)
	}
	var told []Sentence
	for _, s := range n.story {
		told = append(told, s.Sentence)
	}
	return told
}

// event returns event i, or an empty one if there is none.
func (n *narrator) event(i int) history.Event {
	if i < 0 || i >= len(n.f.Events) {
		return history.Event{}
	}
	return n.f.Events[i]
}

func (n *narrator) time(i int) string { return history.Seconds(n.event(i).At) }

// after returns the first event after i for which f holds, or -1.
func (n *narrator) after(i int, f func(history.Event) bool) int {
	for j := i + 1; j < len(n.f.Events); j++ {
		if f(n.f.Events[j]) {
			return j
		}
	}
	return -1
}

// before returns the last event before i for which f holds, or -1.
func (n *narrator) before(i int, f func(history.Event) bool) int {
	for j := min(i, len(n.f.Events)) - 1; j >= 0; j-- {
		if f(n.f.Events[j]) {
			return j
		}
	}
	return -1
}

// doing returns the invocation of the operation that a client was in at event i, or -1.
func (n *narrator) doing(client string, i int) int {
	in := facts.Before(n.f.Invokes[client], i)
	for in >= 0 && n.outcome(in) >= 0 && n.outcome(in) < i {
		in = facts.Before(n.f.Invokes[client], in)
	}
	return in
}

// during returns the invocation of the operation in which the client of change i sent its request, which may have ended before the request
// arrived; -1 if it was in none.
func (n *narrator) during(i int) int {
	e := n.event(i)
	for in := facts.Before(n.f.Invokes[e.By], i); in >= 0; in = facts.Before(n.f.Invokes[e.By], in) {
		out := n.outcome(in)
		if n.event(in).At <= e.Departure() && (out < 0 || n.event(out).At >= e.Departure()) {
			return in
		}
	}
	return -1
}

// amid says in which operation the client of change i sent its request, and when, if the operation was over when the request arrived. It returns the
// invocation of the operation; nothing and -1 if there was none.
func (n *narrator) amid(i int) (text string, in int) {
	in = n.during(i)
	switch e := n.event(in); e.Op {
	case history.Acquire:
		text = ", during an acquire"
	case history.Release:
		text = ", " + n.releasedIn(in)
	case history.Extend:
		text = ", in the extension of " + e.Lease
	default:
		return "", -1
	}
	if out := n.outcome(in); out >= 0 && out < i {
		text = ", by a request that it had sent at " + history.Seconds(n.event(i).Departure()) + text
	}
	return text, in
}

// releasedIn names the release that event i invoked.
func (n *narrator) releasedIn(i int) string {
	label := n.event(i).Lease
	if n.f.Releases[label][0] < i {
		return "in another release of " + label
	}
	return "in the release of " + label
}

// outcome returns the outcome of the operation that event i invoked, or -1.
func (n *narrator) outcome(i int) int { return event(n.f.Outcome, i) }

// event returns the event that belongs to event i, or -1.
func event(of map[int]int, i int) int {
	if j, ok := of[i]; ok {
		return j
	}
	return -1
}

// when says when events happened: at 1.000s, or from 1.000s to 1.003s.
func (n *narrator) when(events []int) string {
	from, to := n.time(slices.Min(events)), n.time(slices.Max(events))
	if from == to {
		return "at " + from
	}
	return "from " + from + " to " + to
}

// long reports whether a time is long enough, compared with a lease, to be mentioned.
func (n *narrator) long(d time.Duration) bool { return d > n.f.Meta.TTL/4 && d > 100*time.Millisecond }

// sorted sorts indices of events, and removes repetitions and every -1, which stands for no event.
func sorted(events ...int) []int {
	slices.Sort(events)
	return slices.DeleteFunc(slices.Compact(events), func(i int) bool { return i < 0 })
}

// accused returns the leases that a violation names, in the order of their grants.
func (n *narrator) accused() []*facts.Lease {
	var leases []*facts.Lease
	for i := range n.f.Holds {
		if l := &n.f.Holds[i]; slices.Contains(n.v.Events, l.ReturnEvent) {
			leases = append(leases, l)
		}
	}
	slices.SortStableFunc(leases, func(a, b *facts.Lease) int { return a.GrantEvent - b.GrantEvent })
	return leases
}

// culprit returns the last event of a violation, up to its time, for which f holds, or -1.
func (n *narrator) culprit(f func(history.Event) bool) int {
	for _, i := range slices.Backward(n.v.Events) {
		if e := n.event(i); e.At <= n.v.At && f(e) {
			return i
		}
	}
	return -1
}
