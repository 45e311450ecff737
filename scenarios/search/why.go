package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
)

// A Cause says what a violation of a property needed, as far as replays can tell: which faults are necessary, which are enough,
// how much of each, and from which moment on nothing could have prevented the violation.
type Cause struct {
	Property  checker.Property     `json:"property"`
	Violation checker.Violation    `json:"violation"` // the first of the property
	Blamed    []checker.Assumption `json:"blamed"`    // what the checker blames its violations on

	Faults []Fault `json:"faults"` // of the run, in the order of its page
	// Necessary are the faults that the violation needs: if any one of them is taken out, the property holds. If there are none,
	// Jointly are the smallest sets of faults that have to be taken out together. The numbers are indices of Faults.
	Necessary []int   `json:"necessary"`
	Jointly   [][]int `json:"jointly,omitempty"`
	// Enough are the smallest sets of faults with which the property is violated, at most mostEnough of them. An empty set means
	// that no fault is needed.
	Enough [][]int `json:"enough"`
	// Counterfactual are the assumptions that make a difference: a necessary fault breaks them, or the property holds if all
	// faults that break them are taken out.
	Counterfactual []checker.Assumption `json:"counterfactual"`
	Agreement      Agreement            `json:"agreement"` // of the checker and the replays

	Late    []LateMessage `json:"late,omitempty"` // the messages that were late, each of which was replayed on time
	LateIn  int           `json:"late_in_all"`    // with those that were not replayed, because they are too many
	Luck    Odds          `json:"luck"`           // with the same faults and other latencies
	Futures []Future      `json:"futures"`        // in the order of time
	// NoReturn is the index in Futures of the point of no return, from which on every future violates the property; -1 if there
	// is none.
	NoReturn int `json:"no_return"`
}

// A Fault is a fault of a run, and what the run would be without it.
type Fault struct {
	At         play.Place         `json:"-"`
	Text       string             `json:"fault"` // as in the page
	Assumption checker.Assumption `json:"assumption,omitempty"`
	Matters    bool               `json:"matters"` // without it the property holds
	Size       string             `json:"size,omitempty"`
	// Least is the smallest magnitude with which the property is violated, and Harmless the greatest below it with which it
	// holds, to about three digits, if nothing else changes. Harmless is empty if any magnitude is too much.
	Least    string `json:"least,omitempty"`
	Harmless string `json:"harmless,omitempty"`
}

// A LateMessage is a message that was late.
type LateMessage struct {
	sim.Sending
	What    string        `json:"what"`    // in a few words
	At      time.Duration `json:"at"`      // when it arrived, or was lost
	Lost    bool          `json:"lost"`    // it never arrived
	Matters bool          `json:"matters"` // had it been on time, the property would have held
}

// Odds are how many of some runs violate a property.
type Odds struct {
	Violated int `json:"violated"`
	Of       int `json:"of"`
}

// All reports whether all of the runs violate the property, and there are some.
func (s Odds) All() bool { return s.Of > 0 && s.Violated == s.Of }

// Limits of what is told and tried.
const (
	mostEnough   = 3
	allSubsets   = 6 // faults of which all subsets are tried; of more, pairs, and one smallest set
	mostMessages = 40
	mostFaults   = 60 // a set of them is a number of 64 bits
)

// mostEvents bounds the futures of a long run: about so many events are played for one property.
const mostEvents = 20_000_000

// MostFutures is how many futures of each moment may be asked for.
const MostFutures = 200

// An inquiry finds the causes of the violations of one run.
type inquiry struct {
	search  *Search
	base    *play.Outcome
	page    *script.Scenario // with the run alone, all of whose lanes are those of the page
	futures int
	known   map[string]Ending // by the text of the replay
}

