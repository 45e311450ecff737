package pictures

import (
	"testing"
	"time"

	"gonum.org/v1/plot"
	"pgregory.net/rapid"

	"lockstep/checker/facts"
	"lockstep/reports/explorer"
	"lockstep/reports/internal/sample"
)

var (
	_ plot.Normalizer = (*brokenAxis)(nil)
	_ plot.Ticker     = (*brokenAxis)(nil)
	_ plot.Plotter    = (*figure)(nil)
)

// An axis keeps the order of instants, whatever it does to their distances.
func TestAxisKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var instants []time.Duration
		for _, n := range rapid.SliceOf(rapid.Int64Range(0, int64(time.Hour))).Draw(t, "instants") {
			instants = append(instants, time.Duration(n))
		}
		a := newBrokenAxis(instants)
		x := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "x"))
		y := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "y"))
		if x > y {
			x, y = y, x
		}
		px, py := a.place(x), a.place(y)
		if px > py || px < 0 || py > 1 {
			t.Fatalf("%v lies at %v and %v at %v", x, px, y, py)
		}
		if n := a.Normalize(0, 0, x.Seconds()); n < px-1e-6 || n > px+1e-6 {
			t.Fatalf("Normalize(%v) = %v, place is %v", x, n, px)
		}
	})
}

// Parallel requests of one acquire are drawn apart, although the axis spans seconds.
func TestAxisSpreadsBursts(t *testing.T) {
	f := NewTimeline(facts.Of(sample.ClockJump()), sample.Judged("", sample.ClockJump()).Result).figure
	lane := func(name string) explorer.Bar { return f.Lane(name).Bars[0] }
	for _, pair := range [][2]string{{"n1", "n2"}, {"n2", "n3"}, {"n3", "n4"}} {
		a, b := f.x(lane(pair[0]).From), f.x(lane(pair[1]).From)
		if b-a < 5 {
			t.Errorf("keys on %v are set %.1f points apart", pair, b-a)
		}
	}
}

func TestAxisIsBrokenInSilence(t *testing.T) {
	a := newBrokenAxis([]time.Duration{0, time.Millisecond, 2 * time.Millisecond, 10 * time.Second, 10*time.Second + time.Millisecond})
	gaps := a.gaps()
	if len(gaps) != 1 || gaps[0] != (gap{2 * time.Millisecond, 10 * time.Second}) {
		t.Errorf("gaps %v, want one from 2 ms to 10 s", gaps)
	}
}

func TestAxisLabelsDoNotOverlap(t *testing.T) {
	for _, r := range append(sample.Runs(t), sample.Run{Name: "busy", H: sample.Busy(), Result: sample.Judged("", sample.Busy()).Result}) {
		f := NewTimeline(facts.Of(r.H), r.Result).figure
		var last box
		labels := 0
		for _, tick := range f.axis.ticks {
			if tick.Label == "" {
				continue
			}
			labels++
			x := f.x(time.Duration(tick.Value * float64(time.Second)))
			half := smallFace.width(tick.Label) / 2
			b := box{x - half, 0, x + half, 1}
			if b.overlaps(last) || b.x0 < outer || b.x1 > f.right {
				t.Errorf("%s: %q at %+v, after %+v", r.Name, tick.Label, b, last)
			}
			last = b
		}
		if labels < 2 {
			t.Errorf("%s: only %d labels", r.Name, labels)
		}
	}
}
