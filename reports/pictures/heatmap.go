package pictures

import (
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A HeatMap is the picture of the share of unsafe runs over two quantities or, if Y has no values, a curve over one. The same map always
// gives the same bytes.
type HeatMap struct {
	Title    string
	Subtitle string
	Foot     string
	X, Y     HeatAxis
	Cells    []HeatCell // in any order; missing ones are hatched
	// Bound is the text of a line at which something should change: in a map where X equals Y, in a curve where X is BoundAt. Without a
	// text there is no line.
	Bound   string
	BoundAt float64
}

// A HeatAxis has values in ascending order, at equal distances.
type HeatAxis struct {
	Label  string // with its unit
	Values []float64
}

// A HeatCell is what is known about one cell.
type HeatCell struct {
	X, Y      int // indices into the values of the axes
	Runs      int
	Unsafe    int     // how many of the runs
	Share     float64 // 0 to 1
	Low, High float64 // the 95 % confidence interval of the share
	// Doubtful says that many of its runs prove nothing.
	Doubtful bool
}

// Sizes of a map, in points.
const (
	mapLeft    = vg.Length(104) // left of the cells
	mapTop     = headHeight + 34
	mapWidth   = vg.Length(900) // at most
	mapHeight  = vg.Length(650) // at most
	curveTall  = vg.Length(420)
	curveWidth = figureWidth - mapLeft - 2*outer
	widestCell = vg.Length(150)
	tallestRow = vg.Length(84)
	mapFoot    = vg.Length(104) // below the cells: ticks, the name of the axis, the foot
	barGutter  = vg.Length(36)  // between the cells and the colour bar
	barWidth   = vg.Length(26)
	barHeight  = vg.Length(300)
	entryStep  = vg.Length(34) // between the lines of the legend
)

// heat is a colour scale for shares. It gets darker in even steps, so that it can be read in print and by people who cannot tell
// colours apart, and ends at the red of a violation. The steps are even in OKLab (Ottosson, "A perceptual color space for image
// processing", 2020), from lightness 0.945 to 0.3.
var heat = []color.NRGBA{
	{0xFE, 0xEB, 0xC0, 0xFF}, {0xFB, 0xD0, 0x92, 0xFF}, {0xF6, 0xB4, 0x6A, 0xFF}, {0xEE, 0x97, 0x4A, 0xFF}, {0xE3, 0x7A, 0x32, 0xFF}, {0xD4, 0x5F, 0x25, 0xFF},
	{0xC1, 0x46, 0x22, 0xFF}, {0xAA, 0x2F, 0x25, 0xFF}, {0x91, 0x1B, 0x27, 0xFF}, {0x75, 0x0B, 0x26, 0xFF}, {0x59, 0x04, 0x23, 0xFF},
}

// heatAt is the colour at a point of the scale, from 0 to 1.
func heatAt(t float64) color.NRGBA {
	at := min(max(t, 0), 1) * float64(len(heat)-1)
	i := min(int(at), len(heat)-2)
	part := at - float64(i)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + part*(float64(b)-float64(a)))) }
	a, b := heat[i], heat[i+1]
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xFF}
}

// A mapFigure is a map with a place for everything.
type mapFigure struct {
	*HeatMap
	cells  box
	cw, ch vg.Length // of one cell
	top    float64   // the share at the end of the scale
	height vg.Length
}

func (m *HeatMap) figure() *mapFigure {
	f := &mapFigure{HeatMap: m}
	nx, ny := vg.Length(len(m.X.Values)), vg.Length(len(m.Y.Values))
	f.cw = vg.Length(math.Floor(float64(min(mapWidth/nx, widestCell)))) // whole points: otherwise there are seams between cells
	f.cells = box{mapLeft, mapTop, mapLeft + f.cw*nx, mapTop + curveTall}
	if m.curve() {
		f.cw = curveWidth / nx
		f.cells.x1 = mapLeft + curveWidth
	} else {
		f.ch = vg.Length(math.Floor(float64(min(mapHeight/ny, tallestRow))))
		f.cells.y1 = mapTop + f.ch*ny
	}
	f.top = f.scale()
	f.height = f.cells.y1 + mapFoot
	if !m.curve() { // the legend must fit in
		f.height = max(f.height, mapTop+barHeight+4*entryStep+20)
	}
	return f
}

func (m *HeatMap) curve() bool { return len(m.Y.Values) == 0 }

