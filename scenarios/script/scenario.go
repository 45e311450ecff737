package script

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockstep/checker"
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

// leastShards is the least number of shards in a Redis Cluster, so that a majority of the primaries survives the loss of one.
const leastShards = 3

// After how long without a reply a server counts as down, by default.
const (
	sentinelDownAfter = 30 * time.Second // down-after-milliseconds in sentinel.conf
	clusterDownAfter  = 15 * time.Second // cluster-node-timeout in redis.conf
)

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

func sameMust(m, n checker.Must) bool { return m.String() == n.String() }

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

// Checked prints and parses the scenario, and returns the result, or the error.
func (s *Scenario) Checked() (*Scenario, error) {
	page, err := Parse(s.File, []byte(s.String()))
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, e.Err // there is no file, so no line either
	}
	return page, err
}