// Why finds out what the violations in a run needed, by replays. It returns a cause for each property that the run with outcome o
// violates. futures is how many futures of each moment are played.
func (s *Search) Why(ctx context.Context, o *play.Outcome, futures int) ([]*Cause, error) {
	one := *s
	q := &inquiry{search: &one, base: o, page: alone(o), futures: futures, known: map[string]Ending{}}
	one.Calm, one.Lock, one.Seed = q.page, o.Run.Lock, o.History.Meta.Seed
	var all []*Cause
	for _, p := range checker.Properties() {
		if o.Result.Status(p) == checker.Violated {
			all = append(all, q.cause(p))
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	if n := len(all[0].Faults); n > mostFaults {
		return nil, fmt.Errorf("%s has %d faults; why explains runs with up to %d", o.Name(), n, mostFaults)
	}
	same, err := q.endings(ctx, []Replay{{}})
	if err != nil {
		return nil, err
	}
	if !one.Restless && same[0].Checksum != o.History.Meta.Checksum {
		return nil, fmt.Errorf("%s is not reproducible: its checksum is %s, and that of its replay %s", o.Name(), o.History.Meta.Checksum, same[0].Checksum)
	}
	for _, c := range all {
		if err := errors.Join(q.subsets(ctx, c), q.sizes(ctx, c), q.messages(ctx, c), q.luck(ctx, c), q.branches(ctx, c)); err != nil {
			return nil, err
		}
		c.Agreement = q.agreement(c)
	}
	return all, nil
}

// alone returns a page with the run of an outcome alone, without what does not change what happens in it. Its faults are steps of the
// page. A client without steps is one of the run, which replaces a lane of the page: a page has no empty lanes.
func alone(o *play.Outcome) *script.Scenario {
	s := o.Scenario
	if o.Sweep != nil && o.Sweep.Page != nil {
		s = o.Sweep.Page
	}
	page := *s
	page.Lanes, page.Sweep, page.Musts = slices.Clone(o.Run.Lanes), nil, nil
	run := o.Run.With(o.Run.Reference())
	run.Lanes, run.Musts, run.Expect, run.Golden, run.Checksum = nil, nil, nil, "", ""
	for i, lane := range page.Lanes {
		if len(lane.Steps) == 0 && lane.Process != script.Nemesis {
			page.Lanes[i].Steps = []script.Step{script.Acquire{}}
			run.Lanes = append(run.Lanes, script.Lane{Process: lane.Process})
		}
	}
	page.Runs = []script.Section{run}
	return page.Edited(func(*script.Scenario) {})
}

// cause begins the cause of a property: what the checker says, and the faults of the run.
func (q *inquiry) cause(p checker.Property) *Cause {
	c := &Cause{Property: p, NoReturn: -1, Necessary: []int{}}
	for _, v := range q.base.Result.Violations {
		if v.Property != p {
			continue
		}
		if len(c.Blamed) == 0 {
			c.Violation = v
		}
		if !slices.Contains(c.Blamed, v.Assumption) {
			c.Blamed = append(c.Blamed, v.Assumption)
		}
	}
	for i, lane := range q.page.Lanes {
		for j, step := range lane.Steps {
			f := lane.Fault(step)
			if f == nil {
				continue
			}
			again, restarts := f.(history.Restart)
			if script.Undoes(f) && !(restarts && again.Empty) {
				continue
			}
			fault := Fault{At: play.Place{Process: q.page.Lanes[i].Process, Step: j + 1}, Text: step.String(), Assumption: ClassOf(q.base.Run, f)}
			if lane.Process != script.Nemesis {
				fault.Text = f.String()
			}
			if m := magnitudeOf(q.page, fault.At); m != nil {
				fault.Size = m.text(m.value)
			}
			c.Faults = append(c.Faults, fault)
		}
	}
	return c
}

// ClassOf says which assumption a fault breaks, or helps to break. It is empty for a crash of a client, which no lock may rule
// out.
func ClassOf(r script.Section, f history.Fault) checker.Assumption {
	client := slices.Contains(r.Clients(), f.Target())
	switch f.(type) {
	case history.Pause, history.Resume:
		if client {
			return checker.BoundedPause
		}
		return checker.BoundedDelay
	case history.Jump, history.Drift, history.Slew:
		return checker.BoundedClockError
	case history.Crash, history.Stop, history.Restart, history.Promote, history.Follow:
		if client {
			return ""
		}
		return checker.DurableNodes
	}
	return checker.BoundedDelay
}

// subsets plays the run with some of its faults only.
func (q *inquiry) subsets(ctx context.Context, c *Cause) error {
	n := len(c.Faults)
	sets := q.tried(n)
	violated := map[uint64]bool{}
	try := func(sets []uint64) error {
		var replays []Replay
		for _, kept := range sets {
			replays = append(replays, q.keeping(c, kept))
		}
		ends, err := q.endings(ctx, replays)
		if err != nil {
			return err
		}
		for i, kept := range sets {
			violated[kept] = ends[i].violates(c.Property)
		}
		return nil
	}
	if err := try(sets); err != nil {
		return err
	}
	full := uint64(1)<<n - 1
	for i := range n {
		if !violated[full&^(1<<i)] {
			c.Faults[i].Matters = true
			c.Necessary = append(c.Necessary, i)
		}
	}
	if len(c.Necessary) == 0 && !violated[0] {
		c.Jointly = members(least(sets, func(kept uint64) uint64 { return full &^ kept }, func(out uint64) bool { return out != 0 && !violated[full&^out] }))
	}
	enough := least(sets, func(kept uint64) uint64 { return kept }, func(kept uint64) bool { return violated[kept] })
	if n > allSubsets && bits.OnesCount64(enough[0]) >= n-2 { // the sets in between were not tried
		left := enough[0]
		for i := range n {
			if left&(1<<i) == 0 {
				continue
			}
			if err := try([]uint64{left &^ (1 << i)}); err != nil {
				return err
			}
			if violated[left&^(1<<i)] {
				left &^= 1 << i
			}
		}
		enough = []uint64{left}
	}
	c.Enough = members(enough[:min(len(enough), mostEnough)])
	of := slices.Clone(c.Necessary)
	for _, set := range c.Jointly {
		of = append(of, set...)
	}
	for _, a := range checker.Assumptions() {
		var class uint64 // the faults that break it
		for i, f := range c.Faults {
			if f.Assumption == a {
				class |= 1 << i
			}
		}
		if err := try([]uint64{full &^ class}); err != nil {
			return err
		}
		if !violated[full&^class] || slices.ContainsFunc(of, func(i int) bool { return c.Faults[i].Assumption == a }) {
			c.Counterfactual = append(c.Counterfactual, a)
		}
	}
	slices.Sort(c.Counterfactual)
	return nil
}

// tried lists the sets of faults that are kept in replays: all, if the faults are few; otherwise those that differ from none or from
// all of them by two at most.
func (q *inquiry) tried(n int) []uint64 {
	var sets []uint64
	full := uint64(1)<<n - 1
	if n <= allSubsets {
		for kept := range full + 1 {
			sets = append(sets, kept)
		}
		return sets
	}
	for k := range 3 {
		for _, some := range subsets(n, k) {
			var set uint64
			for _, i := range some {
				set |= 1 << i
			}
			sets = append(sets, set, full&^set)
		}
	}
	return sets
}

// keeping returns the replay with some of the faults only.
func (q *inquiry) keeping(c *Cause, kept uint64) Replay {
	var r Replay
	for i, f := range c.Faults {
		if kept&(1<<i) == 0 {
			r.Without = append(r.Without, f.At)
		}
	}
	return r
}

// least returns the smallest of the sets that fit, none of which contains another, those with the fewest members first.
func least(sets []uint64, of func(uint64) uint64, fits func(uint64) bool) []uint64 {
	var all []uint64
	for _, s := range sets {
		if s := of(s); fits(s) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(bits.OnesCount64(a), bits.OnesCount64(b)), cmp.Compare(a, b))
	})
	var kept []uint64
	for _, s := range all {
		if !slices.ContainsFunc(kept, func(k uint64) bool { return k&s == k }) {
			kept = append(kept, s)
		}
	}
	return kept
}

