package pictures

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot/vg"

	"lockstep/reports"
)

// An EdgeCurve is the share of unsafe runs over the drift of a clock, at one TTL.
type EdgeCurve struct {
	TTL       time.Duration
	Allowance float64 // the drift that the lock allows for, in ppm
	Points    []EdgePoint
}

// An EdgePoint is the result of some runs with the same drift.
type EdgePoint struct {
	PPM       float64
	Runs      int
	Unsafe    int
	Unproved  int
	Low, High float64 // the 95 % confidence interval of the share
}

func (e EdgePoint) share() float64 { return float64(e.Unsafe) / float64(e.Runs) }

// breaks is the least drift at which a run was unsafe; ok is false if none was.
func (c *EdgeCurve) breaks() (ppm float64, ok bool) {
	for _, pt := range c.Points {
		if pt.Unsafe > 0 {
			return pt.PPM, true
		}
	}
	return 0, false
}

// An edgePlot shows some curves, and the allowance of each.
type edgePlot struct {
	curves []EdgeCurve
	x, y   plotScale
}

const (
	edgeTall  = vg.Length(430)
	edgeLeft  = vg.Length(92)
	edgeNotes = vg.Length(26) // for each line of notes above the curves
)

// NewDriftPlot shows from which drift on a lock breaks that allows for some drift. The points of each curve are in ascending order.
func NewDriftPlot(lock string, curves []EdgeCurve, what string) (*Plot, error) {
	var runs, unproved int
	table := [][]string{{"ttl_s", "allowance_ppm", "drift_ppm", "runs", "unsafe", "share", "low95", "high95", "unproved"}}
	e := &edgePlot{curves: curves}
	for _, c := range curves {
		for _, pt := range c.Points {
			if pt.Runs == 0 {
				continue
			}
			if runs == 0 {
				e.x.from, e.x.to = pt.PPM, pt.PPM
			}
			runs, unproved = runs+pt.Runs, unproved+pt.Unproved
			e.x.from, e.x.to = min(e.x.from, pt.PPM), max(e.x.to, pt.PPM)
			share := func(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }
			table = append(table, []string{
				plainSeconds(c.TTL), strconv.FormatFloat(c.Allowance, 'f', 0, 64), plain(pt.PPM), strconv.Itoa(pt.Runs), strconv.Itoa(pt.Unsafe),
				share(pt.share()), share(pt.Low), share(pt.High), strconv.Itoa(pt.Unproved),
			})
		}
	}
	if runs == 0 {
		return nil, errors.New("no run has ended: there is nothing to plot")
	}
	e.x.at0, e.x.at1 = edgeLeft, figureWidth-outer-30
	top := headHeight + 26 + edgeNotes*vg.Length(len(curves))
	e.y = plotScale{from: 0, to: 1, at0: top + edgeTall, at1: top}
	foot := fmt.Sprintf("%s runs; band: 95 %% confidence interval", thousands(int64(runs)))
	if unproved > 0 {
		foot += fmt.Sprintf("; %s runs prove nothing, and are counted as safe", thousands(int64(unproved)))
	}
	return &Plot{Title: e.title(reports.Printable(lock, 32)), Subtitle: what, Foot: foot, table: table, body: e.draw, height: top + edgeTall + 104}, nil
}

// title says what the curves show about the allowance, and nothing else.
func (e *edgePlot) title(lock string) string {
	safe := slices.DeleteFunc(slices.Clone(e.curves), func(c EdgeCurve) bool { ppm, ok := c.breaks(); return ok && ppm <= c.Allowance })
	if len(safe) < len(e.curves) {
		return fmt.Sprintf("With %s, two clients can hold the lock at a drift that it allows for", lock)
	}
	last := e.curves[len(e.curves)-1]
	ppm, ok := last.breaks()
	switch {
	case !ok:
		return fmt.Sprintf("With %s, no drift of one clock up to %+.0f ppm lets two clients hold the lock", lock, e.x.to)
	case len(e.curves) == 1:
		return fmt.Sprintf("%s stays safe up to its allowance for drift, %+.0f ppm, and breaks from %+.0f ppm on", lock, last.Allowance, ppm)
	}
	title := fmt.Sprintf("%s stays safe up to its allowance for drift, and breaks above it", lock)
	if e.shorterIsLater() {
		title += "; a shorter TTL tolerates more drift"
	}
	return title
}

