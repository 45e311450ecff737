package pictures

import (
	"fmt"
	"strconv"
	"time"

	"gonum.org/v1/plot/vg"

	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/sim/history"
)

// FuturesPoint is the share of the futures of a run, after one of its moments, that violate a property.
type FuturesPoint struct {
	At       time.Duration // negative: before anything has happened
	What     string        // what has just happened
	Fault    bool
	Violated int
	Of       int
	NoReturn bool // from here on every future violates the property
}

func (f FuturesPoint) share() float64 { return float64(f.Violated) / float64(f.Of) }

// A futuresPlot draws the share over time, with numbers that a list explains.
type futuresPlot struct {
	points []FuturesPoint
	axis   *brokenAxis
	x0, x1 vg.Length
	y      plotScale
}

const (
	futuresTall = vg.Length(230)
	futuresLeft = vg.Length(92)
	futuresRow  = vg.Length(27) // of the list
	futuresDisc = vg.Length(12)
	futuresFoot = vg.Length(96) // from the axis to the list: times and numbers
)

// NewFuturesPlot shows from when on a violation comes even if every fault ends. The points are in the order of time, and there
// is at least one.
func NewFuturesPlot(run, property string, points []FuturesPoint) *Plot {
	f := &futuresPlot{points: points, x0: futuresLeft, x1: figureWidth - outer}
	instants := []time.Duration{0}
	times := []labelledTime{{0, explorer.Usual}}
	table := [][]string{{"at_s", "what", "violated", "futures"}}
	title := fmt.Sprintf("To the last, the end of all faults would have prevented the violation of %s", property)
	for i, p := range points {
		at := ""
		if p.At >= 0 {
			at = plainSeconds(p.At)
			instants = append(instants, p.At)
		}
		table = append(table, []string{at, p.What, strconv.Itoa(p.Violated), strconv.Itoa(p.Of)})
		switch {
		case p.NoReturn && i == 0:
			title = fmt.Sprintf("Every future violates %s, even without any fault", property)
		case p.NoReturn:
			title = fmt.Sprintf("From %s on, the end of all faults no longer prevents the violation of %s", history.Seconds(p.At), property)
			times = append(times, labelledTime{p.At, explorer.Decisive})
		case p.Fault:
			times = append(times, labelledTime{p.At, explorer.Telling})
		case p.At > 0:
			times = append(times, labelledTime{p.At, explorer.Usual})
		}
	}
	f.axis = newBrokenAxis(instants)
	f.axis.label(times, f.x1-f.x0, smallFace)
	top := headHeight + 34
	f.y = plotScale{from: 0, to: 1, at0: top + futuresTall, at1: top}
	return &Plot{
		Title:    title,
		Subtitle: reports.Printable(run, 100) + ": the share of futures that violate it, if every fault ends at that moment",
		Foot:     fmt.Sprintf("%d futures of each moment, which differ in their latencies and other random draws", points[0].Of),
		table:    table, body: f.draw,
		height: f.y.at0 + futuresFoot + futuresRow*vg.Length(len(points)) + 54,
	}
}

// at is the place of a point.
func (f *futuresPlot) at(i int) vg.Length {
	if f.points[i].At < 0 {
		return f.x0
	}
	return f.x0 + vg.Length(f.axis.place(f.points[i].At))*(f.x1-f.x0)
}

func (f *futuresPlot) draw(p pen) {
	for i := range 5 {
		y := f.y.at(float64(i) / 4)
		p.line(f.x0, y, f.x1, y, rule, 1)
		p.right(f.x0-10, y, fmt.Sprintf("%d %%", 25*i), smallFace, black)
	}
	from := f.x0
	for i, pt := range f.points { // the share of a point holds until the next
		x, end := f.at(i), f.x1
		if i+1 < len(f.points) {
			end = f.at(i + 1)
		}
		y := f.y.at(pt.share())
		if i > 0 && f.points[i-1].share() != pt.share() {
			p.line(x, f.y.at(f.points[i-1].share()), x, y, red, 2.5)
			from = x
		}
		if i+1 < len(f.points) && f.points[i+1].share() == pt.share() {
			continue
		}
		if pt.Violated > 0 {
			p.fill(box{from, y, end, f.y.at0}, tint(red, 0.16))
		}
		p.line(from, y, end, y, red, 2.5)
	}
	p.line(f.x0, f.y.at0, f.x1, f.y.at0, grey, 1)
	for _, g := range f.axis.gaps() {
		from, to := f.x0+vg.Length(f.axis.place(g.from))*(f.x1-f.x0), f.x0+vg.Length(f.axis.place(g.to))*(f.x1-f.x0)
		p.tear((from+to)/2, f.y.at1-10, f.y.at0+5)
	}
	for _, t := range f.axis.ticks {
		x := f.x0 + vg.Length(f.axis.Normalize(0, 0, t.Value))*(f.x1-f.x0)
		p.line(x, f.y.at0, x, f.y.at0+6, grey, 1)
		p.write(x-smallFace.width(t.Label)/2, f.y.at0+19, t.Label, smallFace, black)
	}
	f.drawList(p)
}

// drawList numbers the points below the axis, and explains the numbers.
func (f *futuresPlot) drawList(p pen) {
	right := [2]vg.Length{} // where each of the rows of numbers ends
	for i, pt := range f.points {
		text, ink := strconv.Itoa(i+1), black
		if pt.Fault {
			ink = doubt
		}
		if pt.NoReturn {
			ink = red
			p.line(f.at(i), f.y.at1-14, f.at(i), f.y.at0, red, 1.8, 7, 4)
			if label, x := "point of no return", f.at(i); x+8+barFace.width(label) < f.x1 {
				p.write(x+8, f.y.at1-16, label, barFace, red)
			} else {
				p.right(x-8, f.y.at1-16, label, barFace, red)
			}
		}
		x, row := f.at(i), 0
		if x-futuresDisc < right[0] {
			row = 1
		}
		x = max(x, right[row]+futuresDisc) // numbers do not overlap
		right[row] = x + futuresDisc + 3
		y := f.y.at0 + 46 + vg.Length(row)*(2*futuresDisc+3)
		badge := func(x, y vg.Length) {
			p.disc(x, y, futuresDisc, ink)
			p.write(x-barFace.width(text)/2, y, text, barFace, white)
		}
		badge(x, y)
		y = f.y.at0 + futuresFoot + futuresRow*(vg.Length(i)+0.5)
		badge(outer+futuresDisc, y)
		at := "before"
		if pt.At >= 0 {
			at = history.Seconds(pt.At)
		}
		p.right(outer+118, y, at, smallFace, black)
		p.right(outer+196, y, fmt.Sprintf("%.0f %%", 100*pt.share()), smallFace, ink)
		p.write(outer+216, y, smallFace.fit(reports.Printable(pt.What, 160), figureWidth-2*outer-216), smallFace, ink)
	}
}
