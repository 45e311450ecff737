package pictures

import (
	"cmp"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockstep/reports"
	"lockstep/reports/explorer"
)

// draw draws the figure on a canvas of its size.
func (f *figure) draw(c draw.Canvas) {
	f.drawStory(c)
	drawHeading(pen{c: c, top: c.Max.Y}, f.head)
}

// drawStory draws the figure without its heading.
func (f *figure) drawStory(c draw.Canvas) {
	p := pen{c: c, top: c.Max.Y}
	p.fill(box{0, 0, f.width, f.height}, white)
	f.plot(f).Draw(f.plotArea(c))
	f.legend(p, outer, f.height-f.foot/2)
}

// plotArea is the part of a canvas in which the plot lies.
func (f *figure) plotArea(c draw.Canvas) draw.Canvas {
	return draw.Crop(c, f.left, -outer, f.foot, -f.top+6)
}

// plot is the part of the figure with the axis, and what is drawn above it.
func (f *figure) plot(above ...plot.Plotter) *plot.Plot {
	pl := plot.New()
	pl.BackgroundColor = nil
	pl.HideY()
	pl.Y.Padding, pl.X.Padding = 0, 0
	pl.Y.Min, pl.Y.Max = 0, 1
	pl.X.Min, pl.X.Max = 0, max(f.End.Seconds(), 1e-3)
	pl.X.Scale, pl.X.Tick.Marker = f.axis, f.axis
	pl.X.LineStyle = draw.LineStyle{Color: grey, Width: 1}
	pl.X.Tick.LineStyle = draw.LineStyle{Color: grey, Width: 1}
	pl.X.Tick.Label = plotFace(smallFace, black)
	pl.X.Tick.Length = 7
	pl.Add(above...)
	return pl
}

// Plot implements [plot.Plotter].
func (f *figure) Plot(c draw.Canvas, _ *plot.Plot) {
	p := pen{c: c, top: f.height}
	for i := range f.Lanes {
		f.drawGround(p, i)
	}
	f.drawFlights(p, false)
	for i := range f.Lanes {
		f.drawBars(p, i)
	}
	f.drawBands(p)
	f.drawGaps(p, p.top-c.Min.Y)
	f.drawFlights(p, true)
	for i := range f.Lanes {
		f.drawMarks(p, i)
	}
	if f.now < f.End {
		f.drawNow(p, f.x(f.now), p.top-c.Min.Y)
	}
	for i := range f.Lanes {
		f.drawTexts(p, i)
	}
}

// drawGround draws the name of a lane, and shades the intervals in which its process stands still.
func (f *figure) drawGround(p pen, i int) {
	f.drawName(p, i)
	f.drawShades(p, i)
	f.drawLine(p, i)
}

// server says what a node is, right of its name.
const (
	server    = "Redis"
	serverGap = vg.Length(7)
)

func (f *figure) drawName(p pen, i int) {
	l, b := &f.Lanes[i], f.boxes[i]
	bars := f.bars[i]
	if i+1 < len(f.Lanes) && f.Lanes[i+1].Kind != l.Kind {
		p.line(outer, b.y1+f.laneGap/2, b.x1, b.y1+f.laneGap/2, rule, 1.5)
	}
	name := nameFace.fit(reports.Printable(l.Name, 20), f.gutter-22)
	ink := black
	if l.Kind == explorer.ClientLane {
		ink = f.cast.look(l.Name).ink
		chip := box{outer, bars.midY() - 11, outer + 14, bars.midY() + 11}
		f.swatch(p, chip, l.Name)
	}
	p.write(outer+22, bars.midY(), name, nameFace, ink)
	if x := outer + 22 + nameFace.width(name) + serverGap; l.Kind == explorer.NodeLane && x+smallFace.width(server) < f.left {
		p.write(x, bars.midY(), server, smallFace, grey)
	}
}

