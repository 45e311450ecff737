package checker

import (
	"slices"
	"sort"
	"time"

	"lockstep/sim"
)

// slack is what rounding may take off the life of a key: deadlines in Redis are whole milliseconds.
const slack = time.Millisecond

// An index is a history with what the properties ask of it looked up once.
type index struct {
	*sim.History

	leases  []Lease        // in the order of their returns
	byLabel map[string]int // where in leases

	lives       []life           // of the keys that stood for a lease, in the order of their beginnings
	livesOf     map[string][]int // where in lives, by the label of the lease
	invocation  map[int]int      // of an outcome
	grants      map[string][]int // by label, the events by which a majority of nodes came to have a key of it
	releases    map[string][]int // invocations, by label
	crashes     map[string][]int
	exits       map[string][]int
	invokes     map[string][]int // invocations by client
	pauses      map[string][]span
	outages     map[string][]span // from a crash to the restart
	clocks      map[string][]reading
	clockFaults map[string][]int
	slow        map[string][]int // messages from or to a process that took more than half a TTL
}

// A span is a stretch of the history between two events. One that nothing ends goes up to the number of events.
type span struct{ from, to int }

// A life is what became of one key from its setting to its end.
type life struct {
	node, key, label string
	from, to         int           // a life that nothing ends goes up to the number of events
	timed            time.Duration // true time of the last command that gave it a deadline
	promise          time.Duration // how long it was to live from then on, or sim.NoEnd
	vote             bool          // it was set where there was none, and so counts towards a majority
}

func newIndex(h *sim.History) *index {
	ix := &index{
		History:     h,
		byLabel:     map[string]int{},
		livesOf:     map[string][]int{},
		invocation:  map[int]int{},
		grants:      map[string][]int{},
		releases:    map[string][]int{},
		crashes:     map[string][]int{},
		exits:       map[string][]int{},
		invokes:     map[string][]int{},
		pauses:      map[string][]span{},
		outages:     map[string][]span{},
		clocks:      map[string][]reading{},
		clockFaults: map[string][]int{},
		slow:        map[string][]int{},
	}
	ix.readOperations()
	ix.readFaults()
	ix.readKeys()
	ix.readMessages()
	for i, e := range h.Events {
		if e.Kind == sim.OK && e.Op == sim.Acquire {
			ix.byLabel[e.Lease] = len(ix.leases)
			ix.leases = append(ix.leases, ix.newLease(i))
		}
	}
	return ix
}

func (ix *index) readOperations() {
	type operation struct {
		process string
		id      int
	}
	pending := map[operation]int{}
	ppm := map[string]int64{}
	for i, e := range ix.Events {
		op := operation{e.Process, e.ID}
		switch {
		case e.Kind == sim.Invoke:
			pending[op] = i
			ix.invokes[e.Process] = append(ix.invokes[e.Process], i)
			if e.Op == sim.Release {
				ix.releases[e.Lease] = append(ix.releases[e.Lease], i)
			}
		case e.Kind == sim.Info && e.Op == sim.Exit:
			ix.exits[e.Process] = append(ix.exits[e.Process], i)
		case isOutcome(e):
			if j, ok := pending[op]; ok {
				ix.invocation[i] = j
			}
		}
		if isReading(e) {
			if e.Kind == sim.Injected {
				ppm[e.Process] = e.PPM
			}
			ix.clocks[e.Process] = append(ix.clocks[e.Process], reading{e.At, e.Clock, ppm[e.Process]})
		}
	}
}

func (ix *index) readFaults() {
	end := len(ix.Events)
	begin := func(spans map[string][]span, process string, i int) {
		if s := spans[process]; len(s) == 0 || s[len(s)-1].to < end {
			spans[process] = append(s, span{i, end})
		}
	}
	finish := func(spans map[string][]span, process string, i int) {
		if s := spans[process]; len(s) > 0 && s[len(s)-1].to == end {
			s[len(s)-1].to = i
		}
	}
	for i, e := range ix.Events {
		if e.Kind != sim.Injected {
			continue
		}
		switch e.Op {
		case "pause":
			begin(ix.pauses, e.Process, i)
		case "resume":
			finish(ix.pauses, e.Process, i)
		case "crash":
			ix.crashes[e.Process] = append(ix.crashes[e.Process], i)
			begin(ix.outages, e.Process, i)
		case "restart":
			finish(ix.outages, e.Process, i)
		case "drift", "jump", "slew":
			ix.clockFaults[e.Process] = append(ix.clockFaults[e.Process], i)
		}
	}
}