// scale returns the end of the scale: a round share somewhat above the greatest one, so that the darkest colour does not stand for a
// small share.
func (f *mapFigure) scale() float64 {
	most := 0.0
	for _, c := range f.Cells {
		most = max(most, c.Share)
		if f.curve() {
			most = max(most, c.High)
		}
	}
	for _, top := range []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5} {
		if most <= 0.9*top {
			return top
		}
	}
	return 1
}

// WritePNG writes the picture as a PNG of 1200 pixels in width.
func (m *HeatMap) WritePNG(w io.Writer) error {
	f := m.figure()
	return writePNG(w, figureWidth, f.height, f.draw)
}

// WriteSVG writes the picture as an SVG, with its text as text.
func (m *HeatMap) WriteSVG(w io.Writer) error {
	f := m.figure()
	return writeSVG(w, figureWidth, f.height, f.draw, m.Title, m.Subtitle)
}

func (f *mapFigure) draw(c draw.Canvas) {
	p := pen{c: c, top: c.Max.Y}
	p.fill(box{0, 0, figureWidth, f.height}, white)
	const width = figureWidth - 2*outer
	title, subtitle := titleFace, reasonFace
	for title.size > labelFace.size && title.width(f.Title) > width {
		title.size--
	}
	p.write(outer, 32, title.fit(f.Title, width), title, black)
	for subtitle.size > 13 && subtitle.width(f.Subtitle) > width {
		subtitle.size--
	}
	p.write(outer, 62, subtitle.fit(f.Subtitle, width), subtitle, grey)
	if f.curve() {
		f.drawCurve(p)
	} else {
		f.drawCells(p)
		f.drawDiagonal(p)
		f.drawShares(p)
		f.drawYAxis(p)
		f.drawLegend(p)
	}
	f.drawXAxis(p)
	foot := smallFace
	p.write(outer, f.height-20, foot.fit(f.Foot, width), foot, grey)
}

// x is the place of a value on the horizontal axis: the middle of its cell.
func (f *mapFigure) x(v float64) vg.Length {
	return f.cells.x0 + f.cw*vg.Length(0.5+f.X.index(v))
}

// y is the place of a value on the vertical axis of a map. Values grow upwards.
func (f *mapFigure) y(v float64) vg.Length {
	return f.cells.y1 - f.ch*vg.Length(0.5+f.Y.index(v))
}

// index is the inverse of Values, interpolated between them and extrapolated beyond.
func (a HeatAxis) index(v float64) float64 {
	from, to := a.Values[0], a.Values[len(a.Values)-1]
	if from == to {
		return 0
	}
	return (v - from) / (to - from) * float64(len(a.Values)-1)
}

// cell is the place of a cell.
func (f *mapFigure) cell(i, j int) box {
	x, y := f.cells.x0+f.cw*vg.Length(i), f.cells.y1-f.ch*vg.Length(j+1)
	return box{x, y, x + f.cw, y + f.ch}
}

// colours returns the colours of a cell and of the text on it.
func (f *mapFigure) colours(c HeatCell) (ground, ink color.NRGBA) {
	switch t := c.Share / f.top; {
	case t == 0:
		return white, black
	case t > 0.5:
		return heatAt(t), white
	default:
		return heatAt(t), black
	}
}

func (f *mapFigure) drawCells(p pen) {
	p.fill(f.cells, white)
	missing := map[[2]int]bool{}
	for j := range f.Y.Values {
		for i := range f.X.Values {
			missing[[2]int{i, j}] = true
		}
	}
	for _, c := range f.Cells {
		delete(missing, [2]int{c.X, c.Y})
		b := f.cell(c.X, c.Y)
		ground, ink := f.colours(c)
		if c.Share == 0 {
			p.outline(b, rule, 0.8)
		} else {
			p.fill(b, ground)
		}
		if c.Doubtful {
			p.hatch(b, dots, faded(ink, 0xB0), 1.3, 9)
		}
	}
	for j := range f.Y.Values {
		for i := range f.X.Values {
			if missing[[2]int{i, j}] {
				p.hatch(f.cell(i, j), falling, faint, 1, 8)
			}
		}
	}
	p.outline(f.cells, grey, 1)
}