func (f *figure) drawShades(p pen, i int) {
	b := f.boxes[i]
	for _, s := range f.Lanes[i].Shades {
		if s.From > f.now {
			continue
		}
		sb := box{f.x(s.From), b.y0, max(f.reach(s.From, s.To), f.x(s.From)+2), b.y1}
		p.fill(sb, stillness)
		p.line(sb.x0, sb.y0, sb.x0, sb.y1, grey, 1.5)
		if s.To <= f.now {
			p.line(sb.x1, sb.y0, sb.x1, sb.y1, grey, 1.5)
		}
	}
}

func (f *figure) drawLine(p pen, i int) {
	if b := f.boxes[i]; f.Lanes[i].Kind != explorer.NetworkLane {
		p.line(b.x0, f.bars[i].midY(), b.x1, f.bars[i].midY(), faint, 1)
	}
}

// begun is how much is drawn of what has just begun, so that it can be seen. It is more than the radius of any mark.
const begun = vg.Length(20)

// reach is how far something that lasts is drawn: to its end, or as far as it has come by now.
func (f *figure) reach(from, to time.Duration) vg.Length {
	if to <= f.now {
		return f.x(to)
	}
	return max(f.x(f.now), min(f.x(to), f.x(from)+begun))
}

// swatch fills a box in the look of a client.
func (f *figure) swatch(p pen, b box, client string) {
	k := f.cast.look(client)
	p.fill(b, tint(k.ink, 0.22))
	p.hatch(b, k.pattern, tint(k.ink, 0.8), 1.6, 8)
	p.outline(b, k.ink, 1.8)
}

func (f *figure) drawBars(p pen, i int) {
	for _, b := range f.Lanes[i].Bars {
		if b.From > f.now {
			continue
		}
		r := f.row(i, b.Row)
		r.x0, r.x1 = f.x(b.From), max(f.reach(b.From, b.To), f.x(b.From)+3)
		ink := f.cast.look(b.Client).ink
		switch b.Style {
		case explorer.Holding, explorer.Living:
			f.swatch(p, r, b.Client)
		case explorer.Copied:
			p.fill(r, tint(ink, 0.08))
			p.outline(r, tint(ink, 0.8), 1.2, 2, 3)
		case explorer.Stale:
			p.outline(r, ink, 1.8, 6, 4)
		case explorer.Asking:
			p.line(r.x0, r.midY(), r.x1, r.midY(), ink, 3)
			p.line(r.x0, r.y0+8, r.x0, r.y1-8, ink, 3)
		case explorer.Writing:
			p.line(r.x0, r.y1, r.x1, r.y1, ink, 4)
		case explorer.Severed:
			p.fill(r, white)
			p.hatch(r, falling, rule, 1.5, 8)
			p.outline(r, faint, 1.2)
		}
	}
}

// A barText is the text in a bar, and its place.
type barText struct {
	box
	text string
	face face
}

func (t *barText) draw(p pen) {
	p.fill(t.box, faded(white, 0xE8))
	p.write(t.x0+4, t.midY(), t.text, t.face, black)
}

// barTexts returns the texts of the bars of a lane that have room for it, and have come far enough by now.
func (f *figure) barTexts(i int) []barText {
	var all []barText
	for _, b := range f.Lanes[i].Bars {
		r := f.row(i, b.Row)
		r.x0, r.x1 = f.x(b.From), f.x(b.To)
		fc := barFace
		fc.bold = b.Style != explorer.Stale && b.Style != explorer.Copied
		avoid, short := f.obstacles(r, i), cmp.Or(b.Short, b.Text)
		for _, try := range []struct {
			text  string
			avoid []box
		}{{b.Text, avoid}, {short, avoid}, {short, nil}} {
			text := reports.Printable(try.text, 60)
			if at, ok := room(r, fc.width(text)+8, try.avoid); ok && text != "" {
				if at.x1 <= f.reach(b.From, b.To) {
					all = append(all, barText{at, text, fc})
				}
				break
			}
		}
	}
	return all
}