// readKeys follows the keys of the lock nodes. A replica is no lock node: its copy of a key is no vote.
func (ix *index) readKeys() {
	type place struct{ node, key string }
	living := map[place]int{}
	votes := map[string]map[string]int{} // label → node → keys of it that live there
	end := func(p place, i int) (label string, vote bool) {
		n, ok := living[p]
		if !ok {
			return "", false
		}
		delete(living, p)
		l := &ix.lives[n]
		l.to = i
		if nodes := votes[l.label]; l.vote {
			if nodes[p.node]--; nodes[p.node] == 0 {
				delete(nodes, p.node)
			}
		}
		return l.label, l.vote
	}
	begin := func(p place, label string, vote bool, i int) {
		before, voted := end(p, i)
		if label == "" {
			return // a key of another kind, such as the counter of fencing tokens
		}
		again := voted && before == label // a lease that overwrites its own key keeps the vote, and gets no other
		living[p] = len(ix.lives)
		ix.livesOf[label] = append(ix.livesOf[label], len(ix.lives))
		ix.lives = append(ix.lives, life{
			node: p.node, key: p.key, label: label, from: i, to: len(ix.Events),
			timed: ix.at(i), promise: ix.promise(ix.Events[i]), vote: vote || again,
		})
		if !vote && !again {
			return
		}
		if votes[label] == nil {
			votes[label] = map[string]int{}
		}
		votes[label][p.node]++
		if votes[label][p.node] == 1 && len(votes[label]) == ix.Meta.Quorum() && !again {
			ix.grants[label] = append(ix.grants[label], i)
		}
	}
	for i, e := range ix.Events {
		if e.Kind != sim.State || !slices.Contains(ix.Meta.Nodes, e.Process) {
			continue
		}
		p := place{e.Process, e.Key}
		switch e.Op {
		case sim.Set:
			begin(p, e.Lease, true, i)
		case sim.Over:
			begin(p, e.Lease, false, i)
		case sim.Retime:
			if n, ok := living[p]; ok {
				ix.lives[n].timed, ix.lives[n].promise = e.At, ix.promise(e)
			}
		case sim.Delete, sim.Expire, sim.Lose:
			end(p, i)
		}
	}
}

func (ix *index) readMessages() {
	for i, e := range ix.Events {
		if e.Kind == sim.Message && e.Op == sim.Deliver && ix.tookLong(e.At-e.Sent) {
			ix.slow[e.By] = append(ix.slow[e.By], i)
			ix.slow[e.Process] = append(ix.slow[e.Process], i)
		}
	}
}

// at returns the instant of event i, that of the last event for a span or a life that nothing ends.
func (ix *index) at(i int) time.Duration { return ix.Events[min(i, len(ix.Events)-1)].At }

// lease returns the lease with a label, or nil if no Acquire is known to have handed it out.
func (ix *index) lease(label string) *Lease {
	if n, ok := ix.byLabel[label]; ok {
		return &ix.leases[n]
	}
	return nil
}

// paused returns how long a process was paused between two instants of true time, and the first such pause.
func (ix *index) paused(process string, from, to time.Duration) (total time.Duration, pause int) {
	pause = -1
	for _, s := range ix.pauses[process] {
		if d := min(ix.at(s.to), to) - max(ix.at(s.from), from); d > 0 {
			total += d
			if pause < 0 {
				pause = s.from
			}
		}
	}
	return total, pause
}

// lifetime returns for how long a key lived after it was last given a deadline.
func (ix *index) lifetime(l life) time.Duration { return ix.at(l.to) - l.timed }

// promise returns how long a key is to live after e, which gave it its deadline. That is what the command said, and not
// the TTL of the run: a lock that gives its keys less gets what it asked for. A key without a deadline in the history is
// taken to have got the TTL.
func (ix *index) promise(e sim.Event) time.Duration {
	switch {
	case e.Until == sim.NoEnd, e.Until == 0 && ix.Meta.TTL <= 0:
		return sim.NoEnd
	case e.Until == 0:
		return ix.Meta.TTL
	}
	return e.Until - (e.At + e.Wall)
}

// due returns when a key would have ended in true time, if its node had kept it and had a right clock.
func (l life) due() time.Duration {
	if l.promise < 0 {
		return l.timed
	}
	return later(l.timed, l.promise)
}

// early says whether a key was gone before the life that it was promised had passed in true time, though no command
// removed it.
func (ix *index) early(l life) bool {
	if l.to == len(ix.Events) {
		return false
	}
	switch ix.Events[l.to].Op {
	case sim.Expire:
		return l.promise != sim.NoEnd && ix.lifetime(l) < l.promise-slack
	case sim.Lose:
		return ix.lifetime(l) < l.promise-slack
	}
	return false
}

// tookLong says whether a message that was under way for d was late. No bound on delays is part of any algorithm; half a
// TTL is where one alone uses up most of a lease.
func (ix *index) tookLong(d time.Duration) bool { return ix.Meta.TTL > 0 && d > ix.Meta.TTL/2 }

// departure returns when the message that caused the state change e left its sender; when e happened if that is not known.
func departure(e sim.Event) time.Duration {
	if e.Sent == 0 {
		return e.At
	}
	return e.Sent
}

// first returns the first of ascending event indices after i, or -1.
func first(events []int, i int) int {
	if n := sort.SearchInts(events, i+1); n < len(events) {
		return events[n]
	}
	return -1
}

// last returns the last of ascending event indices before i, or -1.
func last(events []int, i int) int {
	if n := sort.SearchInts(events, i); n > 0 {
		return events[n-1]
	}
	return -1
}