// drawShares writes the share into each cell if cells are large enough.
func (f *mapFigure) drawShares(p pen) {
	if f.cw < 56 || f.ch < 28 {
		return
	}
	for _, c := range f.Cells {
		text, b := c.label(), f.cell(c.X, c.Y)
		ground, ink := f.colours(c)
		half := smallFace.width(text) / 2
		if half+3 > f.cw/2 {
			continue
		}
		p.fill(box{b.midX() - half - 3, b.midY() - 9, b.midX() + half + 3, b.midY() + 9}, ground)
		p.write(b.midX()-half, b.midY(), text, smallFace, ink)
	}
}

// fewRuns is the number of runs below which a cell has counts instead of a percentage.
const fewRuns = 30

// label is the text of a cell: its share, or the counts if there are few runs.
func (c HeatCell) label() string {
	if c.Runs < fewRuns {
		return strconv.Itoa(c.Unsafe) + " of " + strconv.Itoa(c.Runs)
	}
	return percent(c.Share)
}

// percent formats a share in whole percent, or below 1 % with one significant digit.
func percent(share float64) string {
	p := 100 * share
	if p != 0 && p < 1 {
		return strconv.FormatFloat(p, 'g', 1, 64) + " %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

// drawDiagonal draws the line on which both quantities are equal, with its meaning at its upper end.
func (f *mapFigure) drawDiagonal(p pen) {
	if f.Bound == "" {
		return
	}
	// The edges of the cells lie half a step beyond the outermost values.
	edge := func(a HeatAxis) (float64, float64) {
		from, to := a.Values[0], a.Values[len(a.Values)-1]
		half := (to - from) / float64(2*max(len(a.Values)-1, 1))
		return from - half, to + half
	}
	fromX, toX := edge(f.X)
	fromY, toY := edge(f.Y)
	from, to := max(fromX, fromY), min(toX, toY)
	if from >= to {
		return
	}
	x0, y0, x1, y1 := f.x(from), f.y(from), f.x(to), f.y(to)
	p.line(x0, y0, x1, y1, faded(white, 0xD0), 4.5)
	p.line(x0, y0, x1, y1, black, 1.8, 7, 4)
	width := barFace.width(f.Bound)
	if x := x1 - width/2; toY <= toX && x > outer+strongFace.width(f.Y.Label)+10 { // the line ends at the top: write above its end
		p.write(min(x, f.cells.x1-width), f.cells.y0-14, f.Bound, barFace, black)
		return
	}
	at := box{x1 - width - 20, y1 + 8, x1 - 10, y1 + 30} // the line ends on the right: write below its end
	p.fill(at, faded(white, 0xE8))
	p.write(at.x0+5, at.midY(), f.Bound, barFace, black)
}

// A tick is a value of an axis and its text.
type tick struct {
	value float64
	text  string
}

// mostTicks is the most labels that an axis may have.
const mostTicks = 12

// ticks returns all values if there are few, and otherwise round ones.
func (a HeatAxis) ticks() []tick {
	var all []tick
	add := func(v float64) { all = append(all, tick{v, strconv.FormatFloat(v, 'g', 4, 64)}) }
	if len(a.Values) <= mostTicks {
		for _, v := range a.Values {
			add(v)
		}
		return all
	}
	from, to := a.Values[0], a.Values[len(a.Values)-1]
	step := roundStep((to - from) / mostTicks)
	for i := math.Ceil(from/step - 1e-9); i*step <= to+step*1e-9; i++ {
		add(i*step + 0) // no -0
	}
	return all
}

// roundStep is the first of 1, 2 and 5 times a power of ten that is not below least.
func roundStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, k := range []float64{1, 2, 5} {
		if k*power >= least {
			return k * power
		}
	}
	return 10 * power
}

func (f *mapFigure) drawXAxis(p pen) {
	y := f.cells.y1
	for _, t := range f.X.ticks() {
		x := f.x(t.value)
		p.line(x, y, x, y+6, grey, 1)
		p.write(x-smallFace.width(t.text)/2, y+18, t.text, smallFace, black)
	}
	p.write((f.cells.x0+f.cells.x1-strongFace.width(f.X.Label))/2, y+44, f.X.Label, strongFace, black)
}

func (f *mapFigure) drawYAxis(p pen) {
	for _, t := range f.Y.ticks() {
		y := f.y(t.value)
		p.line(f.cells.x0-6, y, f.cells.x0, y, grey, 1)
		p.write(f.cells.x0-12-smallFace.width(t.text), y, t.text, smallFace, black)
	}
	p.write(outer, f.cells.y0-18, f.Y.Label, strongFace, black)
}

// drawLegend draws the colour scale, and explains the other signs of cells.
func (f *mapFigure) drawLegend(p pen) {
	x, y := f.cells.x1+barGutter, f.cells.y0
	const steps = 100 // each band reaches to the bottom, so that there are no seams
	for i := range steps {
		p.fill(box{x, y + barHeight*vg.Length(i)/steps, x + barWidth, y + barHeight}, heatAt(1-(float64(i)+0.5)/steps))
	}
	p.outline(box{x, y, x + barWidth, y + barHeight}, grey, 1)
	for i := range 6 {
		share := f.top * float64(i) / 5
		at := y + barHeight*vg.Length(5-i)/5
		p.line(x+barWidth, at, x+barWidth+6, at, grey, 1)
		p.write(x+barWidth+12, at, strconv.FormatFloat(100*share, 'g', 3, 64)+" %", smallFace, black)
	}
	p.write(x, y-18, "unsafe runs", strongFace, black)
	y += barHeight + entryStep
	entry := func(text string, sign func(box)) {
		sign(box{x, y - 11, x + barWidth, y + 11})
		p.outline(box{x, y - 11, x + barWidth, y + 11}, grey, 1)
		p.write(x+barWidth+12, y, text, smallFace, black)
		y += entryStep
	}
	entry("none", func(box) {})
	doubtful := false
	for _, c := range f.Cells {
		doubtful = doubtful || c.Doubtful
	}
	if len(f.Cells) < len(f.X.Values)*len(f.Y.Values) {
		entry("not run", func(b box) { p.hatch(b, falling, faint, 1, 8) })
	}
	if doubtful {
		entry("proves little", func(b box) { p.hatch(b, dots, faded(black, 0xB0), 1.3, 9) })
	}
}

// drawCurve draws the share over one quantity, with the band of its confidence interval.
func (f *mapFigure) drawCurve(p pen) {
	y := func(share float64) vg.Length {
		return f.cells.y1 - vg.Length(share/f.top)*(f.cells.y1-f.cells.y0)
	}
	for i := range 6 {
		share := f.top * float64(i) / 5
		p.line(f.cells.x0, y(share), f.cells.x1, y(share), rule, 1)
		text := strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
		p.write(f.cells.x0-12-smallFace.width(text), y(share), text, smallFace, black)
	}
	p.write(outer, f.cells.y0-22, "unsafe runs", strongFace, black)
	signs := "band: 95 % confidence interval"
	for _, c := range f.Cells {
		if c.Doubtful {
			signs = "hollow: proves little; " + signs
			break
		}
	}
	p.write(f.cells.x1-smallFace.width(signs), f.cells.y0-22, signs, smallFace, grey)
	known := make([]*HeatCell, len(f.X.Values))
	for i, c := range f.Cells {
		known[c.X] = &f.Cells[i]
	}
	ink := heatAt(0.75)
	var last *HeatCell
	for i, c := range known {
		x := f.x(f.X.Values[i])
		if c == nil {
			b := box{x - f.cw/2, f.cells.y0, x + f.cw/2, f.cells.y1}
			p.fill(b, white)
			p.hatch(b, falling, faint, 1, 8)
		} else if last != nil {
			before := f.x(f.X.Values[i-1])
			p.polygon(tint(ink, 0.2), p.at(before, y(last.Low)), p.at(x, y(c.Low)), p.at(x, y(c.High)), p.at(before, y(last.High)))
			p.line(before, y(last.Share), x, y(c.Share), ink, 2.5)
		}
		last = c
	}
	p.line(f.cells.x0, f.cells.y1, f.cells.x1, f.cells.y1, grey, 1)
	radius := min(5, max(2, f.cw/6))
	for i, c := range known {
		switch {
		case c == nil:
		case c.Doubtful:
			p.disc(f.x(f.X.Values[i]), y(c.Share), radius, white)
			p.ring(f.x(f.X.Values[i]), y(c.Share), radius, ink, 2)
		default:
			p.disc(f.x(f.X.Values[i]), y(c.Share), radius, ink)
		}
	}
	if x := f.x(f.BoundAt); f.Bound != "" && x > f.cells.x0 && x < f.cells.x1 {
		p.line(x, f.cells.y0, x, f.cells.y1, black, 1.6, 7, 4)
		p.write(min(x+8, f.cells.x1-barFace.width(f.Bound)), f.cells.y0+12, f.Bound, barFace, black)
	}
}
