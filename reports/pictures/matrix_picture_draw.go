package pictures

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockstep/checker"
	"lockstep/reports"
)

// Sizes of the picture of a matrix, in points.
const (
	matrixKinds   = vg.Length(128) // for the kinds of adversity
	matrixRow     = vg.Length(26)
	matrixLine    = vg.Length(20) // of a text of several lines
	matrixGap     = vg.Length(9)  // between groups
	matrixPitch   = vg.Length(110)
	matrixTitle   = vg.Length(372) // for the titles of rows, at least
	matrixPad     = vg.Length(2)   // around a cell
	matrixInset   = vg.Length(8)   // beside its text
	mostMatrixPts = vg.Length(20_000)
)

var (
	unsafeFace = face{size: 15, bold: true}
	safeFace   = face{size: 15}
	leastFace  = face{size: 12, bold: true} // of a cell with a long text
	rowFace    = face{size: 15.5}
	headFace   = face{size: 17, bold: true}
	wrong      = color.NRGBA{0xC8, 0x00, 0x1E, 0xFF}
	wrongest   = color.NRGBA{0x75, 0x0B, 0x26, 0xFF}
)

// A matrixFigure is a picture with a place for everything.
type matrixFigure struct {
	*MatrixPicture
	m      *Matrix
	groups []pictureGroup
	tops   [][]vg.Length // of each row
	ends   []vg.Length   // of each group
	kinds  [][]string    // the lines of the name of each
	heads  [][]string    // the lines of the name of each lock
	foot   [][]matrixSign
	pitch  vg.Length
	left   vg.Length // of the cells
	top    vg.Length // of the first row
	rows   vg.Length // where the rows end
	width  vg.Length
	height vg.Length
}

func (mp *MatrixPicture) figure() (*matrixFigure, error) {
	m := mp.Matrix
	f := &matrixFigure{MatrixPicture: mp, m: m, groups: m.pictured(), pitch: matrixPitch, width: figureWidth}
	for _, g := range f.groups {
		for _, r := range g.rows {
			for _, c := range r.cells {
				f.pitch = max(f.pitch, leastFace.width(c.text())+matrixInset+2*matrixPad)
			}
		}
	}
	cells := f.pitch * vg.Length(len(m.Locks))
	f.width = max(f.width, outer+matrixKinds+matrixTitle+cells+outer)
	f.left = min(f.width-outer-cells, outer+matrixKinds+max(matrixTitle, f.longestTitle()+2*outer)) // close to the titles
	most := 0
	for _, l := range m.Locks {
		f.heads = append(f.heads, f.headLines(l))
		most = max(most, len(f.heads[len(f.heads)-1]))
	}
	y := headHeight + 6 + matrixLine*vg.Length(most) + 10
	if f.libraries() {
		y += 34 + matrixLine - 2
	}
	f.top = y
	for _, g := range f.groups {
		lines := wrapped(reports.Printable(g.kind, 80), nameFaceOfKinds, matrixKinds-10)
		f.kinds = append(f.kinds, lines)
		var tops []vg.Length
		start := y
		for range g.rows {
			tops = append(tops, y)
			y += matrixRow
		}
		f.tops = append(f.tops, tops)
		y = max(y, start+matrixLine*vg.Length(len(lines))+6)
		f.ends = append(f.ends, y)
		y += matrixGap
	}
	f.rows = y
	y += matrixRow + 14 // the sums
	f.foot = f.signs()
	y += vg.Length(len(f.foot))*30 + 12
	f.height = y + 40
	if f.height > mostMatrixPts || f.width > mostMatrixPts {
		return nil, fmt.Errorf("a picture of %s and %.0f points in height is too large to look at: name fewer scenarios, or fewer locks", reports.Count(len(m.Locks), "lock"), f.height.Points())
	}
	return f, nil
}

func (f *matrixFigure) longestTitle() vg.Length {
	longest := vg.Length(0)
	for _, g := range f.groups {
		for _, r := range g.rows {
			longest = max(longest, rowFace.width(r.fullTitle()))
		}
	}
	return longest
}

// nameFaceOfKinds is the face of the kinds of adversity.
var nameFaceOfKinds = face{size: 15, bold: true}

// wrapped breaks a text at blanks.
func wrapped(s string, f face, width vg.Length) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		if n := len(lines) - 1; n >= 0 && f.width(lines[n]+" "+word) <= width {
			lines[n] += " " + word
		} else {
			lines = append(lines, f.fit(word, width))
		}
	}
	return lines
}

