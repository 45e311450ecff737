package script

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/nodes/engine"
)

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
	Guests      bool          // in simulation the clients run as WebAssembly

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
