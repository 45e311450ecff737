package checker

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"lockstep/sim/history"
)

// Rounding is how much shorter a key may live because deadlines in Redis are whole milliseconds.
const Rounding = time.Millisecond

// fenceSuffix is the suffix of the usual name of a counter of fencing tokens, after the name of its lock.
const fenceSuffix = ":fence"

// counters returns a function that reports whether fencing tokens are counted in a key: it has the usual name, or has had the token of a
// lease as its value. If there is no such key, the counter may be a part of the lock's own key, such as a field of a hash.
func (ix *index) counters() func(key string) bool {
	tokens := map[string]bool{}
	for _, e := range ix.Events {
		if e.Op == history.Acquire && e.Fence != 0 {
			tokens[strconv.FormatInt(e.Fence, 10)] = true
		}
	}
	keys := map[string]bool{}
	for _, e := range ix.Events {
		if e.Kind == history.State && ix.groups[e.Process] != "" && (strings.HasSuffix(e.Key, fenceSuffix) || tokens[e.Value]) {
			keys[e.Key] = true
		}
	}
	return func(key string) bool { return keys[key] || len(keys) == 0 && len(tokens) > 0 }
}

// An index is a history with tables of what the properties look up.
type index struct {
	*history.History

	leases  []Lease          // the first hold of each, in the order of their returns
	byLabel map[string]int   // where in leases
	holds   []Lease          // all holds, in the order of their beginnings
	holdsOf map[string][]int // where in holds, by label

	successor map[string]*Lease // by label, the lease on the same lock that was granted next

	groups      map[string]string     // the lock node of each server: itself, or the node of which it is a replica
	servers     map[string]bool       // whose events are not commands of a client
	lives       []keyLife             // of the keys that stood for a lease, in the order of their beginnings
	livesOf     map[string][]int      // where in lives, by the label of the lease
	dues        map[int]time.Duration // by the event that set it, the deadline of a key in true time
	fences      map[string][]int      // changes of the counters of fencing tokens, by server
	promotions  map[string][]int      // by the lock node that was replaced
	invocation  map[int]int           // of an outcome
	outcome     map[int]int           // of an invocation
	grants      map[string][]int      // by label, the events by which a majority of nodes got a key of the lease
	releases    map[string][]int      // invocations, by label
	reads       map[string][]int      // of the resource: the ok outcomes, by client
	extensions  map[string][]int      // by label, including renewals by the lock itself
	losses      map[string][]int      // by label, the events that told a client that its lease is lost
	crashes     map[string][]int
	exits       map[string][]int
	invokes     map[string][]int // invocations by client
	pauses      map[string][]span
	outages     map[string][]span // from a crash or an orderly stop to the restart
	clocks      map[string][]history.Clock
	clockFaults map[string][]int
	keys        int              // how many keys on one node are needed for its vote
	tardy       map[string][]int // messages that took as long as if the other end was out of reach; see outOfReach

	broken   map[direction][]stretch // see severed
	shut     map[direction][]stretch // see shutOff
	detained map[direction][]stretch // see keptBack
}

// A span is the time between two events. If nothing ends it, to is the number of events.
type span struct{ from, to int }

// A keyLife is the history of one key from its setting to its end.
type keyLife struct {
	node, key, label string
	group            string        // the lock node of node: itself, or the node of which it is a replica
	from, to         int           // if nothing ends it, to is the number of events
	timed            time.Duration // true time of the last command that set its deadline
	ordered          time.Duration // when that command reached the node to which a client sent it; for a copy that is another node
	promise          time.Duration // its TTL from then on, or history.NoEnd
	vote             bool          // a client set it, so it counts towards a majority; a copy does not
	lasting          bool          // its client set no deadline
	renewed          time.Duration // the deadline by the last silent renewal of its client; 0 if there was none
}

