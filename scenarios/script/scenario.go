package script

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/nodes/engine"
	"lockstep/sim/history"
)

// DefaultTTL is the TTL of the lock in a scenario that sets none.
const DefaultTTL = 10 * time.Second

// Nemesis is the name of the lane that injects faults.
const Nemesis = "nemesis"

// Names of processes that are neither clients with a lane nor nodes.
const (
	ResourceName = history.ResourceName
	ProbeName    = "probe" // the fresh client that must acquire after the end
)

// A Scenario is one page of the catalogue: the lanes, the faults, and what is expected of each lock. Zero fields are settings
// that the file leaves out; [Scenario.Resolve] fills them in.
type Scenario struct {
	Name  string // the name of the file without its folder and extension
	File  string // the file as given to [Parse]
	Title string // one sentence
	Prose string // the story and its source; lines end with \n, except the last
	TTL   time.Duration
	Speed int // the greatest at which the scenario is still valid on real servers; see [Scenario.SpeedOf]
	// Sweep, if there is any, makes each run a series of runs: one for each place at which a perturbation of one of these kinds is
	// possible. The outcome is that of the worst place.
	Sweep []Kind
	Lanes []Lane
	Musts []checker.Must // states without which a run proves nothing
	// Reports are the quantities that are shown beside the verdict.
	Reports []checker.Quantity
	// SimOnly is why the scenario is not possible on real servers; empty if it is, or if the program finds out.
	SimOnly string
	Runs    []Section

	mustLines []int
}

// A Lane is what one process does, in order. A client's lane begins at the start of the run. The lane of the [Nemesis] has no
// order, because each of its steps has its own moment.
type Lane struct {
	Process string
	Steps   []Step

	line int // where the lane begins; each step takes one more line
}

// A Section is the run of one lock in a scenario: its settings, what is expected, and the last timeline.
type Section struct {
	Lock  string
	Label string // distinguishes several runs of one lock, such as a control
	Nodes int    // the number of lock nodes: n1 to n9

	Replicas    int           // of n1: r1 to r9
	Sentinels   int           // sentinels that watch n1: s1 to s9
	Shards      int           // shards of a cluster, of which n1 is the first: p2 to p9 are the primaries of the others
	DownAfter   time.Duration // after how long without a reply a sentinel or another shard takes n1 to be down
	MinReplicas int           // how many replicas n1 needs to accept a write
	Persistence string        // what a lock node keeps in a crash; see package nodes
	Pool        string        // Warm, or empty: the clients connect when they first need to

	Resource string // Plain, Fenced, CheckAndSet, Versioned or Counter
	TTL      time.Duration
	Speed    int                // on real servers, if it differs from the scenario's
	Seed     uint64             // the default seed of the run; 0 stands for 1
	Checksum string             // of the trace that the run had when it was saved; empty if it is not compared
	Lanes    []Lane             // each replaces the scenario's lane of the same process, or is added
	Musts    []checker.Must     // if there are any, they replace the scenario's
	Reports  []checker.Quantity // likewise
	SimOnly  string             // likewise
	Expect   []Expectation      // properties that are not named are expected to be ok
	Golden   string             // the timeline, verbatim

	InPlaceOf  string // the lock that the page names, if Lock was substituted for it
	line       int
	mustLines  []int
	GoldenLine int           // the line at which the timeline begins
	Slack      time.Duration // how much longer the probe may take on a busy machine; 0 in simulation
}

// The kinds of resources; see package clients.
const (
	Plain       = clients.Plain
	Fenced      = clients.FencedStore
	CheckAndSet = clients.CheckAndSet
	Versioned   = clients.Versioned
	Counter     = clients.Counter
)

// Warm is the pool of a client that has been up for a while: when the run begins, it has one open connection to each lock node,
// after HELLO. That is the usual case in production, and connecting takes as many messages as acquiring a lock.
const Warm = "warm"

// Durable is the default persistence of lock nodes: keys are lost only with the disk.
const Durable = string(engine.AOFAlways)

// leastShards is the least number of shards in a Redis Cluster, so that a majority of the primaries survives the loss of one.
const leastShards = 3

