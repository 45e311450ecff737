package search

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"lockstep/reports"
	"lockstep/scenarios/play"
	"lockstep/sim"
	"lockstep/sim/history"
)

// A Future is a moment of a run, and how often the property is violated if every fault ends at that moment and no other fault
// comes. Only latencies and other random draws differ between the runs that are counted.
type Future struct {
	At    time.Duration `json:"at"`
	What  string        `json:"what,omitempty"`  // what has just happened; empty if nothing has, and only time has passed
	Fault bool          `json:"fault,omitempty"` // a fault has
	Proof bool          `json:"proof,omitempty"` // an event that proves the violation has
	Odds
}

// branches plays the futures of the moments before the violation, and looks for the point of no return. The moments are those of the
// timeline; between the last from which some future is safe and the next, it looks at every event.
func (q *inquiry) branches(ctx context.Context, c *Cause) error {
	points := []Future{{At: -1, What: "the start, without any fault"}}
	for _, m := range thinned(reports.Moments(q.base.Facts, q.base.Result), q.complete(c), q.mostMoments()) {
		points = append(points, Future{At: m.At, What: m.String(), Fault: m.Fault, Proof: m.Proof})
	}
	if err := q.play(ctx, c, points); err != nil {
		return err
	}
	last := noReturn(points)
	if last > 0 {
		found, err := q.narrowed(ctx, c, points[last-1], points[last])
		if err != nil {
			return err
		}
		points = slices.Concat(points[:last], found, points[last:])
		last = noReturn(points)
	}
	c.Futures, c.NoReturn = points, last
	return nil
}

// complete returns when the violation was complete: what proves it had happened.
func (q *inquiry) complete(c *Cause) time.Duration {
	at := c.Violation.At
	for _, i := range c.Violation.Events {
		at = max(at, q.base.History.Events[i].At)
	}
	return at
}

// play plays the futures of some points.
func (q *inquiry) play(ctx context.Context, c *Cause, points []Future) error {
	var replays []Replay
	for _, p := range points {
		for i := range q.futures {
			replays = append(replays, Replay{Variant: play.Variant{Branch: &sim.Branch{After: p.At, Seed: futureSeed(q.search.Seed, i)}, TimersFirst: q.base.History.Meta.TimersFirst}})
		}
	}
	ends, err := q.endings(ctx, replays)
	if err != nil {
		return err
	}
	for i := range points {
		points[i].Odds = oddsOf(ends[i*q.futures:(i+1)*q.futures], c.Property)
	}
	return nil
}

// futureSeed is the seed of one of the futures of a run.
func futureSeed(seed uint64, i int) uint64 {
	return sim.Rand(seed, "future", strconv.Itoa(i)).Uint64()
}

// noReturn returns the first point from which on every future violates the property, or -1.
func noReturn(points []Future) int {
	n := len(points)
	for n > 0 && points[n-1].All() {
		n--
	}
	if n == len(points) {
		return -1
	}
	return n
}

// narrowed returns points between two, as far as they were played to find the first from which on every future violates the property.
// They are events that the timeline does not show, departures of messages and, where nothing happens for long, round times.
func (q *inquiry) narrowed(ctx context.Context, c *Cause, before, after Future) ([]Future, error) {
	var between []Future
	for i, e := range q.base.History.Events {
		if e.At <= before.At || e.At >= after.At || e.Kind == history.Bite || len(between) > 0 && between[len(between)-1].At == e.At {
			continue
		}
		between = append(between, Future{At: e.At, What: reports.Told(q.base.Facts, i), Fault: e.Kind == history.Injected})
	}
	for _, e := range q.base.History.Events {
		if e.Kind == history.Message && e.Sent > before.At && e.Sent < after.At {
			between = append(between, Future{At: e.Sent, What: reports.Sent(e)})
		}
	}
	for step, at := roundStep(after.At-before.At), max(before.At, 0); step >= leastStep && at < after.At; at = at.Truncate(step) + step {
		if at > before.At {
			between = append(between, Future{At: at})
		}
	}
	slices.SortStableFunc(between, func(a, b Future) int { return cmp.Compare(a.At, b.At) })
	between = slices.CompactFunc(between, func(a, b Future) bool { return a.At == b.At })
	var played []Future
	lo, hi := -1, len(between)
	for lo+1 < hi {
		middle := (lo + hi) / 2
		point := between[middle : middle+1]
		if err := q.play(ctx, c, point); err != nil {
			return nil, err
		}
		played = append(played, point...)
		if point[0].All() {
			hi = middle
		} else {
			lo = middle
		}
	}
	slices.SortFunc(played, func(a, b Future) int { return cmp.Compare(a.At, b.At) })
	odds := before.Odds
	return slices.DeleteFunc(played, func(p Future) bool { // those that tell nothing new
		same := p.Odds == odds
		odds = p.Odds
		return same
	}), nil
}

// leastStep is the least distance of round times that are tried. Shorter intervals do not matter to anybody.
const leastStep = 10 * time.Millisecond

// roundStep returns a round duration that is about a fiftieth of another.
func roundStep(d time.Duration) time.Duration {
	step := time.Duration(1)
	for step*100 <= d {
		step *= 10
	}
	return step
}

// mostMoments bounds the points that are played: 40, and fewer in a long run.
func (q *inquiry) mostMoments() int {
	return min(max(mostEvents/(q.futures*(len(q.base.History.Events)+1)), 4), 40)
}

// thinned returns the moments up to an instant, one for each instant. Of too many it keeps the faults and the proof, and of the others
// as many as there is room for, evenly spread.
func thinned(all []reports.Moment, until time.Duration, most int) []reports.Moment {
	var kept []reports.Moment
	for _, m := range all {
		switch n := len(kept); {
		case m.At > until:
		case n > 0 && kept[n-1].At == m.At: // the branch comes after both, and one line has room for one: the first, or a fault
			last := &kept[n-1]
			proof := last.Proof || m.Proof
			switch {
			case m.Fault && last.Fault:
				last.Text += "; " + m.Text
			case m.Fault:
				*last = m
			}
			last.Proof = proof
		default:
			kept = append(kept, m)
		}
	}
	var must, may int
	for _, m := range kept {
		if m.Fault || m.Proof {
			must++
		} else {
			may++
		}
	}
	room := max(most-must, 0)
	if may <= room {
		return kept
	}
	i := 0
	return slices.DeleteFunc(kept, func(m reports.Moment) bool {
		if m.Fault || m.Proof {
			return false
		}
		i++
		return i*room/may == (i-1)*room/may
	})
}
