package explorer

import (
	"slices"
	"time"

	"lockstep/reports"
	"lockstep/sim/history"
)

// A Clock is how far the clocks of a process are ahead of true time.
type Clock struct {
	Name   string    `json:"name"`
	Lane   int       `json:"lane"`
	Steady []Reading `json:"steady"`
	Wall   []Reading `json:"wall"`
}

// A Reading is a reading of a clock. The offset changes evenly between two of them; a jump is two at one instant.
type Reading struct {
	At     time.Duration `json:"at"`
	Offset time.Duration `json:"offset"`
}

// clocks adds the clocks that were ever wrong to a page, and the names of the others.
func (b *pageBuilder) clocks() {
	b.Clocks, b.Right = []Clock{}, []string{}
	for _, process := range slices.Concat(b.t.f.Meta.Clients, b.t.servers) {
		c := ClockOf(b.t.f.History, process, b.t.s.End)
		wrong := func(p Reading) bool { return p.Offset != 0 }
		switch {
		case slices.ContainsFunc(c.Steady, wrong) || slices.ContainsFunc(c.Wall, wrong):
			c.Name, c.Lane = reports.Printable(process, nameMost), b.lane(process)
			b.Clocks = append(b.Clocks, c)
		case !slices.Contains(b.t.f.Meta.Others, process):
			b.Right = append(b.Right, reports.Printable(process, nameMost))
		}
	}
}

// ClockOf reads the clocks of a process, up to an instant, off its events. The faults tell what happens to a clock between two events.
func ClockOf(h *history.History, process string, end time.Duration) Clock {
	c := Clock{Steady: []Reading{}, Wall: []Reading{}}
	var rate history.Clock // its error is all that matters here
	gained := func(d time.Duration) time.Duration { return rate.Reading(d) - d }
	due := func(at time.Duration) time.Duration { // how far the wall clock is ahead, extrapolated from its last reading
		n := len(c.Wall)
		if n == 0 {
			return 0
		}
		return c.Wall[n-1].Offset + gained(at-c.Wall[n-1].At)
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Process != process || e.Kind == history.Bite || e.Op == history.Missed {
			continue
		}
		c.Steady = append(c.Steady, Reading{e.At, e.Clock - e.At})
		switch f := e.Fault().(type) {
		case history.Jump:
			before := due(e.At)
			c.Wall = append(c.Wall, Reading{e.At, before}, Reading{e.At, before + f.By})
		case history.Slew:
			before := due(e.At)
			c.Wall = append(c.Wall, Reading{e.At, before}, Reading{e.At + f.Over, before + f.By})
		default: // readings during a slew lie on its line, and are skipped
			if n := len(c.Wall); n == 0 || c.Wall[n-1].At <= e.At {
				c.Wall = append(c.Wall, Reading{e.At, e.Wall})
			}
		}
		if drift, ok := e.Fault().(history.Drift); ok {
			rate.PPM = drift.PPM
		}
	}
	for _, points := range []*[]Reading{&c.Steady, &c.Wall} {
		if n := len(*points); n > 0 {
			last := (*points)[n-1]
			*points = straight(append(*points, Reading{max(end, last.At), last.Offset + gained(end-last.At)}))
		}
	}
	return c
}

// straight leaves out points that lie on the line between their neighbours.
func straight(points []Reading) []Reading {
	var kept []Reading
	for _, p := range points {
		if n := len(kept); n > 1 && between(kept[n-2], kept[n-1], p) {
			kept[n-1] = p
		} else {
			kept = append(kept, p)
		}
	}
	return kept
}

// between reports whether b lies on the line from a to c, to within a microsecond.
func between(a, b, c Reading) bool {
	if a.At == c.At || a.At == b.At || b.At == c.At {
		return a.Offset == b.Offset && b.Offset == c.Offset
	}
	share := float64(b.At-a.At) / float64(c.At-a.At)
	off := float64(a.Offset) + share*float64(c.Offset-a.Offset) - float64(b.Offset)
	return -1e3 < off && off < 1e3
}