// After how long without a reply a server counts as down, by default.
const (
	sentinelDownAfter = 30 * time.Second // down-after-milliseconds in sentinel.conf
	clusterDownAfter  = 15 * time.Second // cluster-node-timeout in redis.conf
)

// An Expectation is the expected result for a property. Only an author changes it, never the program.
type Expectation struct {
	Property   checker.Property
	Status     checker.Status
	Assumption checker.Assumption // the assumption that each violation must name as broken; empty if any is accepted
	// Share is with how many of the first [ShareSeeds] seeds the property is violated, where chance decides; 0: with all.
	Share int

	line int
}

// ShareSeeds is how many seeds, from 0 on, the share of an [Expectation] is about.
const ShareSeeds = 200

// ID names the run within its scenario: the lock, with the label if there is one, as in redlock/too-short.
// It stays what it is when another lock is put in the place of the one that the page names.
func (r Section) ID() string {
	if r.Label == "" {
		return r.Reference()
	}
	return r.Reference() + "/" + r.Label
}

// With returns the run with a lock substituted for the one that the page names. It is expected to behave as that one.
func (r Section) With(lock string) Section {
	own := r.Reference()
	r.Lock, r.InPlaceOf = lock, ""
	if lock != own {
		r.InPlaceOf = own
	}
	return r
}

// Reference returns the lock that the page names, even if another one was substituted for it.
func (r Section) Reference() string { return cmp.Or(r.InPlaceOf, r.Lock) }

// Line is the line at which the run begins in its file; 0 if there is no file.
func (r Section) Line() int { return r.line }

// NodeNames lists the lock nodes of the run: those of which a majority grants a lease.
func (r Section) NodeNames() []string { return names('n', 1, r.Nodes) }

// ReplicaNames lists the replicas of n1.
func (r Section) ReplicaNames() []string { return names('r', 1, r.Replicas) }

// SentinelNames lists the sentinels that watch n1.
func (r Section) SentinelNames() []string { return names('s', 1, r.Sentinels) }

// ShardNames lists the primaries of a cluster other than n1.
func (r Section) ShardNames() []string { return names('p', 2, r.Shards) }

func names(letter rune, from, to int) []string {
	var names []string
	for i := from; i <= to; i++ {
		names = append(names, fmt.Sprintf("%c%d", letter, i))
	}
	return names
}

// Expected returns the expected status of a property for most seeds.
func (r Section) Expected(p checker.Property) checker.Status {
	e := r.Expectation(p)
	if e.Share > 0 {
		return checker.OK
	}
	return e.Status
}

// Resolve returns the run with all settings of the scenario and all defaults filled in: its TTL, its servers, its resource, its
// lanes, its musts and its reports.
func (s *Scenario) Resolve(r Section) Section {
	r.TTL = cmp.Or(r.TTL, s.TTL, DefaultTTL)
	r.Speed, r.SimOnly = cmp.Or(r.Speed, s.Speed), cmp.Or(r.SimOnly, s.SimOnly)
	if len(s.Sweep) > 0 {
		r.SimOnly = cmp.Or(r.SimOnly, "a sweep is a series of simulated runs")
	}
	r.Resource = cmp.Or(r.Resource, Plain)
	r.Persistence = cmp.Or(r.Persistence, Durable)
	switch {
	case r.Sentinels > 0:
		r.DownAfter = cmp.Or(r.DownAfter, sentinelDownAfter)
	case r.Shards > 0:
		r.DownAfter = cmp.Or(r.DownAfter, clusterDownAfter)
	}
	lanes := slices.Clone(s.Lanes)
	for _, lane := range r.Lanes {
		if i := slices.IndexFunc(lanes, func(l Lane) bool { return l.Process == lane.Process }); i >= 0 {
			lanes[i] = lane
		} else {
			lanes = append(lanes, lane)
		}
	}
	r.Lanes = lanes
	if len(r.Musts) == 0 {
		r.Musts, r.mustLines = s.Musts, s.mustLines
	}
	if len(r.Reports) == 0 {
		r.Reports = s.Reports
	}
	return r
}

