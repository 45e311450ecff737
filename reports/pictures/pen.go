package pictures

import (
	"image/color"
	"math"
	"slices"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A box is a rectangle. Coordinates are in points from the top left corner of the picture, and y grows downwards.
type box struct{ x0, y0, x1, y1 vg.Length }

func (b box) width() vg.Length  { return b.x1 - b.x0 }
func (b box) height() vg.Length { return b.y1 - b.y0 }
func (b box) midY() vg.Length   { return (b.y0 + b.y1) / 2 }
func (b box) midX() vg.Length   { return (b.x0 + b.x1) / 2 }

// overlaps reports whether two boxes share more than an edge.
func (b box) overlaps(o box) bool {
	return b.x0 < o.x1 && o.x0 < b.x1 && b.y0 < o.y1 && o.y0 < b.y1
}

// A face is a size and weight of Liberation Sans. Gonum includes this font, so pictures are the same everywhere.
type face struct {
	size vg.Length
	bold bool
}

func (f face) font() font.Face {
	weight := stdfont.WeightNormal
	if f.bold {
		weight = stdfont.WeightBold
	}
	return font.DefaultCache.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight}, f.size)
}

func (f face) width(s string) vg.Length {
	face := f.font()
	return face.Width(s)
}

// fit cuts s to a width.
func (f face) fit(s string, width vg.Length) string {
	if f.width(s) <= width {
		return s
	}
	runes := []rune(s)
	for n := len(runes) - 1; n > 0; n-- {
		if cut := string(runes[:n]) + "…"; f.width(cut) <= width {
			return cut
		}
	}
	return ""
}

// A pen draws in coordinates from the top left corner, on a canvas whose origin is the bottom left one.
type pen struct {
	c   draw.Canvas
	top vg.Length
}

func (p pen) at(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: p.top - y} }

func (p pen) path(pts ...vg.Point) vg.Path {
	var path vg.Path
	path.Move(pts[0])
	for _, pt := range pts[1:] {
		path.Line(pt)
	}
	return path
}

func (p pen) corners(b box) []vg.Point {
	return []vg.Point{p.at(b.x0, b.y0), p.at(b.x1, b.y0), p.at(b.x1, b.y1), p.at(b.x0, b.y1)}
}

func (p pen) fill(b box, c color.Color) { p.c.FillPolygon(c, p.corners(b)) }

func (p pen) polygon(c color.Color, pts ...vg.Point) { p.c.FillPolygon(c, pts) }

func (p pen) outline(b box, c color.Color, width vg.Length, dashes ...vg.Length) {
	p.c.SetLineStyle(draw.LineStyle{Color: c, Width: width, Dashes: dashes})
	path := p.path(p.corners(b)...)
	path.Close()
	p.c.Stroke(path)
}

func (p pen) line(x0, y0, x1, y1 vg.Length, c color.Color, width vg.Length, dashes ...vg.Length) {
	p.c.SetLineStyle(draw.LineStyle{Color: c, Width: width, Dashes: dashes})
	p.c.Stroke(p.path(p.at(x0, y0), p.at(x1, y1)))
}

func (p pen) disc(x, y, radius vg.Length, c color.Color) {
	p.c.SetColor(c)
	p.c.Fill(p.circle(x, y, radius))
}

func (p pen) ring(x, y, radius vg.Length, c color.Color, width vg.Length) {
	p.c.SetLineStyle(draw.LineStyle{Color: c, Width: width})
	p.c.Stroke(p.circle(x, y, radius))
}

func (p pen) circle(x, y, radius vg.Length) vg.Path {
	var path vg.Path
	path.Move(p.at(x+radius, y))
	path.Arc(p.at(x, y), radius, 0, 2*math.Pi)
	path.Close()
	return path
}

// arrow draws a line with a head at its end.
func (p pen) arrow(x0, y0, x1, y1 vg.Length, c color.Color, width, head vg.Length) {
	dx, dy := float64(x1-x0), float64(y1-y0)
	length := math.Hypot(dx, dy)
	if length == 0 {
		return
	}
	ux, uy := vg.Length(dx/length), vg.Length(dy/length)
	bx, by := x1-head*ux, y1-head*uy
	p.line(x0, y0, bx, by, c, width)
	half := head * 0.42
	p.polygon(c, p.at(x1, y1), p.at(bx-half*uy, by+half*ux), p.at(bx+half*uy, by-half*ux))
}

// write writes s with its left edge at x, centred on y.
func (p pen) write(x, y vg.Length, s string, f face, c color.Color) {
	if s == "" {
		return
	}
	p.c.SetColor(c)
	p.c.FillString(f.font(), p.at(x, y+0.35*f.size), s)
}