func newIndex(h *history.History) *index {
	ix := &index{
		History:     h,
		byLabel:     map[string]int{},
		holdsOf:     map[string][]int{},
		successor:   map[string]*Lease{},
		groups:      map[string]string{},
		servers:     map[string]bool{},
		livesOf:     map[string][]int{},
		dues:        map[int]time.Duration{},
		fences:      map[string][]int{},
		promotions:  map[string][]int{},
		invocation:  map[int]int{},
		outcome:     map[int]int{},
		grants:      map[string][]int{},
		releases:    map[string][]int{},
		reads:       map[string][]int{},
		extensions:  map[string][]int{},
		losses:      map[string][]int{},
		crashes:     map[string][]int{},
		exits:       map[string][]int{},
		invokes:     map[string][]int{},
		pauses:      map[string][]span{},
		outages:     map[string][]span{},
		clocks:      map[string][]history.Clock{},
		clockFaults: map[string][]int{},
		tardy:       map[string][]int{},
		keys:        1,
	}
	ix.readServers()
	ix.readOperations()
	ix.readFaults()
	ix.readKeys()
	ix.readMessages()
	for i, e := range h.Events {
		if e.Kind == history.OK && e.Op == history.Acquire {
			holds := ix.newHolds(i)
			ix.byLabel[e.Lease] = len(ix.leases)
			ix.leases = append(ix.leases, holds[0])
			ix.holds = append(ix.holds, holds...)
		}
	}
	slices.SortFunc(ix.holds, func(a, b Lease) int { return cmp.Compare(a.ReturnEvent, b.ReturnEvent) })
	for n, l := range ix.holds {
		ix.holdsOf[l.Label] = append(ix.holdsOf[l.Label], n)
	}
	for _, leases := range byGrant(ix) {
		for i, l := range leases[1:] {
			ix.successor[leases[i].Label] = l
		}
	}
	return ix
}

// readServers finds out which processes are servers. A node without replicas is a group of its own.
func (ix *index) readServers() {
	for _, n := range ix.Meta.Nodes {
		ix.groups[n], ix.servers[n] = n, true
	}
	for r, n := range ix.Meta.Replicas {
		if slices.Contains(ix.Meta.Nodes, n) && ix.groups[r] == "" {
			ix.groups[r] = n
		}
		ix.servers[r] = true
	}
	for _, p := range ix.Meta.Others {
		ix.servers[p] = true
	}
	for i, e := range ix.Events {
		if e.Kind == history.State && e.Op == history.Promoted && ix.groups[e.Process] != "" {
			ix.promotions[ix.groups[e.Process]] = append(ix.promotions[ix.groups[e.Process]], i)
		}
	}
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
		case e.Kind == history.Invoke:
			pending[op] = i
			ix.invokes[e.Process] = append(ix.invokes[e.Process], i)
			if e.Op == history.Release {
				ix.releases[e.Lease] = append(ix.releases[e.Lease], i)
			}
		case e.Kind == history.Info && e.Op == history.Exit:
			ix.exits[e.Process] = append(ix.exits[e.Process], i)
		case e.EndsOperation():
			if j, ok := pending[op]; ok {
				ix.invocation[i], ix.outcome[j] = j, i
			}
		}
		switch {
		case e.Kind == history.OK && e.Op == history.Acquire:
			ix.keys = max(ix.keys, e.Keys)
		case e.Kind == history.OK && e.Op == history.Read:
			ix.reads[e.Process] = append(ix.reads[e.Process], i)
		case e.Kind == history.OK && e.Op == history.Extend, e.Kind == history.Info && e.Op == history.Renew:
			ix.extensions[e.Lease] = append(ix.extensions[e.Lease], i)
		case e.Kind == history.Info && e.Op == history.Lost, e.Kind == history.Fail && e.Op == history.Extend && e.Until > 0:
			ix.losses[e.Lease] = append(ix.losses[e.Lease], i)
		}
		if isReading(e) {
			if e.Kind == history.Injected {
				ppm[e.Process] = e.PPM
			}
			ix.clocks[e.Process] = append(ix.clocks[e.Process], history.Clock{Since: e.At, Steady: e.Clock, PPM: ppm[e.Process]})
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
		if e.Kind != history.Injected {
			continue
		}
		switch e.Op {
		case "pause":
			begin(ix.pauses, e.Process, i)
		case "resume":
			finish(ix.pauses, e.Process, i)
		case "crash", "stop":
			ix.crashes[e.Process] = append(ix.crashes[e.Process], i)
			begin(ix.outages, e.Process, i)
		case "restart":
			finish(ix.outages, e.Process, i)
		case "drift", "jump", "slew":
			ix.clockFaults[e.Process] = append(ix.clockFaults[e.Process], i)
		}
	}
}

