package pictures

import (
	"slices"
	"time"

	"gonum.org/v1/plot/vg"

	"lockstep/reports"
	"lockstep/reports/explorer"
)

// Sizes of a picture in points, which become as many pixels. They are large enough for a picture to be read at half its size.
const (
	figureWidth = vg.Length(1200)
	gutter      = vg.Length(124) // left of the axis, for the names of the lanes
	outer       = vg.Length(20)  // around everything
	headHeight  = vg.Length(84)
	axisHeight  = vg.Length(46)
	barGap      = vg.Length(4) // between rows of bars
)

// A format is the measures in which a timeline on a page differs from one on a slide. All type has the same size in both: a slide is
// smaller, and shown larger.
type format struct {
	width, gutter, top, foot      vg.Length // gutter is for the names of the lanes, top for the heading
	laneGap                       vg.Length // between lanes
	lanePad                       vg.Length // above and below what a lane holds
	clientBar, serverBar, diskBar vg.Length // heights; the last is that of the resource
	slide                         bool
}

var pageFormat = format{width: figureWidth, gutter: gutter, top: headHeight, foot: 36, laneGap: 6, lanePad: 5, clientBar: 34, serverBar: 24, diskBar: 30}

var (
	titleFace  = face{size: 25, bold: true}
	reasonFace = face{size: 17}
	nameFace   = face{size: 19, bold: true}
	labelFace  = face{size: 16}
	strongFace = face{size: 16, bold: true}
	barFace    = face{size: 15, bold: true}
	smallFace  = face{size: 15}
)

// discRadius is the radius of the discs that stand for accepted and rejected writes.
const discRadius = vg.Length(9)

// laneBars is the height of the bars of a lane.
func (f format) laneBars(k explorer.LaneKind) vg.Length {
	switch k {
	case explorer.ClientLane:
		return f.clientBar
	case explorer.NetworkLane, explorer.NodeLane, explorer.OtherLane:
		return f.serverBar
	}
	return f.diskBar
}

// A figure is a story with a place for everything except the texts within bars. These are placed when they are drawn.
type figure struct {
	*explorer.Story
	format
	now    time.Duration // what happens later is not drawn
	head   explorer.Heading
	cast   cast
	axis   *brokenAxis
	boxes  []box     // of each lane
	bars   []box     // of each lane: where its rows of bars lie
	labels [][]label // of each lane
	left   vg.Length // where the axis begins
	right  vg.Length
	height vg.Length
	hidden int // labels for which there was no room
}

func newFigure(s *explorer.Story, head explorer.Heading, c cast, sizes format) *figure {
	f := &figure{Story: s, format: sizes, now: s.End, head: head, cast: c, left: outer + sizes.gutter, right: sizes.width - outer}
	f.axis = newBrokenAxis(instants(s))
	f.axis.label(labelledTimes(s), f.right-f.left, smallFace)
	y := f.top
	for i := range s.Lanes {
		y = f.layLane(&s.Lanes[i], y) + f.laneGap
	}
	f.height = y + axisHeight + f.foot
	return f
}

// watcherRows is the limit for the rows of labels on a lane that servers share: many may say the same at nearly the same time.
const watcherRows = 2

// layLane places a lane whose top edge is at y, and returns its bottom edge. Labels lie above the bars, except on the lane of the
// resource, where messages arrive from above.
func (f *figure) layLane(l *explorer.Lane, y vg.Length) vg.Length {
	labels := f.labelsOf(l)
	placed, rows := placeLabels(labels, f.left+2, f.right-2)
	if l.Kind == explorer.OtherLane && rows > watcherRows {
		placed = slices.DeleteFunc(placed, func(l label) bool { return l.row >= watcherRows })
		rows = watcherRows
	}
	f.hidden += len(labels) - len(placed)
	barsHeight := vg.Length(l.Rows)*(f.laneBars(l.Kind)+barGap) - barGap
	labelsHeight := vg.Length(rows) * rowHeight
	bars := box{f.left, y + f.lanePad + labelsHeight, f.right, y + f.lanePad + labelsHeight + barsHeight}
	if l.Kind == explorer.ResourceLane {
		bars.y0, bars.y1 = y+f.lanePad, y+f.lanePad+barsHeight
	}
	for i := range placed {
		b := &placed[i].box
		if l.Kind == explorer.ResourceLane {
			b.y0 = bars.y1 + 6 + vg.Length(placed[i].row)*rowHeight
		} else {
			b.y0 = bars.y0 - 3 - vg.Length(placed[i].row+1)*rowHeight
		}
		b.y1 = b.y0 + rowHeight - 2
	}
	bottom := y + 3 + labelsHeight + barsHeight + 2*f.lanePad
	f.labels = append(f.labels, placed)
	f.boxes = append(f.boxes, box{f.left, y, f.right, bottom})
	f.bars = append(f.bars, bars)
	return bottom
}

// labelsOf collects the labels of a lane.
func (f *figure) labelsOf(l *explorer.Lane) []label {
	var ls []label
	for _, c := range f.Callouts {
		if c.Lane == l.Name {
			ls = append(ls, label{text: reports.Printable(c.Text, 120), face: strongFace, ink: red, at: c.At, x: f.x(c.At), weight: explorer.Decisive + 1, framed: true})
		}
	}
	for _, s := range l.Shades {
		ls = append(ls, label{text: s.Text, face: strongFace, ink: black, at: s.From, x: f.x(s.From) + 4, weight: explorer.Telling})
	}
	for _, m := range l.Marks {
		if m.Text != "" {
			ls = append(ls, label{text: reports.Printable(m.Text, 60), face: labelFace, ink: black, at: m.At, x: f.x(m.At), weight: m.Weight})
		}
	}
	return ls
}

// x is the place of an instant.
func (f *figure) x(t time.Duration) vg.Length {
	return f.left + vg.Length(f.axis.place(t))*(f.right-f.left)
}

// row is the place of a row of bars on lane i.
func (f *figure) row(i, row int) box {
	b := f.bars[i]
	h := f.laneBars(f.Lanes[i].Kind)
	b.y0 += vg.Length(row) * (h + barGap)
	b.y1 = b.y0 + h
	return b
}

// instants returns every instant at which something is drawn.
func instants(s *explorer.Story) []time.Duration {
	ts := []time.Duration{0, s.End}
	for _, l := range s.Lanes {
		for _, b := range l.Bars {
			ts = append(ts, b.From, b.To)
		}
		for _, sh := range l.Shades {
			ts = append(ts, sh.From, sh.To)
		}
		for _, m := range l.Marks {
			ts = append(ts, m.At)
		}
	}
	for _, fl := range s.Flights {
		ts = append(ts, fl.Sent, fl.At)
	}
	return ts
}

// labelledTimes returns the instants that the axis should label.
func labelledTimes(s *explorer.Story) []labelledTime {
	ts := []labelledTime{{0, explorer.Telling}}
	for _, l := range s.Lanes {
		for _, b := range l.Bars {
			if b.Style == explorer.Holding {
				ts = append(ts, labelledTime{b.From, explorer.Telling}, labelledTime{b.To, explorer.Telling})
			}
		}
		for _, m := range l.Marks {
			ts = append(ts, labelledTime{m.At, m.Weight})
		}
	}
	return ts
}
