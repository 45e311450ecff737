package pictures

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockstep/reports"
)

// draw draws the figure on a canvas of its size.
func (f *figure) draw(c draw.Canvas) {
	f.drawStory(c)
	f.head.draw(pen{c: c, top: c.Max.Y})
}

// drawStory draws the figure without its heading.
func (f *figure) drawStory(c draw.Canvas) {
	p := pen{c: c, top: c.Max.Y}
	p.fill(box{0, 0, figureWidth, f.height}, white)
	f.plot().Draw(draw.Crop(c, f.left, -outer, footHeight, -headHeight+6))
	f.legend(p)
}

// plot is the part of the figure with the axis.
func (f *figure) plot() *plot.Plot {
	pl := plot.New()
	pl.BackgroundColor = nil
	pl.HideY()
	pl.Y.Padding, pl.X.Padding = 0, 0
	pl.Y.Min, pl.Y.Max = 0, 1
	pl.X.Min, pl.X.Max = 0, max(f.end.Seconds(), 1e-3)
	pl.X.Scale, pl.X.Tick.Marker = f.axis, f.axis
	pl.X.LineStyle = draw.LineStyle{Color: grey, Width: 1}
	pl.X.Tick.LineStyle = draw.LineStyle{Color: grey, Width: 1}
	pl.X.Tick.Label = plotFace(smallFace, black)
	pl.X.Tick.Length = 7
	pl.Add(f)
	return pl
}

// Plot implements [plot.Plotter].
func (f *figure) Plot(c draw.Canvas, _ *plot.Plot) {
	p := pen{c: c, top: f.height}
	for i := range f.lanes {
		f.drawGround(p, i)
	}
	f.drawFlights(p, false)
	for i := range f.lanes {
		f.drawBars(p, i)
	}
	f.drawBands(p)
	f.drawGaps(p, p.top-c.Min.Y)
	f.drawFlights(p, true)
	for i := range f.lanes {
		f.drawMarks(p, i)
	}
	for i := range f.lanes {
		f.drawTexts(p, i)
	}
}

// drawGround draws the name of a lane, and shades the intervals in which its process stands still.
func (f *figure) drawGround(p pen, i int) {
	l, b := &f.lanes[i], f.boxes[i]
	bars := f.bars[i]
	if i+1 < len(f.lanes) && f.lanes[i+1].kind != l.kind {
		p.line(outer, b.y1+laneGap/2, b.x1, b.y1+laneGap/2, rule, 1.5)
	}
	name := nameFace.fit(reports.Printable(l.name, 20), gutter-22)
	ink := black
	if l.kind == clientLane {
		ink = f.cast.look(l.name).ink
		chip := box{outer, bars.midY() - 11, outer + 14, bars.midY() + 11}
		f.swatch(p, chip, l.name)
	}
	p.write(outer+22, bars.midY(), name, nameFace, ink)
	for _, s := range l.shades {
		sb := box{f.x(s.from), b.y0, max(f.x(s.to), f.x(s.from)+2), b.y1}
		p.fill(sb, stillness)
		p.line(sb.x0, sb.y0, sb.x0, sb.y1, grey, 1.5)
		p.line(sb.x1, sb.y0, sb.x1, sb.y1, grey, 1.5)
	}
	if l.kind != networkLane {
		p.line(b.x0, bars.midY(), b.x1, bars.midY(), faint, 1)
	}
}

// swatch fills a box in the look of a client.
func (f *figure) swatch(p pen, b box, client string) {
	k := f.cast.look(client)
	p.fill(b, tint(k.ink, 0.22))
	p.hatch(b, k.pattern, tint(k.ink, 0.8), 1.6, 8)
	p.outline(b, k.ink, 1.8)
}

func (f *figure) drawBars(p pen, i int) {
	for _, b := range f.lanes[i].bars {
		r := f.row(i, b.row)
		r.x0, r.x1 = f.x(b.from), max(f.x(b.to), f.x(b.from)+3)
		ink := f.cast.look(b.client).ink
		switch b.style {
		case holding, living:
			f.swatch(p, r, b.client)
		case copied:
			p.fill(r, tint(ink, 0.08))
			p.outline(r, tint(ink, 0.8), 1.2, 2, 3)
		case stale:
			p.outline(r, ink, 1.8, 6, 4)
		case asking:
			p.line(r.x0, r.midY(), r.x1, r.midY(), ink, 3)
			p.line(r.x0, r.y0+8, r.x0, r.y1-8, ink, 3)
		case writing:
			p.line(r.x0, r.y1, r.x1, r.y1, ink, 4)
		case severed:
			p.fill(r, white)
			p.hatch(r, falling, rule, 1.5, 8)
			p.outline(r, faint, 1.2)
		}
	}
}