// SpeedOf returns the number by which durations of a run are divided on real servers: the speed of the page, but no more than
// most (0: no limit). A page without a speed is run at the speed most, and not faster if most is 0.
func (s *Scenario) SpeedOf(r Section, most float64) float64 {
	bears := float64(s.Resolve(r).Speed)
	switch {
	case bears == 0:
		return cmp.Or(most, 1)
	case most == 0:
		return bears
	}
	return min(most, bears)
}

// Equal reports whether two scenarios have the same contents. It ignores line numbers.
func (s *Scenario) Equal(t *Scenario) bool {
	return s.Name == t.Name && s.File == t.File && s.Title == t.Title && s.Prose == t.Prose && s.TTL == t.TTL && s.Speed == t.Speed && s.SimOnly == t.SimOnly &&
		slices.Equal(s.Sweep, t.Sweep) &&
		slices.EqualFunc(s.Lanes, t.Lanes, Lane.equal) &&
		slices.EqualFunc(s.Musts, t.Musts, sameMust) &&
		slices.Equal(s.Reports, t.Reports) &&
		slices.EqualFunc(s.Runs, t.Runs, Section.Equal)
}

func (l Lane) equal(m Lane) bool {
	return l.Process == m.Process && slices.Equal(l.Steps, m.Steps)
}

// Equal reports whether two runs have the same settings, lanes, musts, reports, expectations and timeline. It
// ignores line numbers.
func (r Section) Equal(q Section) bool {
	same := func(key string) bool { return r.Setting(key) == q.Setting(key) }
	return r.Lock == q.Lock && r.SimOnly == q.SimOnly && !slices.ContainsFunc(settings, func(key string) bool { return !same(key) }) &&
		slices.EqualFunc(r.Lanes, q.Lanes, Lane.equal) &&
		slices.EqualFunc(r.Musts, q.Musts, sameMust) &&
		slices.Equal(r.Reports, q.Reports) &&
		slices.EqualFunc(r.Expect, q.Expect, func(e, f Expectation) bool {
			return e.Property == f.Property && e.Status == f.Status && e.Assumption == f.Assumption && e.Share == f.Share
		}) &&
		r.Golden == q.Golden
}

func sameMust(m, n checker.Must) bool { return m.String() == n.String() }

// check looks for lanes, faults and musts that name things that do not exist or cannot happen. Runs differ in their nodes and
// lanes, so the scenario must be valid in each of them.
func (s *Scenario) check() error {
	for _, r := range s.Runs {
		for _, lane := range r.Lanes {
			replaces := slices.ContainsFunc(s.Lanes, func(l Lane) bool { return l.Process == lane.Process })
			if len(lane.Steps) == 0 && !replaces {
				return fail(lane.line, "the lane of %s has no steps, and there is no lane for it to replace", lane.Process)
			}
		}
		if err := s.Resolve(r).check(); err != nil {
			return err
		}
	}
	return nil
}

// check checks a resolved run.
func (r Section) check() error {
	if len(r.Clients()) == 0 {
		return fail(r.line, "run %s has no client", r.ID())
	}
	for _, lane := range r.Lanes {
		for i, step := range lane.Steps {
			err := r.checkStep(step)
			if lane.Process == Nemesis {
				err = r.checkNemesisStep(step)
			}
			if err != nil {
				return fail(lane.stepLine(i), "run %s: %w", r.ID(), err)
			}
		}
	}
	for i, must := range r.Musts {
		if err := r.checkMust(must); err != nil {
			return fail(r.mustLines[i], "run %s: %w", r.ID(), err)
		}
	}
	return nil
}

// Lane returns the steps of a process in a resolved run.
func (r Section) Lane(process string) []Step {
	for _, lane := range r.Lanes {
		if lane.Process == process {
			return lane.Steps
		}
	}
	return nil
}

// Clients lists the clients of a resolved run that have a lane.
func (r Section) Clients() []string {
	var names []string
	for _, lane := range r.Lanes {
		if lane.Process != Nemesis {
			names = append(names, lane.Process)
		}
	}
	return names
}

// IsClient reports whether a process is a client that has a lane.
func (r Section) IsClient(name string) bool { return slices.Contains(r.Clients(), name) }

