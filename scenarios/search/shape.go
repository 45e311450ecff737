package search

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A Shape is the setting of an exploration: the lock, the numbers of processes, and the times. It determines a calm run, in which
// nothing goes wrong, and which an exploration then perturbs. Zero fields have the defaults in the comments.
type Shape struct {
	Lock        string
	Nodes       int           // lock nodes, 1 to 9; default 1
	Replicas    int           // of n1, 0 to 9
	MinReplicas int           // how many replicas n1 needs to accept a write
	Persistence string        // what a lock node keeps in a crash; default aof-always
	Clients     int           // 2 to 9; default 2
	Pool        string        // [Warm], or empty: clients connect when they first need to
	Resource    string        // default plain
	TTL         time.Duration // default 10 s, or that of the workload
	Workload    Workload      // default Once
	// Work is how long a client works under its lease; default as the workload has it. Clients that extend late extend after eight
	// tenths of the TTL.
	Work time.Duration
	// Extend has each client extend its lease once while it holds it.
	Extend bool
}

// Limits of a [Shape].
const (
	minShapeClients = 2
	maxShapeClients = 9
	minShapeTTL     = 100 * time.Millisecond
)

// Calm returns the calm run of the shape: a scenario with one run.
func (s Shape) Calm() (*script.Scenario, error) {
	s.Nodes, s.Clients, s.Workload = cmp.Or(s.Nodes, 1), cmp.Or(s.Clients, minShapeClients), cmp.Or(s.Workload, Once)
	if _, err := FindWorkload(string(s.Workload)); err != nil {
		return nil, err
	}
	s.TTL = cmp.Or(s.TTL, s.Workload.ttl())
	if s.Clients < minShapeClients || s.Clients > maxShapeClients {
		return nil, fmt.Errorf("an exploration must have %d to %d clients, not %d", minShapeClients, maxShapeClients, s.Clients)
	}
	if s.TTL < minShapeTTL {
		return nil, fmt.Errorf("a TTL of %s is too short: it must be at least %s, since each message takes a millisecond", history.FormatDuration(s.TTL), history.FormatDuration(minShapeTTL))
	}
	if s.Work < 0 || s.Work > longestMagnitude {
		return nil, fmt.Errorf("work of %s: it must be between 0s and %s", history.FormatDuration(s.Work), history.FormatDuration(longestMagnitude))
	}
	if s.Resource == script.Counter {
		return nil, errors.New("resource counter: an exploration writes, and a counter takes only increments; name another resource")
	}
	page := &script.Scenario{
		Name:  "explore",
		File:  "explore.txtar",
		Title: fmt.Sprintf("%d clients of %s contend%s.", s.Clients, s.Lock, s.Workload.title()),
		TTL:   s.TTL,
		Runs: []script.Section{{
			Lock: s.Lock, Nodes: s.Nodes, Replicas: s.Replicas, MinReplicas: s.MinReplicas, Persistence: s.Persistence, Pool: s.Pool, Resource: s.Resource,
		}},
	}
	for i := range s.Clients {
		page.Lanes = append(page.Lanes, s.lane(i))
	}
	return page.Checked()
}

// lane returns the lane of client number i, from 0.
func (s Shape) lane(i int) script.Lane {
	lane := script.Lane{Process: fmt.Sprintf("c%d", i+1)}
	start := time.Duration(i) * max(leastStagger, s.TTL/500)
	if s.Replicas > 0 {
		start += linked
	}
	if start > 0 {
		lane.Steps = append(lane.Steps, script.Until{Time: start})
	}
	value := string(rune('A' + i))
	for turn := range s.Workload.times() {
		lane.Steps = append(lane.Steps, script.Acquire{Within: 5 * s.TTL / 2, Every: s.Workload.every(s.TTL)})
		if s.Resource == script.CheckAndSet {
			lane.Steps = append(lane.Steps, script.Enter{})
		}
		first, last := value+"0", value
		if turn > 0 {
			first, last = fmt.Sprint(value, 2*turn), fmt.Sprint(value, 2*turn+1)
		}
		lane.Steps = append(lane.Steps, script.Write{Value: first})
		lane.Steps = append(lane.Steps, s.Workload.work(i, s.TTL, s.Work, s.Extend)...)
		lane.Steps = append(lane.Steps, script.Write{Value: last}, script.Release{})
	}
	return lane
}

// A client starts a 500th of the TTL later than the one before it, but at least leastStagger: the keys of the first are set by
// then, and when the second tries a TTL later, they have just expired.
const leastStagger = 5 * time.Millisecond

// linked is when replicas are certain to be connected to their primary.
const linked = 100 * time.Millisecond

// CalmRun returns the scenario with only one of its runs, and with nothing that goes wrong: without the nemesis, pauses, musts,
// expectations, and the timeline.
func CalmRun(s *script.Scenario, run script.Section) (*script.Scenario, error) {
	r := s.Resolve(run)
	page := &script.Scenario{Name: s.Name, File: s.File, Title: s.Title, TTL: r.TTL}
	for _, lane := range r.Lanes {
		if lane.Process == script.Nemesis {
			continue
		}
		steps := slices.DeleteFunc(slices.Clone(lane.Steps), func(step script.Step) bool {
			_, pauses := script.Once(step).(script.Pause)
			return pauses
		})
		if len(steps) == 0 {
			return nil, fmt.Errorf("%s:%d: %s of %s does nothing but pause, so there is nothing to perturb", s.File, run.Line(), lane.Process, run.ID())
		}
		page.Lanes = append(page.Lanes, script.Lane{Process: lane.Process, Steps: steps})
	}
	run.Lanes, run.Musts, run.Reports, run.Expect, run.Golden, run.TTL, run.Checksum = nil, nil, nil, nil, "", 0, ""
	page.Runs = []script.Section{run}
	return page.Checked()
}

// With returns a shape that suits two locks.
func (s Shape) With(r Shape) Shape {
	s.Nodes, s.Replicas = max(s.Nodes, r.Nodes), max(s.Replicas, r.Replicas)
	s.Resource, s.Extend = cmp.Or(s.Resource, r.Resource), s.Extend || r.Extend
	return s
}