func members(sets []uint64) [][]int {
	var all [][]int
	for _, s := range sets {
		of := []int{}
		for i := range 64 {
			if s&(1<<i) != 0 {
				of = append(of, i)
			}
		}
		all = append(all, of)
	}
	return all
}

// sizes finds how much of each fault that matters it takes.
func (q *inquiry) sizes(ctx context.Context, c *Cause) error {
	for i := range c.Faults {
		f := &c.Faults[i]
		m := magnitudeOf(q.page, f.At)
		if !f.Matters || m == nil {
			continue
		}
		sign, most := int64(1), m.value
		if most < 0 {
			sign, most = -1, -most
		}
		unit := int64(1)
		for unit*2000 <= most {
			unit *= 10
		}
		lo, hi := int64(0), most // it holds at lo, and is violated at hi
		for lo/unit+1 < (hi+unit-1)/unit {
			middle := (lo/unit + (hi+unit-1)/unit) / 2 * unit
			ends, err := q.endings(ctx, []Replay{{Sized: &Sized{f.At, sign * middle}}})
			if err != nil {
				return err
			}
			if ends[0].violates(c.Property) {
				hi = middle
			} else {
				lo = middle
			}
		}
		f.Least = m.text(sign * hi)
		if lo > 0 {
			f.Harmless = m.text(sign * lo)
		}
	}
	return nil
}

// messages replays the run with each late message on time.
func (q *inquiry) messages(ctx context.Context, c *Cause) error {
	var replays []Replay
	for _, e := range q.base.History.Events {
		switch {
		case e.Kind != history.Message, e.At > q.complete(c):
			continue
		case e.Op == history.Drop && q.faulted(e.At), e.Op != history.Drop && e.At-e.Sent <= 2*sim.MaxLatency:
			continue // a fault that breaks a connection takes its messages with it
		}
		l := LateMessage{Sending: sim.Sending{From: e.By, To: e.Process, Sent: e.Sent, Text: e.Value}, What: reports.Message(e), At: e.At, Lost: e.Op == history.Drop}
		if c.LateIn++; c.LateIn > mostMessages {
			continue
		}
		c.Late = append(c.Late, l)
		replays = append(replays, Replay{Variant: play.Variant{OnTime: &l.Sending, TimersFirst: q.base.History.Meta.TimersFirst}})
	}
	ends, err := q.endings(ctx, replays)
	for i, e := range ends {
		c.Late[i].Matters = !e.violates(c.Property)
	}
	return err
}

// faulted reports whether a fault was injected at an instant.
func (q *inquiry) faulted(at time.Duration) bool {
	return slices.ContainsFunc(q.base.History.Events, func(e history.Event) bool { return e.Kind == history.Injected && e.At == at })
}

// luck replays the run with other latencies.
func (q *inquiry) luck(ctx context.Context, c *Cause) error {
	var replays []Replay
	for i := range q.futures {
		replays = append(replays, Replay{Seed: futureSeed(q.search.Seed, i)})
	}
	ends, err := q.endings(ctx, replays)
	c.Luck = oddsOf(ends, c.Property)
	return err
}

// oddsOf counts the endings in which a property is violated.
func oddsOf(ends []Ending, p checker.Property) Odds {
	s := Odds{Of: len(ends)}
	for _, e := range ends {
		if e.violates(p) {
			s.Violated++
		}
	}
	return s
}
