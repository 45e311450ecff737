package pictures

import (
	"cmp"
	"math"
	"slices"
	"time"

	"lockstep/sim/history"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// brokenAxis is the time axis of a picture. A run has bursts of a few milliseconds, and seconds in which nothing happens; on a
// linear axis a burst is a single line. Here the width of the interval between two neighbouring instants grows with the logarithm
// of its length. Long intervals are marked as broken, so that nobody reads distance as time.
type brokenAxis struct {
	instants []time.Duration // ascending, without repetitions
	pos      []float64       // where each lies, from 0 to 1
	ticks    []plot.Tick
}

// shortest is about how far apart the messages of a burst lie. Intervals have a width in proportion to the logarithm of their length
// in this unit.
const shortest = 100 * time.Microsecond

// longGap is the shortest interval in which the axis is drawn broken.
const longGap = 100 * time.Millisecond

// margin is the share of the axis that is left free at either end, where labels need room.
const margin = 0.03

// newBrokenAxis makes an axis for the given instants, in any order.
func newBrokenAxis(instants []time.Duration) *brokenAxis {
	ts := slices.Clone(instants)
	slices.Sort(ts)
	ts = slices.Compact(ts)
	if len(ts) == 0 {
		ts = []time.Duration{0}
	}
	if len(ts) == 1 {
		ts = append(ts, ts[0]+time.Millisecond)
	}
	a := &brokenAxis{instants: ts, pos: make([]float64, len(ts))}
	for i := 1; i < len(ts); i++ {
		a.pos[i] = a.pos[i-1] + stretch(ts[i]-ts[i-1])
	}
	total := a.pos[len(ts)-1]
	for i := range a.pos {
		a.pos[i] = margin + (1-2*margin)*a.pos[i]/total
	}
	return a
}

// stretch is the width of an interval, in arbitrary units.
func stretch(d time.Duration) float64 {
	return math.Log2(1 + float64(d)/float64(shortest))
}

// Normalize implements [plot.Normalizer] for a time in seconds. A time beyond the first or the last instant is placed there.
func (a *brokenAxis) Normalize(_, _, x float64) float64 {
	return a.place(time.Duration(math.Round(x * float64(time.Second))))
}

// Ticks implements [plot.Ticker].
func (a *brokenAxis) Ticks(_, _ float64) []plot.Tick { return a.ticks }

// place is where t lies, from 0 to 1.
func (a *brokenAxis) place(t time.Duration) float64 {
	i, exact := slices.BinarySearch(a.instants, t)
	switch {
	case exact:
		return a.pos[i]
	case i == 0:
		return a.pos[0]
	case i == len(a.instants):
		return a.pos[i-1]
	}
	from, to := a.instants[i-1], a.instants[i]
	share := float64(t-from) / float64(to-from)
	return a.pos[i-1] + share*(a.pos[i]-a.pos[i-1])
}

// A gap is an interval in which nothing happens and which is drawn much shorter than it is.
type gap struct{ from, to time.Duration }

// gaps returns where the axis is broken.
func (a *brokenAxis) gaps() []gap {
	var gs []gap
	for i := 1; i < len(a.instants); i++ {
		if from, to := a.instants[i-1], a.instants[i]; to-from >= longGap {
			gs = append(gs, gap{from, to})
		}
	}
	return gs
}

// A labelledTime is an instant that the axis should label. If there is not enough room for all, those of a higher weight come first.
type labelledTime struct {
	at     time.Duration
	weight int
}

// label puts a tick at every instant, and labels as many of the given times as fit next to each other.
func (a *brokenAxis) label(times []labelledTime, width vg.Length, f face) {
	times = slices.Clone(times)
	slices.SortFunc(times, func(x, y labelledTime) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(x.at, y.at))
	})
	var taken []box
	var texts []string
	named := map[time.Duration]string{}
	for _, m := range times {
		text := history.Seconds(m.at)
		x, half := vg.Length(a.place(m.at))*width, f.width(text)/2+5
		b := box{x - half, 0, x + half, 1}
		if slices.Contains(texts, text) || b.x1 > width || slices.ContainsFunc(taken, b.overlaps) {
			continue
		}
		taken, texts = append(taken, b), append(texts, text)
		named[m.at] = text
	}
	a.ticks = nil
	for _, t := range a.instants {
		a.ticks = append(a.ticks, plot.Tick{Value: t.Seconds(), Label: named[t]})
	}
}