// headLines breaks the name of a lock at hyphens.
func (f *matrixFigure) headLines(l MatrixLock) []string {
	var lines []string
	for _, part := range strings.SplitAfter(reports.Printable(l.Name, 40), "-") {
		if n := len(lines) - 1; n >= 0 && headFace.width(lines[n]+part) <= f.pitch-6 {
			lines[n] += part
		} else {
			lines = append(lines, headFace.fit(part, f.pitch-6))
		}
	}
	return lines
}

func (f *matrixFigure) libraries() bool {
	return slices.ContainsFunc(f.m.Locks, func(l MatrixLock) bool { return l.Module != "" })
}

// WritePNG writes the picture as a PNG, of 1200 pixels in width unless there are many locks.
func (mp *MatrixPicture) WritePNG(w io.Writer) error {
	f, err := mp.figure()
	if err != nil {
		return err
	}
	return writePNG(w, f.width, f.height, f.draw)
}

// where says on what the runs were made, and with which seeds.
func (f *matrixFigure) where() string {
	s := "simulated"
	if f.m.On != "" && f.m.On != "sim" {
		s = "on real servers"
	}
	if f.m.Seeds > 1 {
		return fmt.Sprintf("%s, the worst of %d seeds from %d on", s, f.m.Seeds, f.m.Seed)
	}
	return fmt.Sprintf("%s, seed %d", s, cmp.Or(f.m.Seed, 1))
}

func (f *matrixFigure) draw(c draw.Canvas) {
	p := pen{c: c, top: c.Max.Y}
	p.fill(box{0, 0, f.width, f.height}, white)
	width := f.width - 2*outer
	f.shrunk(p, 32, f.m.headline(), titleFace, black, width)
	f.drawSubtitle(p)
	f.drawHeads(p)
	for g := range f.groups {
		f.drawGroup(p, g)
	}
	f.drawSums(p)
	f.drawLegend(p)
	foot := f.where()
	if f.folded() {
		foot += "; the worst variant of each scenario"
	}
	foot = reports.Printable(f.m.Command, 400) + "   (" + foot + ")"
	f.shrunk(p, f.height-20, foot, smallFace, grey, width)
}

// shrunk writes a line, smaller if it is long.
func (f *matrixFigure) shrunk(p pen, y vg.Length, s string, face face, ink color.Color, width vg.Length) {
	for face.size > 13 && face.width(s) > width {
		face.size--
	}
	p.write(outer, y, face.fit(s, width), face, ink)
}

// folded reports whether a cell may sum up several.
func (f *matrixFigure) folded() bool {
	n := 0
	for _, g := range f.groups {
		n += len(g.rows)
	}
	for _, g := range f.m.Groups {
		n -= len(g.Rows)
	}
	return n < 0
}

func centred(p pen, x, y vg.Length, s string, f face, ink color.Color) {
	p.write(x-f.width(s)/2, y, s, f, ink)
}

// drawHeads draws the heads of the columns, and above them that of the literature and that of the libraries.
func (f *matrixFigure) drawHeads(p pen) {
	for i, l := range f.m.Locks {
		x, y := f.left+f.pitch*(vg.Length(i)+0.5), f.top-17
		if f.libraries() {
			centred(p, x, y, smallFace.fit(reports.Printable(l.Version, 24), f.pitch-6), smallFace, grey)
			y -= matrixLine - 2
		}
		for _, s := range slices.Backward(f.heads[i]) {
			centred(p, x, y, s, headFace, black)
			y -= matrixLine
		}
	}
	if !f.libraries() {
		return
	}
	for i := 0; i < len(f.m.Locks); {
		library := f.m.Locks[i].Module != ""
		j := i + 1
		for j < len(f.m.Locks) && (f.m.Locks[j].Module != "") == library {
			j++
		}
		x0, x1 := f.left+f.pitch*vg.Length(i)+6, f.left+f.pitch*vg.Length(j)-6
		names := []string{"locks of the literature", "literature"}
		if library {
			names = []string{"libraries, unmodified", "libraries"}
			if j == i+1 {
				names = []string{"library"}
			}
		}
		y := headHeight + 14
		for _, s := range names {
			if strongFace.width(s) <= x1-x0 {
				centred(p, (x0+x1)/2, y, s, strongFace, grey)
				break
			}
		}
		p.line(x0, y+14, x1, y+14, faint, 1.5)
		i = j
	}
}

func (f *matrixFigure) drawGroup(p pen, g int) {
	group := &f.groups[g]
	if len(group.rows) == 0 {
		return
	}
	start := f.tops[g][0]
	p.line(outer, start-matrixGap/2, f.width-outer, start-matrixGap/2, faint, 1)
	for k, s := range f.kinds[g] {
		p.write(outer, start+matrixRow/2+matrixLine*vg.Length(k), s, nameFaceOfKinds, black)
	}
	for i := range group.rows {
		r := &group.rows[i]
		f.drawTitle(p, r, f.tops[g][i]+matrixRow/2)
		for k, c := range r.cells {
			drawMatrixCell(p, f.cell(g, i, k), c)
		}
	}
}