// readKeys follows the keys of the lock nodes and of their replicas. A replicated key is not a vote.
func (ix *index) readKeys() {
	type place struct{ node, key string }
	living := map[place]int{}
	votes := map[string]map[string]int{} // label → group → number of keys there
	voting := map[string]int{}           // label → number of groups with enough of them
	end := func(p place, i int) (label string, vote bool) {
		n, ok := living[p]
		if !ok {
			return "", false
		}
		delete(living, p)
		l := &ix.lives[n]
		l.to = i
		if groups := votes[l.label]; l.vote {
			if groups[l.group]--; groups[l.group] == ix.keys-1 {
				voting[l.label]--
			}
		}
		return l.label, l.vote
	}
	begin := func(p place, label string, i int) {
		before, voted := end(p, i)
		if label == "" {
			return // another kind of key, such as the counter of fencing tokens
		}
		again := voted && before == label // a lease that overwrites its own key keeps the vote, and gets no second one
		l := keyLife{
			node: p.node, key: p.key, label: label, group: ix.groups[p.node], from: i, to: len(ix.Events),
			vote: again || !ix.servers[ix.Events[i].By],
		}
		ix.date(&l, i)
		l.lasting = l.promise == history.NoEnd
		living[p] = len(ix.lives)
		ix.livesOf[label] = append(ix.livesOf[label], len(ix.lives))
		ix.lives = append(ix.lives, l)
		if !l.vote {
			return
		}
		if votes[label] == nil {
			votes[label] = map[string]int{}
		}
		votes[label][l.group]++
		if votes[label][l.group] != ix.keys {
			return
		}
		if voting[label]++; voting[label] == ix.Meta.Quorum() && !again {
			ix.grants[label] = append(ix.grants[label], i)
		}
	}
	counts := ix.counters()
	for i, e := range ix.Events {
		if e.Kind != history.State || ix.groups[e.Process] == "" {
			continue
		}
		if counts(e.Key) {
			ix.fences[e.Process] = append(ix.fences[e.Process], i)
		}
		p := place{e.Process, e.Key}
		switch e.Op {
		case history.Set, history.Over:
			begin(p, ix.marked(i), i)
		case history.Retime:
			if n, ok := living[p]; ok {
				l := &ix.lives[n]
				ix.date(l, i)
				if e.By != history.Client(l.label) {
					continue
				}
				l.lasting = l.promise == history.NoEnd
				if ix.unasked(i) {
					l.renewed = l.due()
				}
			}
		case history.Delete, history.Expire, history.Lose:
			end(p, i)
		}
	}
}

// unasked reports whether the client that set a deadline by event i did so silently: outside of an operation that sets deadlines,
// and the key had one before.
func (ix *index) unasked(i int) bool {
	e := ix.Events[i]
	for in := last(ix.invokes[e.By], i); in >= 0; in = last(ix.invokes[e.By], in) {
		if ix.at(in) > e.Departure() {
			continue
		}
		switch out, ended := ix.outcome[in]; ix.Events[in].Op {
		case history.Acquire, history.Extend, history.Release:
			return ended && ix.at(out) < e.Departure()
		}
		return true
	}
	return false
}

// marked returns the lease that a key stands for after event i set its value. If two clients drew the same token, it has the name
// of the client that sent it first, but the key stands for the lease of the other. If a command puts the mark of a third client
// in the place of that of a lease, no token was drawn: if a queue is one key, the next in line has come to the front.
func (ix *index) marked(i int) string {
	e := ix.Events[i]
	if e.Lease == "" || e.By == "" || ix.servers[e.By] || history.Client(e.Lease) == e.By || ix.advances(e) {
		return e.Lease
	}
	if in := last(ix.invokes[e.By], i); in >= 0 {
		if out, ok := ix.outcome[in]; ok && ix.Events[out].Op == history.Acquire && ix.Events[out].Lease != "" {
			return ix.Events[out].Lease
		}
	}
	return e.By + "#?" // it was never obtained
}

// advances reports whether an event brings the next in a queue to its front: by a command of one client, the key of a lease
// stands for that of another.
func (ix *index) advances(e history.Event) bool {
	return e.Op == history.Over && e.Owner != "" && e.Lease != "" && e.By != "" && !ix.servers[e.By] && history.Client(e.Lease) != e.By
}