// room finds a place of a given width in a bar, as near to its middle as possible, that overlaps nothing in avoid.
func room(bar box, width vg.Length, avoid []box) (box, bool) {
	middle := box{bar.midX() - width/2, bar.midY() - 10, bar.midX() + width/2, bar.midY() + 10}
	for shift := vg.Length(0); shift <= (bar.width()-width)/2-2; shift += 4 {
		for _, x := range []vg.Length{shift, -shift} {
			b := middle
			b.x0, b.x1 = b.x0+x, b.x1+x
			if !slices.ContainsFunc(avoid, b.overlaps) {
				return b, true
			}
		}
	}
	return box{}, false
}

// obstacles returns the places that text in a bar of a lane should not cover.
func (f *figure) obstacles(r box, lane int) []box {
	around := func(x, half vg.Length) box { return box{x - half, r.y0, x + half, r.y1} }
	var bs []box
	for _, g := range f.axis.gaps() {
		bs = append(bs, around((f.x(g.from)+f.x(g.to))/2, 9))
	}
	for _, m := range f.Lanes[lane].Marks {
		if m.Shape != explorer.Bare {
			bs = append(bs, around(f.x(m.At), 14))
		}
	}
	for _, b := range f.Bands {
		bs = append(bs, around(f.x(b.From), 3), around(f.x(b.To), 3))
	}
	for _, fl := range f.Flights {
		if from, to := f.laneIndex(fl.From), f.laneIndex(fl.To); fl.Write && from >= 0 && to > from {
			x0, y0, x1, y1 := f.x(fl.Sent), f.edge(from, to), f.x(fl.At), f.edge(to, from)
			if share := (r.midY() - y0) / (y1 - y0); share > 0 && share < 1 {
				bs = append(bs, around(x0+(x1-x0)*share, 6))
			}
		}
	}
	return bs
}

// drawGaps tears the picture apart where time is left out, and writes how much is missing.
func (f *figure) drawGaps(p pen, axis vg.Length) {
	for _, g := range f.axis.gaps() {
		x := (f.x(g.from) + f.x(g.to)) / 2
		p.tear(x, f.top, axis+5)
		text := "+" + reports.Span(g.to-g.from)
		if w := smallFace.width(text); w+6 < f.x(g.to)-f.x(g.from) {
			b := box{x - w/2 - 2, axis - 22, x + w/2 + 2, axis - 6}
			p.fill(b, white)
			p.write(b.x0+2, b.midY(), text, smallFace, grey)
		}
	}
}

// drawFlights draws either the messages that lie above the bars, writes and proof, or the faint others, which lie below everything.
func (f *figure) drawFlights(p pen, strong bool) {
	for _, fl := range f.Flights {
		if (fl.Write || fl.Proof) != strong || fl.Sent > f.now {
			continue
		}
		from, to := f.laneIndex(fl.From), f.laneIndex(fl.To)
		if from < 0 || to < 0 {
			continue
		}
		x0, y0, x1, y1 := f.x(fl.Sent), f.edge(from, to), f.x(fl.At), f.edge(to, from)
		ink, width, head := faded(f.cast.look(fl.Client).ink, 0x70), vg.Length(1), vg.Length(7)
		if fl.Write {
			ink, width, head = f.cast.look(fl.Client).ink, 2.2, 12
		}
		if fl.Proof {
			ink = red
		}
		if fl.Lost {
			ink = f.cast.look(fl.Client).ink
			x1, y1 = x0+(x1-x0)*0.6, y0+(y1-y0)*0.6
		}
		if fl.At > f.now { // it is still on its way
			share := min(1, (f.x(f.now)-x0)/max(x1-x0, 1))
			p.line(x0, y0, x0+(x1-x0)*share, y0+(y1-y0)*share, ink, width)
			continue
		}
		if fl.Lost {
			p.line(x0, y0, x1, y1, ink, 2.2)
			p.cross(x1, y1, 7, ink, 3)
			continue
		}
		p.arrow(x0, y0, x1, y1, ink, width, head)
	}
}

func (f *figure) laneIndex(name string) int {
	return slices.IndexFunc(f.Lanes, func(l explorer.Lane) bool { return l.Name == name })
}