// IsLock reports whether a process is a lock node, or may become one: n1 and its replicas.
func (r Section) IsLock(name string) bool {
	return slices.Contains(r.NodeNames(), name) || slices.Contains(r.ReplicaNames(), name)
}

// Servers lists all processes that listen.
func (r Section) Servers() []string {
	return slices.Concat(r.NodeNames(), r.ReplicaNames(), r.SentinelNames(), r.ShardNames(), []string{ResourceName})
}

// checkExists does not know the probe: it starts when everything has healed, so no fault can affect it.
func (r Section) checkExists(name string) error {
	if processes := slices.Concat(r.Clients(), r.Servers()); !slices.Contains(processes, name) {
		return history.Unknown("process", name, processes)
	}
	return nil
}

// checkStep rejects a step of a client that the resource cannot carry out.
func (r Section) checkStep(step Step) error {
	switch s := Once(step).(type) {
	case Increment:
		if r.Resource != Counter {
			return fmt.Errorf("%q needs resource=%s; this is a %s one", step, Counter, r.Resource)
		}
	case Enter:
		if r.Resource != CheckAndSet {
			return fmt.Errorf("%q needs resource=%s; a %s one has no mark", step, CheckAndSet, r.Resource)
		}
	case Write:
		if s.Blind && r.Resource != CheckAndSet {
			return fmt.Errorf("%q needs resource=%s; a %s one has no mark", step, CheckAndSet, r.Resource)
		}
		return r.needsText(step)
	case Update, Read:
		return r.needsText(step)
	}
	return nil
}

// needsText rejects a step that needs a resource that holds text.
func (r Section) needsText(step Step) error {
	if r.Resource == Counter {
		return fmt.Errorf("%q needs a resource that holds text; a %s is for increments", step, Counter)
	}
	return nil
}

func (r Section) checkNemesisStep(step Step) error {
	if when, ok := step.(When); ok {
		if err := r.checkEvent(when.Event); err != nil {
			return err
		}
	}
	return r.checkFault(FaultOf(step))
}

// processLike matches the words of a must that name a client or a server; no other word of a must has that form.
var processLike = regexp.MustCompile(`^[cnrsp][0-9]+$`)

func (r Section) checkMust(m checker.Must) error {
	words := strings.Fields(m.String())
	for i, word := range words {
		if i > 0 && words[i-1] == "write" {
			if !slices.ContainsFunc(r.Lanes, func(l Lane) bool { return l.writes(word) }) {
				return fmt.Errorf("no client writes %s", word)
			}
		} else if processLike.MatchString(word) {
			if err := r.checkExists(word); err != nil {
				return err
			}
		}
	}
	return nil
}

// writes reports whether a step of the lane writes a value, or adds it as a word.
func (l Lane) writes(value string) bool {
	return slices.ContainsFunc(l.Steps, func(step Step) bool {
		switch s := Once(step).(type) {
		case Write:
			return s.Value == value
		case Update:
			return s.Word == value
		}
		return false
	})
}

func (r Section) checkFault(f history.Fault) error {
	switch f := f.(type) {
	case history.Restart:
		if r.IsClient(f.Process) {
			return fmt.Errorf("%s is a client, and a crashed client is gone for good; only servers restart", f.Process)
		}
		if f.Empty && f.Process == ResourceName && r.Resource != Counter {
			return fmt.Errorf("%q needs resource=%s; a %s one keeps what it has accepted", f, Counter, r.Resource)
		}
	case history.Stop:
		if r.IsClient(f.Process) {
			return fmt.Errorf("%s is a client, which ends at the end of its lane; write crash %[1]s", f.Process)
		}
	case history.Promote:
		return r.checkReplication(f, f.Process)
	case history.Follow:
		return r.checkReplication(f, f.Process, f.Primary)
	case history.Chosen:
		if err := r.checkLink(f.Link); err != nil {
			return err
		}
		// Between two servers requests go both ways: which of them dials depends on who is the primary.
		if client := r.IsClient(f.Link.From); (client || r.IsClient(f.Link.To)) && f.Reply == client {
			turned := f
			turned.Link.From, turned.Link.To = f.Link.To, f.Link.From
			return fmt.Errorf("requests go from a client to a server, and replies back; write %s", turned)
		}
		return nil
	}
	if history.ActsOnLinks(f) {
		return r.checkLink(history.LinkOf(f))
	}
	return r.checkExists(f.Target())
}

