package search

import (
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A state is a dangerous state that a lock has to survive and that a search easily misses. TigerBeetle and Antithesis have such
// marks, which must be reached sometimes. The musts of a scenario (package checker) describe such states exactly, for one client
// and one node. These are for any client and node, and take one pass through a history for all of them. They measure coverage,
// and no verdict depends on them.
type state struct {
	name  string
	needs func(m *history.Meta, lanes []script.Lane) bool // of the setting; nil: no requirement
	// kinds are those of which at least one must be allowed; none if the state is reached without them, or in too many ways to
	// list.
	kinds []script.Kind
}

// possible reports whether a search can reach the state in a setting, with some kinds of perturbations.
func (s state) possible(m *history.Meta, lanes []script.Lane, kinds []script.Kind) bool {
	drawn := func(k script.Kind) bool { return slices.Contains(kinds, k) }
	return (s.needs == nil || s.needs(m, lanes)) && (len(s.kinds) == 0 || slices.ContainsFunc(s.kinds, drawn))
}

// Names of states.
const (
	asksWhileHeld     = "a client asks for the lock while another holds it"
	splitVote         = "two clients have the keys of different nodes"
	splitEvenly       = "every node has a key, and no client has a majority of them"
	failsGranted      = "an acquire fails although a majority has granted it"
	returnsAfterKeys  = "an acquire returns after its keys have expired on a majority"
	returnsLate       = "an acquire returns when less than half of its lease is left"
	acquiresClosely   = "a client acquires just after the lease of another has ended"
	setsAfterGivingUp = "a key is set after its client has given up the acquire"
	replyTooLate      = "a reply arrives after its client has hung up"
	acquiresDown      = "a client acquires while a node is down"
	majorityDown      = "no majority of the nodes is up"
	nodeStalls        = "a node pauses while a client asks for the lock"
	cutOff            = "a holder is cut off from every majority"
	resumesTooLate    = "a client resumes after its lease has ended"
	resumesSucceeded  = "a client resumes after another has acquired the lock"
	expiresInPause    = "a key expires while its client is paused"
	goneTooEarly      = "a holder loses its key on a node before its lease ends"
	staysTooLong      = "a key outlives its time"
	requestUnderWay   = "a request to a lock node is under way when the lease of its client ends"
	writeUnderWay     = "a write is under way when its lease ends"
	writeLate         = "a write is sent after its lease has ended"
	writeSucceeded    = "a write arrives after another client has acquired the lock"
	extendsLate       = "a client extends after its lease has ended"
	releasesLate      = "a client releases after its lease has ended"
	releasesOthers    = "a client releases while a key is another's"
	diesAcquiring     = "a client crashes in an acquire that has set a key"
	diesHolding       = "a client crashes while it holds the lock"
	holderJumps       = "the clock of a holder jumps"
	nodeJumps         = "the clock of a node jumps while a key lives there"
	restartsKeeping   = "a node restarts with the key of a living lease"
	restartsLosing    = "a node restarts without the key of a living lease"
	promotedKeeping   = "a replica is promoted with the key of a living lease"
	promotedLosing    = "a replica is promoted without the key of a living lease"
	twoPrimaries      = "a client sets a key on an old primary"
)

var states = []state{
	{asksWhileHeld, nil, nil},
	{splitVote, severalNodes, nil},
	{splitEvenly, severalNodes, nil},
	{failsGranted, nil, slices.Concat(holdUps, []script.Kind{script.Jumping, script.ClientJumping})},
	{returnsAfterKeys, nil, slices.Concat(holdUps, []script.Kind{script.Jumping})},
	{returnsLate, nil, slices.Concat(holdUps, []script.Kind{script.Jumping, script.ClientJumping})},
	{acquiresClosely, nil, nil},
	{setsAfterGivingUp, nil, slices.Concat(holdUps, []script.Kind{script.Dying})},
	{replyTooLate, nil, slices.Concat(holdUps, []script.Kind{script.Dying})},
	{acquiresDown, severalNodes, downs},
	{majorityDown, nil, downs},
	{nodeStalls, nil, []script.Kind{script.Stalling}},
	{cutOff, nil, []script.Kind{script.Cutting, script.Parting}},
	{resumesTooLate, nil, []script.Kind{script.Pausing}},
	{resumesSucceeded, nil, []script.Kind{script.Pausing}},
	{expiresInPause, nil, []script.Kind{script.Pausing}},
	{goneTooEarly, nil, nil},
	{staysTooLong, nil, []script.Kind{script.Cutting, script.Parting, script.Stalling, script.Crashing, script.Emptying, script.FailingOver, script.Drifting, script.Straying, script.Jumping}},
	{requestUnderWay, nil, allBut(script.Dying)},
	{writeUnderWay, nil, allBut(script.Dying)},
	{writeLate, nil, allBut(script.Dying)},
	{writeSucceeded, nil, allBut(script.Dying)},
	{extendsLate, extends, allBut(script.Dying)},
	{releasesLate, nil, allBut(script.Dying)},
	{releasesOthers, nil, nil},
	{diesAcquiring, nil, []script.Kind{script.Dying}},
	{diesHolding, nil, []script.Kind{script.Dying}},
	{holderJumps, nil, []script.Kind{script.ClientJumping}},
	{nodeJumps, nil, []script.Kind{script.Jumping}},
	{restartsKeeping, nil, downs},
	{restartsLosing, nil, downs},
	{promotedKeeping, replicated, []script.Kind{script.FailingOver}},
	{promotedLosing, replicated, []script.Kind{script.FailingOver}},
	{twoPrimaries, replicated, []script.Kind{script.FailingOver}},
}

// Kinds that make clients and lock nodes wait for each other, and kinds that take a node down.
var (
	holdUps = []script.Kind{script.Delaying, script.Losing, script.SlowLink, script.Cutting, script.Parting, script.Pausing, script.Stalling, script.Crashing, script.Emptying, script.FailingOver}
	downs   = []script.Kind{script.Crashing, script.Emptying, script.FailingOver}
)

func allBut(kind script.Kind) []script.Kind {
	return slices.DeleteFunc(script.Kinds(), func(k script.Kind) bool { return k == kind })
}

func severalNodes(m *history.Meta, _ []script.Lane) bool { return len(m.Nodes) > 1 }
func replicated(m *history.Meta, _ []script.Lane) bool   { return len(m.Replicas) > 0 }

func extends(_ *history.Meta, lanes []script.Lane) bool {
	return slices.ContainsFunc(lanes, func(l script.Lane) bool {
		return slices.ContainsFunc(l.Steps, func(s script.Step) bool { _, extends := script.Once(s).(script.Extend); return extends })
	})
}

// reached returns the states that a run reached before everything healed.
func reached(f *facts.Facts) map[string]bool {
	o := &observer{Facts: f, reached: map[string]bool{}, clients: map[string]*client{}, servers: map[string]*server{}}
	for _, name := range f.Meta.Clients {
		o.clients[name] = &client{name: name}
	}
	for name := range f.Groups {
		o.servers[name] = &server{name: name}
	}
	for o.event = range f.Events {
		e := &f.Events[o.event]
		if e.Process == f.Meta.Probe {
			break
		}
		o.observe(e)
	}
	return o.reached
}

// An observer follows a run.
type observer struct {
	*facts.Facts
	event   int
	reached map[string]bool
	clients map[string]*client
	servers map[string]*server
	// restarted are servers whose keys are not known yet: what a node lost is recorded right after its restart.
	restarted []*server
}

// client is the state of a client.
type client struct {
	name    string
	lease   string        // of the last successful acquire; empty before
	since   time.Duration // when that was
	end     time.Duration // of that lease, in true time, if its clock is right
	holds   bool          // it has not released the lease
	asks    bool
	askedAt time.Duration // when the acquire in progress began
	asked   []string      // nodes that have set a key for it
	expired []string      // nodes on which that key has expired
	inLease bool          // when it was paused
	later   bool          // another client has acquired since then
}

func (c *client) holding(at time.Duration) bool { return c.holds && at < c.end }

// server is a lock node, or a replica of one.
type server struct {
	name  string
	lease string // the lease of its key; empty if none
	due   time.Duration
	back  time.Duration // when it last restarted
}

// now reports whether the event is in one of some spans.
func (o *observer) now(spans []facts.Span) bool {
	return slices.ContainsFunc(spans, func(s facts.Span) bool { return s.From <= o.event && o.event < s.To })
}

// current reports whether a server is the last one of its group that was promoted.
func (o *observer) current(s *server) bool {
	group := o.Groups[s.name]
	if i := facts.Before(o.Promotions[group], o.event); i >= 0 {
		return o.Events[i].Process == s.name
	}
	return s.name == group
}

func (o *observer) observe(e *history.Event) {
	for len(o.restarted) > 0 && o.restarted[0].back < e.At {
		s := o.restarted[0]
		c := o.clients[history.Client(s.lease)]
		o.markIf(c != nil && c.lease == s.lease && c.holding(s.back), restartsKeeping)
		o.restarted = o.restarted[1:]
	}
	c, s := o.clients[e.Process], o.servers[e.Process]
	switch {
	case e.Kind == history.Message:
		if c != nil && e.Op == history.Late {
			o.mark(replyTooLate)
		}
		if by := o.clients[e.By]; by != nil && s != nil && e.Op == history.Deliver {
			o.markIf(by.lease != "" && e.Sent <= by.end && by.end < e.At, requestUnderWay)
		}
	case e.Kind == history.Injected && e.Op != history.Missed:
		fault := e.Fault()
		switch {
		case fault == nil: // the history is not of this version
		case c != nil:
			o.clientFault(e, fault, c)
		case s != nil:
			o.serverFault(e, fault, s)
		default: // of a link
			for _, c := range o.clients {
				o.reach(c, e.At)
			}
		}
	case e.Kind == history.State && s != nil:
		o.stateOf(e, s)
	case e.Kind == history.State && e.Process == script.ResourceName:
		o.arrival(e)
	case c != nil:
		o.operation(e, c)
	}
}

func (o *observer) mark(name string) { o.reached[name] = true }

func (o *observer) markIf(is bool, name string) {
	if is {
		o.mark(name)
	}
}

func (o *observer) operation(e *history.Event, c *client) {
	switch {
	case e.Op == history.Acquire && e.Kind == history.Invoke:
		c.asks, c.askedAt, c.asked, c.expired = true, e.At, nil, nil
		for _, s := range o.servers {
			o.markIf(o.now(o.Pauses[s.name]), nodeStalls)
		}
	case e.Op == history.Acquire:
		o.markIf(e.Kind != history.OK && len(c.asked) >= o.Meta.Quorum(), failsGranted)
		o.markIf(len(c.expired) >= o.Meta.Quorum(), returnsAfterKeys)
		for _, d := range o.clients {
			o.markIf(d != c && d.holding(e.At), asksWhileHeld)
		}
		c.asks = false
		if e.Kind == history.OK {
			o.acquired(e, c)
		}
	case e.Op == history.Extend && e.Kind == history.Invoke:
		o.markIf(e.Lease == c.lease && e.At > c.end, extendsLate)
	case e.Op == history.Extend && e.Kind == history.OK, e.Op == history.Renew:
		c.end = o.endOf(e)
	case e.Op == history.Release && e.Kind == history.Invoke:
		o.markIf(c.lease != "" && e.At > c.end, releasesLate)
		for _, s := range o.servers {
			o.markIf(o.current(s) && s.lease != "" && history.Client(s.lease) != c.name, releasesOthers)
		}
		c.holds = c.holds && e.Lease != c.lease
	}
}

func (o *observer) acquired(e *history.Event, c *client) {
	c.lease, c.since, c.end, c.holds = e.Lease, e.At, o.endOf(e), true
	o.markIf(c.end != history.NoEnd && c.end-e.At < o.Meta.TTL/2, returnsLate)
	for _, d := range o.clients {
		o.markIf(d != c && d.holds && d.end <= e.At && e.At-d.end < o.Meta.TTL/100, acquiresClosely)
		d.later = d.later || d != c
	}
	for _, s := range o.servers {
		o.markIf(o.current(s) && o.now(o.Outages[s.name]), acquiresDown)
	}
	o.reach(c, e.At)
}

// endOf returns when a lease ends in true time. If the lock does not say, it is a TTL after the acquire.
func (o *observer) endOf(e *history.Event) time.Duration {
	switch e.Until {
	case history.NoEnd:
		return history.NoEnd
	case 0:
		return e.At + o.Meta.TTL
	}
	return e.At + e.Until - e.Clock
}

// arrival handles the arrival of a write at the resource.
func (o *observer) arrival(e *history.Event) {
	c := o.clients[history.Client(e.Lease)]
	if c == nil || e.Lease != c.lease || e.Op != history.Accept && e.Op != history.Reject && e.Op != history.Keep {
		return
	}
	o.markIf(e.Sent <= c.end && c.end < e.At, writeUnderWay)
	o.markIf(e.Sent > c.end, writeLate)
	for _, d := range o.clients {
		o.markIf(d != c && d.since > c.since, writeSucceeded)
	}
}

func (o *observer) clientFault(e *history.Event, fault history.Fault, c *client) {
	switch fault.(type) {
	case history.Pause:
		c.inLease, c.later = c.holding(e.At), false
	case history.Resume:
		o.markIf(c.inLease && e.At > c.end, resumesTooLate)
		o.markIf(c.later, resumesSucceeded)
	case history.Crash:
		o.markIf(c.asks && len(c.asked) > 0, diesAcquiring)
		o.markIf(c.holding(e.At), diesHolding)
		c.asks, c.holds = false, false
	case history.Jump:
		o.markIf(c.holding(e.At), holderJumps)
	}
}

func (o *observer) serverFault(e *history.Event, fault history.Fault, s *server) {
	switch fault.(type) {
	case history.Pause:
		for _, c := range o.clients {
			o.markIf(c.asks, nodeStalls)
		}
	case history.Crash:
		up := 0
		for _, t := range o.servers {
			if o.current(t) && !o.now(o.Outages[t.name]) {
				up++
			}
		}
		o.markIf(up < o.Meta.Quorum(), majorityDown)
	case history.Restart:
		s.back = e.At
		o.restarted = append(o.restarted, s)
	case history.Jump:
		o.markIf(s.lease != "", nodeJumps)
	}
}

// reach checks whether a holder is cut off from so many nodes that the others are not a majority. It is not cut off from a node
// if one direction works.
func (o *observer) reach(c *client, at time.Duration) {
	in := 0
	for _, n := range o.Meta.Nodes {
		if !facts.Covers(o.Shut[facts.Direction{From: c.name, To: n}], at) || !facts.Covers(o.Shut[facts.Direction{From: n, To: c.name}], at) {
			in++
		}
	}
	o.markIf(c.holding(at) && in < o.Meta.Quorum(), cutOff)
}

func (o *observer) stateOf(e *history.Event, s *server) {
	switch e.Op {
	case history.Set, history.Over:
		if e.Lease != "" {
			o.keySet(e, s)
		}
	case history.Retime:
		if e.Owner != "" && e.Owner == s.lease {
			s.due = due(e)
		}
	case history.Delete, history.Expire, history.Lose:
		if e.Owner != "" && e.Owner == s.lease {
			o.keyGone(e, s)
		}
	case history.Promoted:
		o.promoted(e, s)
	}
}

// due returns when a key expires in true time, if the clock of its node is right from now on.
func due(e *history.Event) time.Duration {
	if e.Until == history.NoEnd || e.Until == 0 {
		return history.NoEnd
	}
	return e.Until - e.Wall
}

func (o *observer) keySet(e *history.Event, s *server) {
	s.lease, s.due = e.Lease, due(e)
	c := o.clients[e.By]
	if c == nil {
		return // replicated
	}
	o.markIf(!o.current(s), twoPrimaries)
	switch {
	case c.asks && e.Sent >= c.askedAt:
		if !slices.Contains(c.asked, o.Groups[s.name]) {
			c.asked = append(c.asked, o.Groups[s.name])
		}
	default:
		o.mark(setsAfterGivingUp)
	}
	o.votes()
}

// votes checks which leases have keys on which nodes.
func (o *observer) votes() {
	if len(o.Meta.Nodes) < 2 {
		return
	}
	var owners []string
	most, taken := 0, 0
	for _, n := range o.Meta.Nodes {
		if lease := o.servers[n].lease; lease != "" {
			taken++
			owners = append(owners, lease)
		}
	}
	slices.Sort(owners)
	for i := range owners {
		j := i
		for j < len(owners) && owners[j] == owners[i] {
			j++
		}
		most = max(most, j-i)
	}
	o.markIf(taken > most, splitVote)
	o.markIf(taken == len(o.Meta.Nodes) && most < o.Meta.Quorum(), splitEvenly)
}

func (o *observer) keyGone(e *history.Event, s *server) {
	if c := o.clients[history.Client(s.lease)]; c != nil {
		living := c.lease == s.lease && c.holding(e.At)
		o.markIf(living, goneTooEarly)
		o.markIf(living && e.Op == history.Lose, restartsLosing)
		if e.Op == history.Expire {
			o.markIf(o.now(o.Pauses[c.name]), expiresInPause)
			if c.asks && slices.Contains(c.asked, o.Groups[s.name]) && !slices.Contains(c.expired, o.Groups[s.name]) {
				c.expired = append(c.expired, o.Groups[s.name])
			}
		}
	}
	o.markIf(s.due != history.NoEnd && e.At > s.due+o.Meta.TTL/100+10*time.Millisecond, staysTooLong)
	s.lease = ""
}

func (o *observer) promoted(e *history.Event, s *server) {
	for _, c := range o.clients {
		if c.holding(e.At) {
			o.markIf(s.lease == c.lease, promotedKeeping)
			o.markIf(s.lease != c.lease, promotedLosing)
		}
	}
}