// edge is where, vertically, a message between two lanes leaves or reaches the first of them.
func (f *figure) edge(lane, other int) vg.Length {
	b := f.bars[lane]
	switch {
	case f.Lanes[lane].Kind == explorer.ResourceLane:
		return b.midY() - discRadius - 2
	case lane < other:
		return b.y1
	}
	return b.y0
}

// drawBands marks the intervals in which the lock had several holders.
func (f *figure) drawBands(p pen) {
	for _, b := range f.Bands {
		if b.From > f.now {
			continue
		}
		first, last := len(f.Lanes), -1
		for _, c := range b.Clients {
			if i := f.laneIndex(c); i >= 0 {
				first, last = min(first, i), max(last, i)
			}
		}
		if last < 0 {
			continue
		}
		r := box{f.x(b.From), f.bars[first].y0 - 2, max(f.reach(b.From, b.To), f.x(b.From)+4), f.bars[last].y1 + 2}
		p.fill(r, faded(red, 0x20))
		p.hatch(r, falling, faded(red, 0xB0), 2, 11)
		p.outline(r, red, 3)
	}
}

func (f *figure) drawMarks(p pen, i int) {
	for _, m := range f.Lanes[i].Marks {
		if m.At > f.now {
			continue
		}
		r := f.row(i, m.Row)
		x, y := f.x(m.At), r.midY()
		ink := f.cast.look(m.Client).ink
		switch m.Shape {
		case explorer.Act:
			p.polygon(ink, p.at(x-7, r.y0-1), p.at(x+7, r.y0-1), p.at(x, r.y0+11))
			p.line(x, r.y0, x, r.y1, ink, 2)
		case explorer.Granted:
			p.star(x, y, 11, black)
		case explorer.Ticked:
			p.line(x, r.y0, x, r.y1, ink, 2)
		case explorer.Crowned:
			p.line(x, r.y0-2, x, r.y1+2, black, 2)
			p.crown(x, y, 11, black)
		case explorer.Lost:
			p.cross(x, y, 9, black, 4)
		case explorer.Leapt:
			p.line(x, f.boxes[i].y0+2, x, f.boxes[i].y1-2, black, 3)
			p.polygon(black, p.at(x+1, y-8), p.at(x+14, y), p.at(x+1, y+8))
		case explorer.Accepted:
			p.disc(x, y, discRadius, ink)
			p.ring(x, y, discRadius, black, 1.2)
		case explorer.Rejected:
			p.disc(x, y, discRadius, white)
			p.ring(x, y, discRadius, ink, 2.4)
			p.cross(x, y, discRadius-1, black, 2.6)
		}
		switch {
		case m.Lesser:
			p.ring(x, y, 11, red, 2)
		case m.Proof:
			p.ring(x, y, 17, red, 4)
		}
	}
}

// drawTexts writes the labels of a lane, each with a line to the point that it belongs to.
func (f *figure) drawTexts(p pen, i int) {
	for _, l := range f.labels[i] {
		if l.at <= f.now {
			f.drawLeader(p, i, l)
		}
	}
	for _, l := range f.labels[i] {
		if l.at <= f.now {
			l.draw(p)
		}
	}
	for _, t := range f.barTexts(i) {
		t.draw(p)
	}
}

// drawLeader draws the line from a label to its point.
func (f *figure) drawLeader(p pen, i int, l label) {
	switch {
	case l.row == 0:
	case l.box.y0 < f.bars[i].y0:
		p.line(l.x, l.box.y1, l.x, f.bars[i].y0, faded(grey, 0x90), 1)
	default:
		p.line(l.x, f.bars[i].midY()+discRadius, l.x, l.box.y0, faded(grey, 0x90), 1)
	}
}

func (l *label) draw(p pen) {
	p.fill(l.box, faded(white, 0xD8))
	if l.framed {
		p.fill(l.box, white)
		p.outline(l.box, l.ink, 1.8)
	}
	p.write(l.box.x0+labelPad, l.box.midY(), l.text, l.face, l.ink)
}