func (ix *index) readMessages() {
	for i, e := range ix.Events {
		if e.Kind == history.Message && ix.outOfReach(e.At-e.Sent) {
			ix.tardy[e.By] = append(ix.tardy[e.By], i)
			ix.tardy[e.Process] = append(ix.tardy[e.Process], i)
		}
	}
}

// at returns the instant of event i; for a span or a keyLife that nothing ends, that of the last event.
func (ix *index) at(i int) time.Duration { return ix.Events[min(i, len(ix.Events)-1)].At }

// lease returns the first hold of the lease with a label, or nil if no Acquire is known to have returned it.
func (ix *index) lease(label string) *Lease {
	if n, ok := ix.byLabel[label]; ok {
		return &ix.leases[n]
	}
	return nil
}

// paused returns how long a process was paused between two instants of true time, and the event of the first such pause.
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

// lifetime returns how long a key lived after its deadline was last set.
func (ix *index) lifetime(l keyLife) time.Duration { return ix.at(l.to) - l.timed }

// promise returns the TTL that event i gave a key. That is what the command said, and not the TTL of the run: a lock that gives
// its keys less gets what it asked for. If the history has no deadline for a key, the TTL of the run is assumed. A copy has the
// rest of the original's TTL, whatever the clock of its own node says.
func (ix *index) promise(l keyLife, i int) time.Duration {
	e := ix.Events[i]
	if k := ix.original(l, i); k != nil {
		if due := k.due(); due < history.NoEnd {
			return max(0, due-e.At)
		}
		return history.NoEnd
	}
	switch {
	case e.Until == history.NoEnd, e.Until == 0 && ix.Meta.TTL <= 0:
		return history.NoEnd
	case e.Until == 0:
		return ix.Meta.TTL
	}
	return e.Until - (e.At + e.Wall)
}

// date sets the deadline of a key by event i.
func (ix *index) date(l *keyLife, i int) {
	l.timed, l.ordered, l.promise = ix.at(i), ix.at(i), ix.promise(*l, i)
	if k := ix.original(*l, i); k != nil {
		l.ordered = k.ordered
	}
	ix.dues[i] = l.due()
}

// original returns the key of which another was a copy when event i set its deadline, or nil.
func (ix *index) original(l keyLife, i int) *keyLife {
	by := ix.Events[i].By
	if !ix.servers[by] {
		return nil
	}
	for _, n := range slices.Backward(ix.livesOf[l.label]) {
		if k := &ix.lives[n]; k.node == by && k.key == l.key {
			return k
		}
	}
	return nil
}

// due returns the deadline of a key in true time, had its node kept it and had its clock been right.
func (l keyLife) due() time.Duration {
	if l.promise < 0 {
		return l.timed
	}
	return later(l.timed, l.promise)
}

// overdue returns when a key should be gone at the latest, even if its clock is a little slow: it allows a hundredth, and the 10
// ms that it may take to notice that a key has expired.
func (l keyLife) overdue() time.Duration {
	return later(l.due(), max(0, l.promise)/100+10*time.Millisecond)
}

// early reports whether a key was gone before its TTL had passed in true time, though no command removed it.
func (ix *index) early(l keyLife) bool {
	if l.to == len(ix.Events) {
		return false
	}
	switch ix.Events[ix.cause(l)].Op {
	case history.Expire:
		return l.promise != history.NoEnd && ix.lifetime(l) < l.promise-Rounding
	case history.Lose:
		return ix.lifetime(l) < l.promise-Rounding
	}
	return false
}

// cause returns the event that ended a key. The cause for a copy is that for its original.
func (ix *index) cause(l keyLife) int {
	if l.to == len(ix.Events) || !ix.servers[ix.Events[l.to].By] {
		return l.to
	}
	for _, n := range slices.Backward(ix.livesOf[l.label]) {
		if k := ix.lives[n]; k.node == ix.Events[l.to].By && k.key == l.key && k.to < l.to {
			return k.to
		}
	}
	return l.to
}

// holdAt returns the last hold of a lease that had begun by the instant t, or the first hold; nil if there is no such lease.
func (ix *index) holdAt(label string, t time.Duration) *Lease {
	var found *Lease
	for _, n := range ix.holdsOf[label] {
		if l := &ix.holds[n]; found == nil || l.From <= t {
			found = l
		}
	}
	return found
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