// drawBarText writes into the bars that have room for it.
func (f *figure) drawBarText(p pen, i int) {
	for _, b := range f.lanes[i].bars {
		r := f.row(i, b.row)
		r.x0, r.x1 = f.x(b.from), f.x(b.to)
		fc := barFace
		fc.bold = b.style != stale && b.style != copied
		avoid, short := f.obstacles(r, i), cmp.Or(b.short, b.text)
		for _, try := range []struct {
			text  string
			avoid []box
		}{{b.text, avoid}, {short, avoid}, {short, nil}} {
			text := reports.Printable(try.text, 60)
			if at, ok := room(r, fc.width(text)+8, try.avoid); ok && text != "" {
				p.fill(at, faded(white, 0xE8))
				p.write(at.x0+4, at.midY(), text, fc, black)
				break
			}
		}
	}
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
	for _, m := range f.lanes[lane].marks {
		if m.shape != bare {
			bs = append(bs, around(f.x(m.at), 14))
		}
	}
	for _, b := range f.bands {
		bs = append(bs, around(f.x(b.from), 3), around(f.x(b.to), 3))
	}
	for _, fl := range f.flights {
		if from, to := f.laneIndex(fl.from), f.laneIndex(fl.to); fl.write && from >= 0 && to > from {
			x0, y0, x1, y1 := f.x(fl.sent), f.edge(from, to), f.x(fl.at), f.edge(to, from)
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
		p.tear(x, headHeight, axis+5)
		text := reports.Span(g.to - g.from)
		if w := smallFace.width(text); w+6 < f.x(g.to)-f.x(g.from) {
			b := box{x - w/2 - 2, axis - 22, x + w/2 + 2, axis - 6}
			p.fill(b, white)
			p.write(b.x0+2, b.midY(), text, smallFace, grey)
		}
	}
}

// drawFlights draws either the messages that lie above the bars, writes and proof, or the faint others, which lie below everything.
func (f *figure) drawFlights(p pen, strong bool) {
	for _, fl := range f.flights {
		if (fl.write || fl.proof) != strong {
			continue
		}
		from, to := f.laneIndex(fl.from), f.laneIndex(fl.to)
		if from < 0 || to < 0 {
			continue
		}
		x0, y0, x1, y1 := f.x(fl.sent), f.edge(from, to), f.x(fl.at), f.edge(to, from)
		ink, width, head := faded(f.cast.look(fl.client).ink, 0x70), vg.Length(1), vg.Length(7)
		if fl.write {
			ink, width, head = f.cast.look(fl.client).ink, 2.2, 12
		}
		if fl.proof {
			ink = red
		}
		if fl.lost {
			ink = f.cast.look(fl.client).ink
			x1, y1 = x0+(x1-x0)*0.6, y0+(y1-y0)*0.6
			p.line(x0, y0, x1, y1, ink, 2.2)
			p.cross(x1, y1, 7, ink, 3)
			continue
		}
		p.arrow(x0, y0, x1, y1, ink, width, head)
	}
}

func (f *figure) laneIndex(name string) int {
	return slices.IndexFunc(f.lanes, func(l lane) bool { return l.name == name })
}

// edge is where, vertically, a message between two lanes leaves or reaches the first of them.
func (f *figure) edge(lane, other int) vg.Length {
	b := f.bars[lane]
	switch {
	case f.lanes[lane].kind == resourceLane:
		return b.midY() - discRadius - 2
	case lane < other:
		return b.y1
	}
	return b.y0
}

// drawBands marks the intervals in which the lock had several holders.
func (f *figure) drawBands(p pen) {
	for _, b := range f.bands {
		first, last := len(f.lanes), -1
		for _, c := range b.clients {
			if i := f.laneIndex(c); i >= 0 {
				first, last = min(first, i), max(last, i)
			}
		}
		if last < 0 {
			continue
		}
		r := box{f.x(b.from), f.bars[first].y0 - 2, max(f.x(b.to), f.x(b.from)+4), f.bars[last].y1 + 2}
		p.fill(r, faded(red, 0x20))
		p.hatch(r, falling, faded(red, 0xB0), 2, 11)
		p.outline(r, red, 3)
	}
}

func (f *figure) drawMarks(p pen, i int) {
	for _, m := range f.lanes[i].marks {
		r := f.row(i, m.row)
		x, y := f.x(m.at), r.midY()
		ink := f.cast.look(m.client).ink
		switch m.shape {
		case act:
			p.polygon(ink, p.at(x-7, r.y0-1), p.at(x+7, r.y0-1), p.at(x, r.y0+11))
			p.line(x, r.y0, x, r.y1, ink, 2)
		case granted:
			p.star(x, y, 11, black)
		case ticked:
			p.line(x, r.y0, x, r.y1, ink, 2)
		case crowned:
			p.line(x, r.y0-2, x, r.y1+2, black, 2)
			p.crown(x, y, 11, black)
		case lost:
			p.cross(x, y, 9, black, 4)
		case leapt:
			p.line(x, f.boxes[i].y0+2, x, f.boxes[i].y1-2, black, 3)
			p.polygon(black, p.at(x+1, y-8), p.at(x+14, y), p.at(x+1, y+8))
		case accepted:
			p.disc(x, y, discRadius, ink)
			p.ring(x, y, discRadius, black, 1.2)
		case rejected:
			p.disc(x, y, discRadius, white)
			p.ring(x, y, discRadius, ink, 2.4)
			p.cross(x, y, discRadius-1, black, 2.6)
		}
		switch {
		case m.lesser:
			p.ring(x, y, 11, red, 2)
		case m.proof:
			p.ring(x, y, 17, red, 4)
		}
	}
}

// drawTexts writes the labels of a lane, each with a line to the point that it belongs to.
func (f *figure) drawTexts(p pen, i int) {
	for _, l := range f.labels[i] {
		switch {
		case l.row == 0:
		case l.box.y0 < f.bars[i].y0:
			p.line(l.x, l.box.y1, l.x, f.bars[i].y0, faded(grey, 0x90), 1)
		default:
			p.line(l.x, f.bars[i].midY()+discRadius, l.x, l.box.y0, faded(grey, 0x90), 1)
		}
	}
	for _, l := range f.labels[i] {
		p.fill(l.box, faded(white, 0xD8))
		if l.framed {
			p.fill(l.box, white)
			p.outline(l.box, l.ink, 1.8)
		}
		p.write(l.box.x0+labelPad, l.box.midY(), l.text, l.face, l.ink)
	}
	f.drawBarText(p, i)
}