// checkReplication checks that a fault about replication affects only n1 and its replicas.
func (r Section) checkReplication(f history.Fault, names ...string) error {
	for _, name := range names {
		if err := r.checkExists(name); err != nil {
			return err
		}
		if r.Replicas == 0 {
			return fmt.Errorf("%s needs replicas, but the run has none; write replicas=1 in its section line", f)
		}
		if !r.IsLock(name) {
			return fmt.Errorf("%s cannot happen: %s is neither n1 nor a replica", f, name)
		}
	}
	return nil
}

// checkLink checks that a link joins two processes that communicate.
func (r Section) checkLink(l history.Link) error {
	if l == (history.Link{}) {
		return nil
	}
	if err := r.checkExists(l.From); err != nil {
		return err
	}
	if err := r.checkExists(l.To); err != nil {
		return err
	}
	if l.From == l.To || !r.talk(l.From, l.To) {
		return fmt.Errorf("nothing travels on %s; %s", l, r.links())
	}
	return nil
}

// talk reports whether two processes communicate: a client and any server, n1 and its replicas among themselves, and those that
// watch n1 with all of them and with each other.
func (r Section) talk(a, b string) bool {
	if r.IsClient(a) || r.IsClient(b) {
		return r.IsClient(a) != r.IsClient(b)
	}
	return r.Replicas > 0 && a != ResourceName && b != ResourceName
}

// links says which links exist.
func (r Section) links() string {
	if r.Replicas > 0 {
		return "a link joins a client and a server, or two Redis servers"
	}
	return "a link joins a client and a server"
}

// checkEvent rejects an event that nothing causes: its fault would never be injected.
func (r Section) checkEvent(e Event) error {
	if e.What.Server() {
		return r.checkServerEvent(e)
	}
	if !r.IsClient(e.Process) {
		return history.Unknown("client", e.Process, r.Clients())
	}
	if !slices.ContainsFunc(r.Lanes, e.possibleIn) {
		return fmt.Errorf("%s cannot happen; no step brings it about", e)
	}
	return nil
}

func (r Section) checkServerEvent(e Event) error {
	if e.What == Sets || e.What == Deletes || e.What == Receives {
		return r.checkKeyEvent(e)
	}
	for _, name := range []string{e.Process, e.Value} {
		if err := r.checkExists(name); name != "" && err != nil {
			return err
		}
	}
	watched := r.Sentinels+r.Shards > 0
	var possible bool
	switch e.What {
	case Promoted:
		possible = r.IsLock(e.Process) && r.Replicas > 0 && (watched || r.injects(history.Promote{Process: e.Process}))
	case Follows:
		possible = r.IsLock(e.Process) && r.IsLock(e.Value) && e.Process != e.Value &&
			(watched || r.injects(history.Follow{Process: e.Process, Primary: e.Value}) || r.injects(history.Promote{Process: e.Value}))
	default:
		possible = watched && !r.IsClient(e.Process) && e.Process != ResourceName && e.Process != e.Value
	}
	if !possible {
		return fmt.Errorf("%s cannot happen; no step and no server causes it", e)
	}
	return nil
}

// checkKeyEvent rejects an event about keys of the lock on a server that has none, or about a process that is not a client.
func (r Section) checkKeyEvent(e Event) error {
	nodes := slices.Concat(r.NodeNames(), r.ReplicaNames())
	if !slices.Contains(nodes, e.Process) {
		return history.Unknown("lock node", e.Process, nodes)
	}
	if !r.IsClient(e.Value) {
		return history.Unknown("client", e.Value, r.Clients())
	}
	return nil
}

// injects reports whether the nemesis has a step with this fault.
func (r Section) injects(f history.Fault) bool {
	return slices.ContainsFunc(r.Lane(Nemesis), func(step Step) bool { return FaultOf(step) == f })
}