// drawTitle writes the title of a row. A long one is cut at the end of a clause.
func (f *matrixFigure) drawTitle(p pen, r *pictureRow, y vg.Length) {
	x := outer + matrixKinds
	width := f.left - x - 14
	ink := black
	text := r.fullTitle()
	switch {
	case r.scenario == "":
		ink = grey
		text += ", SAFE in each"
	case r.again:
		x, width = x+18, width-18
		text = "… " + reports.Printable(r.variant, 60)
	case r.variant != "" && rowFace.width(text) > width:
		variant := ": " + reports.Printable(r.variant, 60)
		text = clause(trimmed(r.title), rowFace, width-rowFace.width(variant)) + variant
	}
	face := rowFace
	for face.size > 14 && face.width(text) > width {
		face.size -= 0.5
	}
	if face.width(text) > width {
		face = rowFace
	}
	p.write(x, y, face.fit(clause(text, face, width), width), face, ink)
}

// clause cuts a sentence that is too wide: at the end of a clause if that leaves enough of it, or else between two words.
func clause(s string, f face, width vg.Length) string {
	if f.width(s) <= width {
		return s
	}
	for _, cut := range []struct {
		at    string
		least vg.Length
	}{{",:", 0.55 * width}, {" ", width / 3}} {
		for n := strings.LastIndexAny(s, cut.at); n > 0; n = strings.LastIndexAny(s[:n], cut.at) {
			short := strings.TrimRight(s[:n], " ,:") + " …"
			if w := f.width(short); w < cut.least {
				break
			} else if w <= width {
				return short
			}
		}
	}
	return f.fit(s, width)
}

// drawMatrixCell draws a cell. Its text says all that its colours say.
func drawMatrixCell(p pen, b box, c *pictureCell) {
	text, face := c.text(), unsafeFace
	var ground, edge, ink color.NRGBA
	switch {
	case c == nil:
		centred(p, b.midX(), b.midY(), text, face, faint)
		return
	case c.verdict == checker.Unsafe && c.partly():
		ground, edge, ink = tint(wrong, 0.13), wrong, wrong
	case c.verdict == checker.Unsafe:
		ground, edge, ink = wrong, wrong, white
	case c.verdict == checker.Safe:
		ground, edge, ink, face = tint(calm, 0.13), tint(calm, 0.13), calm, safeFace
	default:
		ground, edge, ink, face = white, doubt, doubt, safeFace
	}
	switch c.against {
	case Worse:
		edge = wrongest
		if c.verdict == checker.Unsafe && !c.partly() {
			ground = wrongest
		}
		face = unsafeFace
	case Better:
		ground, edge, face = tint(calm, 0.3), calm, unsafeFace
	}
	for face.size > leastFace.size && face.width(text) > b.width()-matrixInset {
		face.size -= 0.5
	}
	p.fill(b, ground)
	if edge != ground {
		b := box{b.x0 + 0.75, b.y0 + 0.75, b.x1 - 0.75, b.y1 - 0.75}
		if c.verdict == checker.Inconclusive {
			p.outline(b, edge, 1.2, 4, 3)
		} else {
			p.outline(b, edge, 1.5)
		}
	}
	centred(p, b.midX(), b.midY(), text, face, ink)
}

// drawSums writes below each lock in how many of its scenarios it is UNSAFE.
func (f *matrixFigure) drawSums(p pen) {
	y := f.rows + matrixRow/2
	p.line(outer, f.rows-matrixGap/2, f.width-outer, f.rows-matrixGap/2, grey, 1.5)
	p.write(outer+matrixKinds, y, "scenarios in which it is UNSAFE", strongFace, black)
	for i, l := range f.m.Locks {
		n, of := f.m.unsafeScenarios(l.Name)
		centred(p, f.left+f.pitch*(vg.Length(i)+0.5), y, fmt.Sprintf("%d of %d", n, of), strongFace, black)
	}
}

// unsafeScenarios counts the scenarios in which a lock was run, and those in which it is UNSAFE.
func (m *Matrix) unsafeScenarios(lock string) (unsafe, of int) {
	for _, g := range m.Groups {
		for _, rows := range byScenario(g.Rows) {
			ran, broke := false, false
			for _, r := range rows {
				if c := r.cell(lock); c != nil {
					ran, broke = true, broke || c.Verdict == checker.Unsafe
				}
			}
			if ran {
				of++
			}
			if broke {
				unsafe++
			}
		}
	}
	return unsafe, of
}