// shorterIsLater reports whether each curve breaks at a greater drift than the curves of longer TTLs.
func (e *edgePlot) shorterIsLater() bool {
	for _, c := range e.curves {
		for _, d := range e.curves {
			at, ok := c.breaks()
			of, known := d.breaks()
			if c.TTL < d.TTL && (!ok || !known || at <= of) {
				return false
			}
		}
	}
	return true
}

// dashesOf distinguishes curves in print.
var dashesOf = [][]vg.Length{nil, {9, 4}, {3, 3}, {12, 4, 3, 4}}

func (e *edgePlot) draw(p pen) {
	for i := range 6 {
		share := float64(i) / 5
		y := e.y.at(share)
		p.line(e.x.at0, y, e.x.at1, y, rule, 1)
		p.right(e.x.at0-10, y, strconv.FormatFloat(100*share, 'f', 0, 64)+" %", smallFace, black)
	}
	p.write(outer, e.y.at1-20, "unsafe runs", strongFace, black)
	for _, v := range e.x.marks(10) {
		x, text := e.x.at(v), "+"+thousands(int64(v))
		if v == 0 {
			text = "0"
		}
		p.line(x, e.y.at0, x, e.y.at0+6, grey, 1)
		p.write(x-smallFace.width(text)/2, e.y.at0+19, text, smallFace, black)
	}
	p.line(e.x.at0, e.y.at0, e.x.at1, e.y.at0, grey, 1)
	const label = "how much faster the clock of one node runs (ppm)"
	p.write((e.x.at0+e.x.at1-strongFace.width(label))/2, e.y.at0+46, label, strongFace, black)
	for i := range e.curves {
		e.drawCurve(p, i)
	}
	for i := range e.curves {
		e.drawAllowance(p, i)
	}
}

func (e *edgePlot) drawCurve(p pen, i int) {
	c, ink := &e.curves[i], looks[i%len(looks)].ink
	var last *EdgePoint
	for k := range c.Points {
		pt := &c.Points[k]
		if pt.Runs == 0 {
			last = nil
			continue
		}
		if last != nil {
			x0, x1 := e.x.at(last.PPM), e.x.at(pt.PPM)
			p.polygon(faded(ink, 0x30), p.at(x0, e.y.at(last.Low)), p.at(x1, e.y.at(pt.Low)), p.at(x1, e.y.at(pt.High)), p.at(x0, e.y.at(last.High)))
			p.line(x0, e.y.at(last.share()), x1, e.y.at(pt.share()), ink, 2.5, dashesOf[i%len(dashesOf)]...)
		}
		last = pt
	}
	for _, pt := range c.Points {
		if pt.Runs > 0 {
			p.disc(e.x.at(pt.PPM), e.y.at(pt.share()), 4, ink)
		}
	}
	if last != nil { // the name of the curve: at half its height, or at its end
		name := "TTL " + inSeconds(c.TTL.Seconds())
		for _, pt := range c.Points {
			if x := e.x.at(pt.PPM) + 16; pt.Runs > 0 && pt.Low >= 0.5 && x+strongFace.width(name) < e.x.at1 {
				p.write(x, e.y.at(0.5), name, strongFace, ink)
				return
			}
		}
		p.right(e.x.at1, e.y.at(last.share())-18, name, strongFace, ink)
	}
}

// drawAllowance draws a line at the allowance of a curve, with a note above that also names the curve.
func (e *edgePlot) drawAllowance(p pen, i int) {
	c, ink := &e.curves[i], looks[i%len(looks)].ink
	text := fmt.Sprintf("TTL %s: the allowance is for %s ppm", inSeconds(c.TTL.Seconds()), thousands(int64(c.Allowance)))
	if ppm, ok := c.breaks(); ok {
		text += fmt.Sprintf("; first unsafe at %s", thousands(int64(ppm)))
	}
	if c.Allowance < e.x.from || c.Allowance > e.x.to {
		p.right(e.x.at1, e.y.at1-24-edgeNotes*vg.Length(len(e.curves)-1-i), text+" (beyond this picture)", barFace, ink)
		return
	}
	x := e.x.at(c.Allowance)
	y := e.y.at1 - 24 - edgeNotes*vg.Length(len(e.curves)-1-i)
	p.line(x, y, x, e.y.at0, ink, 1.8, 7, 4)
	if w := barFace.width(text); x+8+w > e.x.at1 {
		p.right(x-8, y, text, barFace, ink)
	} else {
		p.fill(box{x + 4, y - 10, x + 12 + w, y + 10}, white)
		p.write(x+8, y, text, barFace, ink)
	}
}