// possibleIn reports whether a step of the lane can cause e.
func (e Event) possibleIn(lane Lane) bool {
	return slices.ContainsFunc(lane.Steps, func(step Step) bool {
		if lane.Process == Nemesis {
			pause, ok := FaultOf(step).(history.Pause)
			return ok && pause.Process == e.Process && (e.What == Paused || e.What == Resumed)
		}
		if lane.Process != e.Process {
			return false
		}
		switch step := Once(step).(type) {
		case Acquire: // it is not known here whether the lock renews itself
			return slices.Contains([]What{Acquires, Acquired, Refused, Renewed, Lost}, e.What)
		case Extend:
			return e.What == Extends || e.What == Extended
		case Release:
			return e.What == Releases || e.What == Released
		case Increment: // most locks acquire and release for it
			return slices.Contains([]What{Increments, Incremented, Acquires, Acquired, Refused, Releases, Released}, e.What)
		case Enter:
			return e.What == Enters || e.What == Entered
		case Write:
			return (e.What == Writes || e.What == Wrote) && e.Value == step.Value
		case Update:
			return (e.What == Updates || e.What == Updated) && e.Value == step.Word
		case Pause:
			return e.What == Paused || e.What == Resumed
		}
		return false
	})
}

// stepLine returns the line of a step in the file: lanes have no gaps.
func (l Lane) stepLine(i int) int { return l.line + 1 + i }

// check looks for steps of a client that are not valid at their position.
func (l Lane) check() error {
	var asked bool
	var least time.Duration // a lower bound of true time
	for i, step := range l.Steps {
		times := time.Duration(1)
		if r, ok := step.(Repeat); ok {
			times = time.Duration(r.N)
		}
		switch s := Once(step).(type) {
		case Acquire:
			asked = true
		case Release, Check, Extend, Enter:
			if !asked {
				return fail(l.stepLine(i), "%s before any acquire", step)
			}
		case Pause:
			if s.For > (longest-least)/times {
				return fail(l.stepLine(i), "%s takes the lane beyond %s", step, history.FormatDuration(longest))
			}
			least += times * s.For
		case Until:
			if s.Time < least {
				return fail(l.stepLine(i), "%s goes back in time: it is %s at the earliest", step, history.FormatDuration(least))
			}
			least = s.Time
		case Stay:
			if i < len(l.Steps)-1 {
				return fail(l.stepLine(i+1), "%s after stay; put stay last", l.Steps[i+1])
			}
		}
	}
	return nil
}

// longest limits how long a lane may pause in total, so that sums of a few durations do not overflow.
const longest = 100 * history.MaxDuration

// Checked prints and parses the scenario, and returns the result, or the error.
func (s *Scenario) Checked() (*Scenario, error) {
	page, err := Parse(s.File, []byte(s.String()))
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, e.Err // there is no file, so no line either
	}
	return page, err
}

// FindRun returns the run with an ID, such as redlock or redlock/too-short.
func (s *Scenario) FindRun(id string) (Section, error) {
	var ids []string
	for _, r := range s.Runs {
		if r.ID() == id {
			return r, nil
		}
		ids = append(ids, r.ID())
	}
	return Section{}, fmt.Errorf("%s: %w", s.File, history.Unknown("run", id, ids))
}

// SameButForLock reports whether two resolved runs differ only in their locks, their expectations and their labels: a lock that
// is substituted into both does the same twice.
func (r Section) SameButForLock(q Section) bool {
	for _, key := range settings {
		if key != "label" && key != "speed" && r.Setting(key) != q.Setting(key) {
			return false
		}
	}
	return slices.EqualFunc(r.Lanes, q.Lanes, Lane.equal) && slices.EqualFunc(r.Musts, q.Musts, sameMust)
}

// Expectation is what a run expects of a property.
func (r Section) Expectation(p checker.Property) Expectation {
	for _, e := range r.Expect {
		if e.Property == p {
			return e
		}
	}
	return Expectation{Property: p, Status: checker.OK}
}

// Renew sets a new timeline, and a new checksum if the run had one. Expectations stay as they are.
func (r *Section) Renew(timeline, checksum string) {
	r.Golden = timeline
	if r.Checksum != "" {
		r.Checksum = checksum
	}
}