// hatch fills a box with lines or dots. The canvas cannot clip, so each line is cut to the box here. A hatch is a single path, to keep
// files small.
func (p pen) hatch(b box, kind pattern, c color.Color, width, gap vg.Length) {
	var path vg.Path
	line := func(x0, y0, x1, y1 vg.Length) {
		path.Move(p.at(x0, y0))
		path.Line(p.at(x1, y1))
	}
	switch kind {
	case dots:
		p.dots(b, c, width*1.1, gap*0.8)
		return
	case rising, falling:
		diagonals(b, kind, gap, line)
	case crossed:
		diagonals(b, rising, gap, line)
		diagonals(b, falling, gap, line)
	case upright:
		for x := b.x0 + gap/2; x < b.x1; x += gap {
			line(x, b.y0, x, b.y1)
		}
	case level:
		for y := b.y0 + gap/2; y < b.y1; y += gap * 0.75 {
			line(b.x0, y, b.x1, y)
		}
	}
	if len(path) > 0 {
		p.c.SetLineStyle(draw.LineStyle{Color: c, Width: width})
		p.c.Stroke(path)
	}
}

// diagonals calls line for each of the lines at 45 degrees that fill a box.
func diagonals(b box, kind pattern, gap vg.Length, line func(x0, y0, x1, y1 vg.Length)) {
	h := b.height()
	for x := b.x0 - h + gap/2; x < b.x1; x += gap {
		from, to := max(0, b.x0-x), min(h, b.x1-x)
		switch {
		case from >= to:
		case kind == rising:
			line(x+from, b.y1-from, x+to, b.y1-to)
		default:
			line(x+from, b.y0+from, x+to, b.y0+to)
		}
	}
}

// dots fills a box with rows of dots. Each row is shifted against the one above.
func (p pen) dots(b box, c color.Color, r, gap vg.Length) {
	var path vg.Path
	shift := vg.Length(0)
	for y := b.y0 + gap*0.6; y <= b.y1-r; y += gap * 0.75 {
		for x := b.x0 + gap*0.6 + shift; x <= b.x1-r; x += gap {
			path = append(path, p.circle(x, y, r)...)
		}
		shift = gap/2 - shift
	}
	if len(path) > 0 {
		p.c.SetColor(c)
		p.c.Fill(path)
	}
}

// plotFace converts a face for the labels of an axis in gonum/plot.
func plotFace(f face, c color.Color) draw.TextStyle {
	return draw.TextStyle{Color: c, Font: f.font().Font, XAlign: draw.XCenter, YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
}

// cross draws a ×.
func (p pen) cross(x, y, r vg.Length, c color.Color, width vg.Length) {
	p.line(x-r, y-r, x+r, y+r, c, width)
	p.line(x-r, y+r, x+r, y-r, c, width)
}

// star draws a filled star, with a white edge so that it can be seen on any bar.
func (p pen) star(x, y, r vg.Length, c color.Color) {
	for _, part := range []struct {
		r   vg.Length
		ink color.Color
	}{{r + 2.5, white}, {r, c}} {
		var pts []vg.Point
		for k := range 10 {
			radius := float64(part.r)
			if k%2 == 1 {
				radius *= 0.45
			}
			sin, cos := math.Sincos(math.Pi * float64(k) / 5)
			pts = append(pts, p.at(x+vg.Length(radius*sin), y-vg.Length(radius*cos)))
		}
		p.polygon(part.ink, pts...)
	}
}

// crown draws a crown with a white edge.
func (p pen) crown(x, y, r vg.Length, c color.Color) {
	for _, part := range []struct {
		r   vg.Length
		ink color.Color
	}{{r + 2.5, white}, {r, c}} {
		r := part.r
		p.polygon(part.ink, p.at(x-r, y+0.7*r), p.at(x-r, y-0.7*r), p.at(x-0.45*r, y), p.at(x, y-r), p.at(x+0.45*r, y), p.at(x+r, y-0.7*r), p.at(x+r, y+0.7*r))
	}
}

// tear draws a white gap with jagged edges from top to bottom, where something is left out.
func (p pen) tear(x, top, bottom vg.Length) {
	const half, tooth, step = vg.Length(4), vg.Length(4), vg.Length(7)
	var left, right []vg.Point
	shift := tooth / 2
	for y := top; y <= bottom; y += step {
		left = append(left, p.at(x-half+shift, y))
		right = append(right, p.at(x+half+shift, y))
		shift = -shift
	}
	if len(left) < 2 {
		return
	}
	slices.Reverse(right)
	p.polygon(white, append(slices.Clone(left), right...)...)
	p.c.SetLineStyle(draw.LineStyle{Color: faint, Width: 1})
	p.c.Stroke(p.path(left...))
	p.c.Stroke(p.path(right...))
}
